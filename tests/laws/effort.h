// effort.h -- how much of a cross product the laws try.
#pragma once
#include <cstdlib>
#include <string_view>

namespace bora::laws {
enum class Effort { thin, some, full };
/// BORA_LAWS=full: all of it (the tests labelled slow); thin: a few (sanitizers); otherwise some.
inline Effort effort() {
  auto* e = std::getenv("BORA_LAWS");
  std::string_view s = e ? e : "";
  return s == "full" ? Effort::full : s == "thin" ? Effort::thin : Effort::some;
}
/// Whether a case of a cross product is tried: one of `of`, at full effort all.
inline bool tried(std::size_t turn, std::size_t of) { return effort() == Effort::full || turn % of == 0; }
}  // namespace bora::laws
