// reason.h -- why a call to the system failed, as a part of check's text. It is looked up when the text is built:
// std::strerror(errno) in its place may be evaluated before the call in check's condition.
#pragma once
#include <cerrno>
#include <cstring>

namespace bora {
/// Without parentheses: check<IoError>(::rename(a, b) == 0, "cannot rename ", a, ": ", system_reason).
inline const char* system_reason() { return std::strerror(errno); }
}  // namespace bora
