// rank_map.h -- how long each rank computed, over time: the rows of a heat map, in memory that does not grow.
#pragma once
#include <cstdint>
#include <span>
#include <vector>
#include "base/api/json.h"

namespace bora::track::page {
class RankMap {
 public:
  static constexpr std::size_t kColumns = 256, kRows = 128;
  /// Seconds that each rank computed in a step; NaN: nothing is known. With another number of ranks than
  /// before the map begins anew. time: in seconds, never falls.
  void add(double time, std::span<const double> seconds, std::uint64_t now);
  bool changed_since(std::uint64_t since) const { return !columns_.empty() && changed_ > since; }
  /// The value "ranks": {"ranks", "rows", "period", "columns": [[begin, median, cells], ..]}: columns that have changed
  /// since. A row is a rank, or the slowest of neighbours. A cell is a byte of base64: 64 times the rank's seconds over
  /// the median's, at most 254; 255: not known.
  void write(JsonWriter&, std::uint64_t since) const;

 private:
  struct Column {
    double begin = 0, median = 0;      // median: the sum of those of all calls
    std::vector<float> ratios = {};    // sums of the known ones
    std::vector<std::int32_t> known = {};  // how many
    std::int32_t calls = 0;
    std::uint64_t changed = 0;
    void take(const Column&);
  };
  std::vector<Column> columns_ = {};
  std::size_t ranks_ = 0;
  double period_ = 1;  // seconds of a column
  std::uint64_t changed_ = 0;
};
}  // namespace bora::track::page
