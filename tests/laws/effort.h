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
}  // namespace bora::laws
