// text.h -- numbers and messages for people.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace bora {
/// "812 B", "1.5 KiB", "9216.0 MiB" (MiB up to 10240), "12.3 GiB".
std::string bytes_text(std::int64_t n);
/// A message as one line. Control characters and bytes that are not UTF-8 become \n or \x1b; the middle of a word or
/// quoted value of more than 200 characters, and of a message of more than 2000, becomes "...".
std::string one_line(std::string_view message);
/// The position of the first byte that is not UTF-8, or npos.
std::size_t first_not_utf8(std::string_view text);
}  // namespace bora
