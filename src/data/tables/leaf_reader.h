// leaf_reader.h -- a column of a row group, a few rows at a time.
#pragma once
#include "data/tables/pages.h"

namespace bora::data::tables {
/// Levels and values of whole rows. Of a column without levels `def` is empty, and so is `rep`.
struct LeafRows {
  std::vector<std::uint8_t> def = {}, rep = {};
  Values values = {};
};
/// Throws IoError "PATH: column C, page N of row group G: ..".
class LeafReader {
 public:
  LeafReader(const File&, const std::string& path, const Leaf&, const Piece&, std::size_t group);
  /// The next rows; texts in them are valid as long as `memory` of the values.
  LeafRows read(std::int64_t rows);
  /// Pages of which no row is wanted are passed over as they are.
  void skip(std::int64_t rows);
  /// Behind the last row of the row group: pages that were passed over had the rows that they said, or this throws.
  void finish();

 private:
  /// Begins the next page with values; false at the end.
  bool next_page();
  /// Levels of the page, some hundred at once.
  void fill();
  /// Gives whole rows, or only counts them; out may be null.
  void take(std::int64_t rows, LeafRows* out);
  /// Behind its last value: it had as many values and rows as it says.
  void check_page() const;
  void give_values(std::size_t n, LeafRows* out);
  const Leaf& leaf_;
  Pages pages_;
  Dictionary dictionary_ = {};
  bool has_dictionary_ = false;
  Page page_ = {};
  std::unique_ptr<Decoder> values_ = {};
  Hybrid rep_ = {}, def_ = {};
  std::int64_t said_rows_ = -1, said_nulls_ = -1;    // as the page has it; -1: it does not say
  std::int64_t rows_ = 0, nulls_ = 0;                // of it so far
  std::int64_t left_ = 0;                            // levels of the page that are not in the next vectors
  std::vector<std::uint32_t> next_rep_ = {}, next_def_ = {};
  std::size_t at_ = 0;                               // of these
};
/// The values of a column, or of a part of one. leaves: by their number, of those below it. Throws Problem.
Column assemble(const Type&, const Levels&, std::vector<LeafRows>& leaves, std::size_t rows);
}  // namespace bora::data::tables
