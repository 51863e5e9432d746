// Parquet: the parts of a file's row groups that hold the columns asked for, decoded some rows at a time.
#include <algorithm>
#include <optional>
#include "bora/base/error.h"
#include "data/tables/leaf_reader.h"
#include "data/tables/table.h"

namespace bora::data::tables {
namespace {
class Parquet final : public Table {
 public:
  Parquet(const SourceFile& file, const std::vector<std::string>& names)
      : path_(file.path), file_(File::open(file.path)), footer_(read_footer(file, file_)) {
    columns_ = std::move(footer_.columns);
    choose(path_, names);
    used_.resize(footer_.leaves.size());
    for (auto c : wanted_) use(columns_[c], footer_.levels[c]);
    for (auto& g : footer_.groups)
      for (std::size_t i = 0; i < used_.size(); ++i) {
        auto codec = g.pieces[i].codec;
        bool known = codec == Codec::none || codec == Codec::snappy || codec == Codec::gzip || codec == Codec::zstd;
        check<ConfigError>(!used_[i] || known, path_, ": the column '", footer_.leaves[i].path, "' is compressed by ",
                           codec_name(static_cast<int>(codec)),
                           ", which is not read; write it with snappy, zstd or gzip");
      }
  }
  std::int64_t rows() const override { return footer_.rows; }
  Rows read(std::int64_t row) override {
    go_to(row);
    auto& g = *group_;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (used_[i]) bytes += std::clamp<std::int64_t>(g.pieces[i].unpacked, 0, std::int64_t{1} << 40);
    auto fitting = std::clamp<std::int64_t>(kBytesAtOnce / std::max<std::int64_t>(bytes / g.rows, 1), 1, kRowsAtOnce);
    auto n = std::min(fitting, g.first + g.rows - row);
    std::vector<LeafRows> leaves(used_.size());
    Rows some{.size = static_cast<std::size_t>(n)};
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (used_[i]) leaves[i] = readers_[i]->read(n);
    if (row + n == g.first + g.rows)
      for (auto& reader : readers_)
        if (reader) reader->finish();
    for (auto c : wanted_) {
      try {
        some.columns.push_back(assemble(columns_[c], footer_.levels[c], leaves, some.size));
        check_sizes(columns_[c], some.columns.back(), some.size);
      } catch (const Problem& p) {
        fail<IoError>(path_, ": column '", columns_[c].name, "', row group ", group_ - footer_.groups.data() + 1, ": ",
                      p.what);
      }
    }
    for (auto& leaf : leaves)
      for (auto& m : leaf.values.memory) some.memory.push_back(std::move(m));
    next_ = row + n;
    return some;
  }

 private:
  void use(const Type& t, const Levels& l) {
    if (!t.refused.empty()) return;
    if (t.children.empty()) used_[l.leaf] = true;
    for (std::size_t i = 0; i < t.children.size(); ++i) use(t.children[i], l.children[i]);
  }
  /// Readers at this row: those that are there, or new ones at the begin of its row group.
  void go_to(std::int64_t row) {
    auto behind = [](std::int64_t r, const RowGroup& g) { return r < g.first; };
    auto group = &*(std::upper_bound(footer_.groups.begin(), footer_.groups.end(), row, behind) - 1);
    if (group == group_ && row == next_) return;
    group_ = group;
    auto number = static_cast<std::size_t>(group - footer_.groups.data());
    readers_.clear();
    readers_.resize(used_.size());
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) continue;
      readers_[i] = std::make_unique<LeafReader>(file_, path_, footer_.leaves[i], group->pieces[i], number);
      readers_[i]->skip(row - group->first);
    }
  }
  std::string path_;
  File file_;
  Footer footer_;
  std::vector<bool> used_ = {};  // leaves
  const RowGroup* group_ = nullptr;
  std::vector<std::unique_ptr<LeafReader>> readers_ = {};  // by leaf, in group_
  std::int64_t next_ = 0;
};
}  // namespace

std::unique_ptr<Table> open_parquet(const SourceFile& file, const std::vector<std::string>& columns) {
  return std::make_unique<Parquet>(file, columns);
}
}  // namespace bora::data::tables
