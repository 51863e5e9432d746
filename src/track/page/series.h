// series.h -- the values of one metric over a run of any length, in memory that does not grow with it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>
#include "base/api/json.h"

namespace bora::track::page {
/// Buckets of equal numbers of steps. Where there would be too many, neighbours become one.
class Series {
 public:
  static constexpr std::size_t kBuckets = 1024;
  struct Bucket {
    std::int64_t index = 0;  // of steps [index * width, (index + 1) * width)
    double least = 0, most = 0, sum = 0;
    std::int64_t count = 0;
    std::uint64_t changed = 0;
    double mean() const { return sum / static_cast<double>(count); }
  };
  /// A finite value. Of a step that comes again the new one counts, as long as buckets have one step. now: the number
  /// of this change, which never falls.
  void add(std::int64_t step, double value, std::uint64_t now);
  std::int64_t width() const { return width_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }
  double last() const { return last_; }  // the value that was added last
  /// Whether a bucket has changed since.
  bool changed_since(std::uint64_t since) const { return !buckets_.empty() && changed_ > since; }
  /// Members "width" and "points": the buckets that have changed since; all of them after the width has. A bucket of
  /// one step is its index and value, a wider one its index, least, greatest and mean value.
  void write(JsonWriter&, std::uint64_t since) const;

 private:
  void fold(std::uint64_t now);
  std::vector<Bucket> buckets_ = {};  // by their index
  std::int64_t width_ = 1;
  double last_ = 0;
  std::uint64_t changed_ = 0;
};
}  // namespace bora::track::page
