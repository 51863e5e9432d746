// refused.h -- an error that a client gets in OpenAI's form.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include "bora/base/error.h"

namespace bora::serve {
/// What is wrong with a request: the status of its answer, the field, a word for programs (either may be empty).
struct Refused : Error {
  int status;
  std::string field, code;
  Refused(int s, std::string f, std::string c, std::string text)
      : Error(std::move(text)), status(s), field(std::move(f)), code(std::move(c)) {}
};
/// 400, with a text of these parts.
template <class... Parts> [[noreturn]] void refuse(const std::string& field, const Parts&... parts) {
  const detail::Part list[] = {detail::part(field), detail::part(": "), detail::part(parts)...};
  throw Refused(400, field, "", detail::joined(list + (field.empty() ? 2 : 0),
                                               sizeof...(parts) + (field.empty() ? 0 : 2)));
}
/// {"error": {"message", "type", "param", "code"}}
std::string error_body(int status, std::string_view text, std::string_view field = {}, std::string_view code = {});
std::string error_body(const Refused&);
}  // namespace bora::serve
