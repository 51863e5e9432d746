// unicode.h -- Unicode characters in UTF-8.
#pragma once
#include <string>
#include <string_view>

namespace bora::text {
/// Appends bytes; each maximal part that is not UTF-8 becomes U+FFFD. Returns the number of bytes done: all, or, if
/// more may come, those before a last incomplete character.
std::size_t append_utf8(std::string_view bytes, bool more, std::string& out);
/// The text, or `copy`, which then has U+FFFD for each maximal part that is not UTF-8.
std::string_view valid_utf8(std::string_view text, std::string& copy);
/// Whether more bytes may complete this beginning of one character.
bool begins_character(std::string_view bytes);
/// Normalization form C of UTF-8.
std::string nfc(std::string_view text);
/// The length of the white space at the end of a text, and at its beginning.
std::size_t space_at_end(std::string_view text);
std::size_t space_at_begin(std::string_view text);
}  // namespace bora::text
