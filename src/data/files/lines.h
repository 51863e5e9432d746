// lines.h -- the rule by which lines of a text end documents; it is the same for byte streams and for records.
#pragma once
#include <cstdint>

namespace bora::data {
/// Takes a text byte by byte, and says which kind of line ends with a byte. A carriage return before the line feed is
/// part of the line's end.
class LineScan {
 public:
  enum class Line { inside, words, blank, mark };  // a mark is a line of '%'
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
}  // namespace bora::data
