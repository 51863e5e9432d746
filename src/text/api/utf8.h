// utf8.h -- texts of bytes that may be no UTF-8.
#pragma once
#include <string>
#include <string_view>

namespace bora::text {
/// The text, or `copy`, which then has U+FFFD for each maximal part that is not UTF-8.
std::string_view valid_utf8(std::string_view text, std::string& copy);
}  // namespace bora::text
