#include "generate/row.h"
#include <immintrin.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace bora::generate::rows {
namespace {
typedef float Floats __attribute__((vector_size(32)));
typedef std::int32_t Ints __attribute__((vector_size(32)));
constexpr std::size_t kLanes = 8;
constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr float kLeast = -87;  // exp of less is 0 here

Floats load(const float* at) {
  Floats v;
  std::memcpy(&v, at, sizeof v);
  return v;
}
Floats all_of(float x) { return Floats{x, x, x, x, x, x, x, x}; }
/// The lanes at `at`, the missing ones minus infinity.
Floats load_some(const float* at, std::size_t n) {
  auto v = all_of(kNone);
  std::memcpy(&v, at, n * sizeof(float));
  return v;
}
unsigned bits(Ints mask) { return static_cast<unsigned>(_mm256_movemask_ps(std::bit_cast<__m256>(mask))); }
/// exp of x <= 0, by Cephes' polynomial (Moshier 1989). Sums and products alone, so that every CPU gives the same bits.
Floats exp_of(Floats x) {
  auto y = x < kLeast ? all_of(kLeast) : x;
  auto shifted = y * 1.44269504F + 12582912.0F;  // its last bits are the nearest integer
  auto n = shifted - 12582912.0F;
  auto r = y - n * 0.693359375F - n * -2.12194440e-4F;
  auto p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  Ints power = (std::bit_cast<Ints>(shifted) - 0x4B400000 + 127) << 23;
  return x < kLeast ? all_of(0) : p * std::bit_cast<Floats>(power);
}
double block_sum(const float* at, std::size_t n, float most) {
  Floats sums[4] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sums[i / kLanes % 4] += exp_of(load(at + i) - most);
  if (i < n) sums[i / kLanes % 4] += exp_of(load_some(at + i, n - i) - most);
  auto sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = 0;
  for (std::size_t k = 0; k < kLanes; ++k) total += static_cast<double>(sum[k]);
  return total;
}
bool before(const Scored& a, const Scored& b) { return a.score > b.score || (a.score == b.score && a.place < b.place); }
}  // namespace

float largest(std::span<const float> scores) {
  auto most = all_of(kNone);
  Ints bad = {};
  std::size_t i = 0, n = scores.size();
  auto see = [&](Floats x) {
    most = x > most ? x : most;
    bad |= x != x;
  };
  for (; i + kLanes <= n; i += kLanes) see(load(scores.data() + i));
  if (i < n) see(load_some(scores.data() + i, n - i));
  if (bits(bad)) return std::numeric_limits<float>::quiet_NaN();
  float r = kNone;
  for (std::size_t k = 0; k < kLanes; ++k) r = std::max(r, most[k]);
  return r;
}
std::int32_t largest_id(std::span<const float> scores) {
  auto most = largest(scores);
  return std::isnan(most) ? -1 : static_cast<std::int32_t>(std::find(scores.begin(), scores.end(), most) -
                                                           scores.begin());
}
void exponentials(std::span<const float> scores, float most, float* out) {
  std::size_t i = 0, n = scores.size();
  for (; i + kLanes <= n; i += kLanes) {
    auto y = exp_of(load(scores.data() + i) - most);
    std::memcpy(out + i, &y, sizeof y);
  }
  auto y = exp_of(load_some(scores.data() + i, n - i) - most);
  std::memcpy(out + i, &y, (n - i) * sizeof(float));
}
std::vector<double> block_sums(std::span<const float> scores, float most) {
  std::vector<double> sums;
  sums.reserve(scores.size() / kBlock + 1);
  for (std::size_t i = 0; i < scores.size(); i += kBlock)
    sums.push_back(block_sum(scores.data() + i, std::min(kBlock, scores.size() - i), most));
  return sums;
}
double exponential_sum(std::span<const float> scores, float most) {
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); i += kBlock)
    sum += block_sum(scores.data() + i, std::min(kBlock, scores.size() - i), most);
  return sum;
}
std::vector<std::int32_t> places_of(std::span<const float> scores, float least) {
  std::vector<std::int32_t> places;
  for (std::size_t i = 0; i < scores.size(); i += kLanes) {
    auto x = i + kLanes <= scores.size() ? load(scores.data() + i)
                                         : load_some(scores.data() + i, scores.size() - i);
    for (auto mask = bits(x >= least); mask; mask &= mask - 1) {
      auto place = i + static_cast<std::size_t>(__builtin_ctz(mask));
      if (place < scores.size()) places.push_back(static_cast<std::int32_t>(place));
    }
  }
  return places;
}
std::vector<Scored> best(std::span<const float> scores, std::int64_t n) {
  auto most = std::min(static_cast<std::size_t>(std::max<std::int64_t>(n, 0)), scores.size());
  std::vector<Scored> heap;  // its front is the last one that is kept
  if (most == 0) return heap;
  heap.reserve(most);
  std::size_t i = 0;
  for (; i < most; ++i) heap.push_back({scores[i], static_cast<std::int32_t>(i)});
  std::make_heap(heap.begin(), heap.end(), before);
  auto see = [&](Floats x, std::size_t from) {
    for (auto mask = bits(x > heap.front().score); mask; mask &= mask - 1) {
      auto k = static_cast<std::size_t>(__builtin_ctz(mask));
      if (!(x[k] > heap.front().score)) continue;
      std::pop_heap(heap.begin(), heap.end(), before);
      heap.back() = {x[k], static_cast<std::int32_t>(from + k)};
      std::push_heap(heap.begin(), heap.end(), before);
    }
  };
  for (; i + kLanes <= scores.size(); i += kLanes) see(load(scores.data() + i), i);
  if (i < scores.size()) see(load_some(scores.data() + i, scores.size() - i), i);
  std::sort_heap(heap.begin(), heap.end(), before);
  return heap;
}
float nth_largest(std::span<const float> scores, std::int64_t n) {
  auto at = static_cast<std::size_t>(std::clamp<std::int64_t>(n, 1, std::ssize(scores))) - 1;
  if (at < 1024) return best(scores, n).back().score;
  std::vector<float> some(scores.begin(), scores.end());
  auto place = some.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(some.begin(), place, some.end(), std::greater<>());
  return *place;
}
namespace {
/// Brings the wanted ones of many items to the front but for those of one of 1024 equal parts of the keys' range, which
/// follow. Returns these, and the weight before them.
struct Part {
  std::vector<Weighted>::iterator begin, end;
  double had = 0;
};
Part part_of(std::vector<Weighted>& items, double sum) {
  constexpr std::size_t kParts = 1024;
  auto high = kNone, low = -kNone;
  for (auto& x : items) high = std::max(high, x.key), low = x.key > kNone ? std::min(low, x.key) : low;
  auto scale = static_cast<float>(kParts - 1) / (high - low);
  if (!(high > low) || !std::isfinite(scale)) return {items.begin(), items.end()};
  auto of = [&](const Weighted& x) {
    return x.key >= low ? std::min(static_cast<std::size_t>((high - x.key) * scale), kParts - 1) : kParts - 1;
  };
  std::vector<double> weights(kParts);
  for (auto& x : items) weights[of(x)] += static_cast<double>(x.weight);
  std::size_t k = 0;
  double had = 0;
  for (; k + 1 < kParts && had + weights[k] < sum; ++k) had += weights[k];
  auto begin = std::partition(items.begin(), items.end(), [&](auto& x) { return of(x) < k; });
  return {begin, std::partition(begin, items.end(), [&](auto& x) { return of(x) == k; }), had};
}
}  // namespace
std::size_t fewest(std::vector<Weighted>& items, double sum) {
  auto before = [](const Weighted& a, const Weighted& b) {
    return a.key > b.key || (a.key == b.key && a.place < b.place);
  };
  Part part{items.begin(), items.end()};  // the last item of the wanted ones is in it
  if (items.size() > 4096) part = part_of(items, sum);
  for (auto [begin, end, had] = part;;) {
    bool few = end - begin <= 32;
    auto half = few ? end : begin + (end - begin) / 2;
    if (few) std::sort(begin, end, before);
    else std::nth_element(begin, half, end, before);
    double with = had;
    auto at = begin;
    while (at != half && !(few && with >= sum)) with += static_cast<double>(at++->weight);
    if (few) return static_cast<std::size_t>(std::max(at, items.begin() + !items.empty()) - items.begin());
    if (with >= sum) end = half;
    else begin = half, had = with;
  }
}
}  // namespace bora::generate::rows
