#include "series.h"
#include <algorithm>

namespace bora::track::page {
void Series::add(std::int64_t step, double value, std::uint64_t now) {
  changed_ = now;
  last_ = value;
  const Bucket one{step / width_, value, value, value, 1, now};
  auto at = buckets_.end();
  if (!buckets_.empty() && buckets_.back().index >= one.index)  // seldom: the file is written in the order of steps
    at = std::ranges::lower_bound(buckets_, one.index, {}, &Bucket::index);
  if (at == buckets_.end() || at->index != one.index) {
    buckets_.insert(at, one);
    while (buckets_.size() > kBuckets) fold(now);
  } else if (width_ == 1) {
    *at = one;
  } else {
    at->least = std::min(at->least, value), at->most = std::max(at->most, value);
    at->sum += value;
    ++at->count;
    at->changed = now;
  }
}
void Series::fold(std::uint64_t now) {
  width_ *= 2;
  std::size_t kept = 0;
  for (auto& b : buckets_) {
    b.index /= 2;
    b.changed = now;
    if (kept == 0 || buckets_[kept - 1].index != b.index) {
      buckets_[kept++] = b;
      continue;
    }
    auto& to = buckets_[kept - 1];
    to.least = std::min(to.least, b.least), to.most = std::max(to.most, b.most);
    to.sum += b.sum;
    to.count += b.count;
  }
  buckets_.resize(kept);
}
void Series::write(JsonWriter& w, std::uint64_t since) const {
  w("width", width_)("points").list();
  for (auto& b : buckets_) {
    if (b.changed <= since) continue;
    w.add(b.index);
    if (width_ > 1) w.add(b.least).add(b.most);
    w.add(b.mean());
  }
  w.end();
}
}  // namespace bora::track::page
