// csv.h -- rows of CSV as RFC 4180 has them. A quote inside a field that is not quoted is itself, as most programs read
// it; text after a closing quote is malformed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::data {
/// Finds the end of a row. It can stop at any byte and go on with the next piece.
class CsvScan {
 public:
  /// Takes the bytes of a row that begin `s`: those up to the line feed that ends it, or all of them.
  std::size_t take(std::string_view s);
  bool ended() const { return ended_; }
  /// Whether a quote is not closed yet.
  bool open() const { return state_ == State::quoted; }
  /// From here on the row ends with this line.
  void give_up() { state_ = State::broken; }
  bool malformed() const { return state_ == State::broken; }
  std::int64_t lines() const { return lines_; }       // line feeds taken
  std::int64_t quote() const { return quote_line_; }  // of them, those before the quote that is open or was the last

 private:
  enum class State { begin, plain, quoted, closed, carriage, broken };
  State state_ = State::begin;
  std::int64_t lines_ = 0, quote_line_ = 0;
  bool ended_ = false;
};
/// The fields of a row without the end of its line, quotes included.
std::vector<std::string_view> csv_fields(std::string_view row);
/// The text that a field stands for.
std::string csv_text(std::string_view field);
}  // namespace bora::data
