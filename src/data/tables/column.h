// column.h -- some rows of a table, decoded column by column, and one row of them as a record.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bora::data::tables {
/// What is wrong with bytes; whoever knows their file and column says so too.
struct Problem {
  std::string what;
  bool ended = false;  // the bytes end too early
};
[[noreturn]] inline void broken(std::string what) { throw Problem{std::move(what)}; }
inline void expect(bool ok, const char* what) {
  if (!ok) throw Problem{what};
}

enum class Kind : std::uint8_t { text, integer, natural, real, boolean, list, record };
/// What a column holds.
struct Type {
  std::string name = {};
  Kind kind = Kind::text;
  std::string refused = {};         // why its values are not read; else empty
  std::vector<Type> children = {};  // the elements of a list, the fields of a record
};
/// Values of a column. Every field but `size` is empty where it does not apply.
struct Column {
  std::size_t size = 0;
  std::vector<std::uint8_t> valid = {};  // empty: none is null
  std::vector<std::string_view> texts = {};
  std::vector<std::uint64_t> numbers = {};  // the bits of i64, u64 or f64; true is 1
  std::vector<std::uint64_t> ends = {};     // of lists, in their elements
  std::vector<Column> children = {};
  bool null(std::size_t i) const { return !valid.empty() && valid[i] == 0; }
};
/// Some rows. Texts point into `memory`, or into what their reader keeps until it is asked again.
struct Rows {
  std::size_t size = 0;
  std::vector<Column> columns = {};
  std::vector<std::shared_ptr<const void>> memory = {};
};
/// Throws Problem unless the column has so many values, and its children as many as they need: then any row can be
/// written.
void check_sizes(const Type&, const Column&, std::size_t size);

/// A value of a row: a text as it is, or JSON.
struct Value {
  bool json = false;
  std::string_view bytes = {};
};
/// Adds a value to a row's bytes.
void put_value(std::string& row, const Value&);
/// Takes the next value from what is left of a row.
Value take_value(std::string_view& rest);
/// Adds a column's value at `i`: texts as they are; numbers, lists, records and nulls as JSON. `most`: bytes that the
/// row may have; it ends soon behind them.
void put_value(std::string& row, const Type&, const Column&, std::size_t i, std::size_t most);
}  // namespace bora::data::tables
