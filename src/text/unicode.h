// unicode.h -- Unicode characters in UTF-8.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "text/api/utf8.h"

namespace bora::text {
constexpr std::string_view kMetaspace = "\u2581";  // stands for a space in pieces of SentencePiece
using TextRange = std::pair<std::size_t, std::size_t>;  // bytes [first, second) of a text
/// Appends bytes; each maximal part that is not UTF-8 becomes U+FFFD. Returns the number of bytes done: all, or, if
/// more may come, those before a last incomplete character.
std::size_t append_utf8(std::string_view bytes, bool more, std::string& out);
/// Ranges of a text in valid_utf8's result, of whole characters.
std::vector<TextRange> in_valid(std::string_view text, std::string_view valid, std::span<const TextRange> ranges);
/// Whether more bytes may complete this beginning of one character.
bool begins_character(std::string_view bytes);
/// The bytes of a character of UTF-8, by its first one.
inline std::size_t character_size(char first) {
  auto c = static_cast<unsigned char>(first);
  return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}
/// Normalization of UTF-8: form C or D; compatible: form KC or KD.
std::string normal_form(std::string_view text, bool composed, bool compatible);
/// Each character as lower case, whatever stands beside it.
std::string lower_case(std::string_view text);
/// Calls f with each extended grapheme cluster.
void each_grapheme(std::string_view text, const std::function<void(std::string_view)>& f);
/// The length of the white space at the end of a text, and at its beginning.
std::size_t space_at_end(std::string_view text);
std::size_t space_at_begin(std::string_view text);
/// Whether a text ends, or begins, with a character of a word: \w as Unicode's annex on regular expressions has it.
bool ends_with_word(std::string_view text);
bool begins_with_word(std::string_view text);
/// Without the characters of which `drop` says so.
std::string without(std::string_view text, bool (*drop)(std::int32_t));
/// Whether a character is a mark that combines with others (category M).
bool is_mark(std::int32_t c);
/// Whether it takes no room of its own (category Mn).
bool is_nonspacing_mark(std::int32_t c);
/// A text as BERT's rules leave it: characters of control, of format and of private use and U+FFFD go, other white
/// space is a space.
std::string printed_text(std::string_view text);
/// With a space on either side of each ideograph of Chinese.
std::string with_ideographs_apart(std::string_view text);
/// A text as SentencePiece's rules for translation leave it: control characters go, other white space is a space.
std::string clean_text(std::string_view text);
}  // namespace bora::text
