// The rows of a table as records, whatever kind of file it is.
#include <algorithm>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "data/tables/table.h"

namespace bora::data::tables {
void Table::choose(const std::string& path, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto& c = columns_[i];
    bool named = std::find(names.begin(), names.end(), c.name) != names.end();
    check<ConfigError>(!named || c.refused.empty(), path, ": the column '", c.name, "' ", c.refused);
    if (named || (names.empty() && c.refused.empty())) wanted_.push_back(i);
  }
}
namespace {
struct TableState final : RecordReader::State {
  TableState(const SourceFile& file, std::unique_ptr<Table> t, Format format, Position from, const Limits& l)
      : bytes(file.bytes), table(std::move(t)), limits(l) {
    auto made = std::make_shared<Layout>(Layout{file.path, format});
    for (auto place : table->wanted()) made->header.push_back(table->columns()[place].name);
    for (auto& c : table->columns())
      if (std::find(made->header.begin(), made->header.end(), c.name) == made->header.end())
        made->others.push_back({c.name, c.refused});
    layout = made;
    row = from.line - 1;
    check<IoError>(row >= 0 && row <= table->rows(), file.path,
                   ": it ends before the place at which reading is to go on; it has changed");
    pass(0);
  }
  /// Behind so many further rows.
  void pass(std::int64_t n) {
    row += n;
    auto share = static_cast<double>(row) / static_cast<double>(std::max<std::int64_t>(table->rows(), 1));
    behind = {row == table->rows() ? bytes : static_cast<std::int64_t>(share * static_cast<double>(bytes)), row + 1};
  }
  bool next(Raw& raw) override {
    if (row == table->rows()) return false;
    if (at == some.size) {
      some = {}, at = 0;  // the room of its pages is that of the next ones
      some = table->read(row);
    }
    raw.bytes.clear();
    raw.line = row + 1;
    auto most = static_cast<std::size_t>(limits.record);
    for (std::size_t c = 0; c < some.columns.size() && raw.bytes.size() <= most; ++c)
      put_value(raw.bytes, table->columns()[table->wanted()[c]], some.columns[c], at, most);
    ++at;
    pass(1);
    if (raw.bytes.size() > most)
      fail<ConfigError>(layout->path, ":", raw.line, ": the record is longer than ", bytes_text(limits.record),
                        ", the most that one may have");
    return true;
  }
  std::int64_t bytes;  // of the file
  std::unique_ptr<Table> table;
  Limits limits;
  std::int64_t row = 0;  // the next one
  Rows some = {};
  std::size_t at = 0;  // of them
};
}  // namespace

std::unique_ptr<RecordReader::State> table_records(const SourceFile& file, Format format, Position from,
                                                   const Limits& limits, const Selection& s) {
  auto table = format == Format::parquet ? open_parquet(file, s.columns) : open_arrow(file, s.columns);
  return std::make_unique<TableState>(file, std::move(table), format, from, limits);
}
}  // namespace bora::data::tables
