// The search for cuts. L and U below are bounds of the number of elements before a sample, counted within the window's
// stretches: they decide on which side of a cut the sample is, and with it all before or behind it in its part.
#include "ops/primitives/cuts.h"
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace bora::ops {
namespace {
std::int64_t elements(const Dims& d) { return std::accumulate(d.begin(), d.end(), std::int64_t{0}); }
}  // namespace

Cuts::Cuts(std::int64_t rows, Dims parts, Dims before, std::int64_t samples)
    : parts_(std::move(parts)), before_(std::move(before)), samples_(samples),
      found_(static_cast<std::size_t>(rows) * before_.size() * parts_.size(), 0) {
  for (std::int64_t r = 0; r < rows; ++r) {
    Window w{r, {}, Dims(parts_.size(), 0), parts_};
    for (std::size_t k = 0; k < before_.size(); ++k) w.cuts.push_back(k);
    open(std::move(w));
  }
}
/// Keeps the cuts that are not known yet: one after no or after all elements of the stretches is.
void Cuts::open(Window w) {
  auto least = elements(w.low), most = elements(w.high);
  std::erase_if(w.cuts, [&](auto k) {
    if (before_[k] != least && before_[k] != most) return false;
    auto& known = before_[k] == least ? w.low : w.high;
    std::copy(known.begin(), known.end(), found_.begin() + static_cast<std::ptrdiff_t>(place_of(w.row, k)));
    return true;
  });
  if (!w.cuts.empty()) open_.push_back(std::move(w));
}
/// All of a short stretch; of a long one places at even distances.
Dims Cuts::places(const Window& w, std::size_t p) const {
  auto n = w.high[p] - w.low[p], count = std::min(n, samples_ * static_cast<std::int64_t>(w.cuts.size()));
  Dims r;
  for (std::int64_t i = 0; i < count; ++i) r.push_back(w.low[p] + (2 * i + 1) * n / (2 * count));
  return r;
}
Dims Cuts::asked(std::size_t p) const {
  Dims r;
  for (auto& w : open_)
    for (auto place : places(w, p)) r.push_back(w.row * parts_[p] + place);
  return r;
}
void Cuts::learn(std::span<const std::uint64_t> keys) {
  auto windows = std::exchange(open_, {});
  std::vector<std::size_t> next(parts_.size() + 1, 0);  // of each part's keys
  for (auto& w : windows)
    for (std::size_t p = 0; p < parts_.size(); ++p) next[p + 1] += places(w, p).size();
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (auto& w : windows) {
    std::vector<Sample> samples;
    auto first = w.high;  // the first sample of each part
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      auto of_part = places(w, p);
      for (std::size_t i = 0; i < of_part.size(); ++i)
        samples.push_back({keys[next[p]++], p, of_part[i], i + 1 < of_part.size() ? of_part[i + 1] : w.high[p]});
      if (!of_part.empty()) first[p] = of_part[0];
    }
    std::sort(samples.begin(), samples.end(), [](auto& a, auto& b) {
      return std::tie(a.key, a.part, a.place) < std::tie(b.key, b.part, b.place);
    });
    for (auto k : w.cuts) narrow(w, k, samples, first);
  }
}
void Cuts::narrow(const Window& w, std::size_t cut, const std::vector<Sample>& sorted, const Dims& first) {
  const auto wanted = before_[cut];
  Window r{w.row, {cut}, w.low, w.high};
  auto least = w.low, most = first;  // elements of each part before the sample, as far as samples tell
  auto L = elements(least), U = elements(most);
  for (auto& x : sorted) {
    L += x.place - least[x.part];
    if (U < wanted) r.low[x.part] = x.place + 1;
    else if (L >= wanted) r.high[x.part] = std::min(r.high[x.part], x.place);
    L += 1;
    least[x.part] = x.place + 1;
    U += x.next - most[x.part];
    most[x.part] = x.next;
  }
  open(std::move(r));
}
}  // namespace bora::ops
