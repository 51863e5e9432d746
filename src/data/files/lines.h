// lines.h -- the rules by which texts are cut; they are the same for byte streams and for records.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bora::data {
/// Takes a text byte by byte, and says which kind of line ends with a byte. A carriage return before the line feed is
/// part of the line's end.
class LineScan {
 public:
  enum class Line { inside, words, blank, mark };  // a mark is a line of '%'
  /// inside: the text begins within a line, whose rest is neither blank nor a mark.
  explicit LineScan(bool inside = false) : length_(inside ? 2 : 0) {}
  Line feed(char c) {
    if (length_ == 0) first_ = c;
    if (c != '\n') {
      last_ = c;
      ++length_;
      return Line::inside;
    }
    auto words = length_ - (length_ > 0 && last_ == '\r');
    length_ = 0;
    return words == 0 ? Line::blank : words == 1 && first_ == '%' ? Line::mark : Line::words;
  }

 private:
  std::int64_t length_ = 0;  // of this line so far
  char first_ = 0, last_ = 0;
};

/// Whether a text may be cut between two bytes without a cut through a word: behind the end of a line, and before a run
/// of blanks, which then begins the next part, as in tokens such as ' word'.
inline bool between_words(char before, char after) {
  auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; };
  if (before == '\n' || (before == '\r' && after != '\n')) return true;
  return blank(after) && !blank(before);
}
/// Whether a text may be cut before this byte without a cut through a character of UTF-8.
inline bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }
/// The last place behind the first `least` bytes of a text at which it can be cut, between words or else between
/// characters; all of it if there is none. The text goes on behind its last byte.
inline std::size_t last_cut(std::string_view s, std::size_t least) {
  for (auto i = s.size(); i-- > least + 1;)
    if (between_words(s[i - 1], s[i])) return i;
  auto begin = s.size();
  for (int back = 0; back < 4 && begin > 0; ++back) {
    auto c = static_cast<unsigned char>(s[--begin]);
    if (!begins_character(s[begin])) continue;
    std::size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    bool whole = begin + length <= s.size() && c != '\r';  // a line feed may follow
    return whole || begin == 0 ? s.size() : begin;
  }
  return s.size();
}
}  // namespace bora::data
