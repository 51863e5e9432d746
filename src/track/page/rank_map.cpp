#include "rank_map.h"
#include <algorithm>
#include <cmath>
#include <string>
#include "base/api/inline_hash.h"

namespace bora::track::page {
namespace {
double median_of(std::span<const double> all) {
  std::vector<double> known;
  std::ranges::copy_if(all, std::back_inserter(known), [](double x) { return std::isfinite(x); });
  if (known.empty()) return 0;
  auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  return *middle;
}
}  // namespace

void RankMap::Column::take(const Column& other) {
  median += other.median;
  calls += other.calls;
  changed = std::max(changed, other.changed);
  for (std::size_t r = 0; r < ratios.size(); ++r) ratios[r] += other.ratios[r], known[r] += other.known[r];
}
void RankMap::add(double time, std::span<const double> seconds, std::uint64_t now) {
  if (seconds.empty() || !std::isfinite(time)) return;
  if (seconds.size() != ranks_) columns_.clear(), ranks_ = seconds.size(), period_ = 1;
  changed_ = now;
  auto rows = std::min(ranks_, kRows);
  Column one{std::floor(time / period_) * period_, median_of(seconds), {}, {}, 1, now};
  one.ratios.assign(rows, 0);
  one.known.assign(rows, 0);
  for (std::size_t r = 0; r < ranks_ && one.median > 0; ++r) {
    if (!std::isfinite(seconds[r])) continue;
    auto row = r * rows / ranks_;
    one.ratios[row] = std::max(one.ratios[row], static_cast<float>(std::clamp(seconds[r] / one.median, 0.0, 1e6)));
    one.known[row] = 1;
  }
  if (!columns_.empty() && one.begin <= columns_.back().begin) return columns_.back().take(one);
  columns_.push_back(std::move(one));
  while (columns_.size() > kColumns) {
    period_ *= 2;
    std::size_t kept = 0;
    for (auto& c : columns_) {
      c.begin = std::floor(c.begin / period_) * period_;
      c.changed = now;
      if (kept > 0 && columns_[kept - 1].begin == c.begin) columns_[kept - 1].take(c);
      else if (&columns_[kept++] != &c) columns_[kept - 1] = std::move(c);
    }
    columns_.resize(kept);
  }
}
void RankMap::write(JsonWriter& w, std::uint64_t since) const {
  auto rows = std::min(ranks_, kRows);
  w.object()("ranks", ranks_)("rows", rows)("period", period_)("columns").list();
  for (auto& c : columns_) {
    if (c.changed <= since) continue;
    std::string cells(rows, '\xff');
    for (std::size_t r = 0; r < rows; ++r)
      if (c.known[r] > 0)
        cells[r] = static_cast<char>(std::min(254L, std::lround(64 * c.ratios[r] / static_cast<float>(c.known[r]))));
    w.list().add(c.begin).add(c.median / c.calls).add(base64_of(cells)).end();
  }
  w.end().end();
}
}  // namespace bora::track::page
