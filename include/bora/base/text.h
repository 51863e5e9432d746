// text.h -- numbers and messages as people read them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace bora {
/// "812 B", "1.5 KiB", "9216.0 MiB" (MiB as far as they read well), "12.3 GiB".
std::string bytes_text(std::int64_t n);
/// A message as one line: control characters and bytes that are no UTF-8 as \n or \x1b; of a word or a value in quotes with more than 200
/// characters, and of a message with more than 2000, the middle becomes "...".
std::string one_line(std::string_view message);
/// The first byte of text that is not UTF-8, or npos.
std::size_t first_not_utf8(std::string_view text);
}  // namespace bora
