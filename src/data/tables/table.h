// table.h -- files of rows in columns. Only the columns that are asked for are read.
#pragma once
#include "data/api/records.h"
#include "data/records/state.h"
#include "data/tables/column.h"

namespace bora::data::tables {
/// Of rows that are decoded at once: how many, and their bytes.
inline constexpr std::int64_t kRowsAtOnce = 4096, kBytesAtOnce = 1 << 20;
/// A file that is open.
class Table {
 public:
  virtual ~Table() = default;
  /// Those of the file, in its order.
  const std::vector<Type>& columns() const { return columns_; }
  /// Places of those that `read` gives.
  const std::vector<std::size_t>& wanted() const { return wanted_; }
  virtual std::int64_t rows() const = 0;
  /// Some rows from `row` on, at least one, with a column for each that is wanted. What was read before is no longer
  /// valid. Throws IoError "PATH: ..".
  virtual Rows read(std::int64_t row) = 0;

 protected:
  /// Those that are named; without names all whose values can be read. Throws ConfigError if a named one cannot be.
  void choose(const std::string& path, const std::vector<std::string>& names);
  std::vector<Type> columns_ = {};
  std::vector<std::size_t> wanted_ = {};
};
/// Throw ConfigError "PATH: .." for what a file has and this reader does not know, IoError for a damaged file.
std::unique_ptr<Table> open_parquet(const SourceFile&, const std::vector<std::string>& columns);
std::unique_ptr<Table> open_arrow(const SourceFile&, const std::vector<std::string>& columns);
/// The records of a table; position().line is the number of the row behind it, and position().offset its share of the
/// file's bytes.
std::unique_ptr<RecordReader::State> table_records(const SourceFile&, Format, Position, const Limits&,
                                                   const Selection&);
/// Those of a file of ids, .bin or .npy.
std::unique_ptr<RecordReader::State> id_records(const SourceFile&, Position, const Limits&, const Selection&);
}  // namespace bora::data::tables
