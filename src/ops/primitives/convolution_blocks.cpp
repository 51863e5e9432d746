// Convolutions whose spatial dimensions are split: a rank's windows, and the elements around its block that they reach.
#include "ops/primitives/convolution.h"
#include "ops/primitives/moves.h"

namespace bora::ops {
namespace {
Index floor_of(Index a, Index b) { return a / b - (a % b < 0); }  // of a / b, b > 0
/// `of` (a Convolve or a ConvolveFilter) with the windows of this rank's part, on the elements of x that they reach.
template <class P>
P on_blocks(const P& of, Sharded& x, const Sharded& windows, const Dims& taps, const ShardRules& s) {
  auto p = of;
  auto places = of.places();
  const auto first = x.type.shape.size() - 1 - at(places.ndim());
  for (std::size_t d = 0; d < at(places.ndim()); ++d) {
    const auto& axes = x.spec[first + d];
    const auto parts = s.mesh().parts(axes);
    if (parts == 1) continue;
    const auto n = windows.type.shape[first + d];
    Dims wanted;
    for (int k = 0; k < parts; ++k) {
      auto b = s.mesh().block(n, axes, k);
      auto r = places.reach(d, b.begin, b.end, taps[d]);
      wanted.push_back(r.begin), wanted.push_back(r.end);
    }
    x.local = rows_around(x, static_cast<Index>(first + d), wanted, s);
    auto mine = s.mesh().block_of_rank(n, axes, s.rank());
    places.narrow(d, mine.begin, mine.end, taps[d]);
  }
  p.lo = places.lo, p.hi = places.hi;
  return p;
}
/// Letters of their own for the spatial dimensions of operands and results.
void split_spatial(Index spatial, const std::vector<Dims*>& of) {
  for (auto* labels : of)
    for (Index d = 0; d < spatial; ++d)
      (*labels)[labels->size() - 1 - at(spatial - d)] = static_cast<Index>(labels->size()) + 1 + d;
}
bool splits_spatial(const Sharded& x, Index spatial, const ShardRules& s) {
  for (Index d = 0; d < spatial; ++d)
    if (s.mesh().parts(x.spec[x.spec.size() - 1 - at(spatial - d)]) > 1) return true;
  return false;
}
Dims sizes_of(const Shape& s, Index from, Index n) {
  Dims r;
  for (Index d = 0; d < n; ++d) r.push_back(s[at(from + d)]);
  return r;
}
}  // namespace

BlockRange WindowPlaces::reach(std::size_t d, Index first, Index last, Index taps) const {
  if (first >= last || taps == 0) return {0, 0};
  auto by = input_dilation[d];
  return {floor_of(first * stride[d] - lo[d], by),
          floor_of((last - 1) * stride[d] - lo[d] + (taps - 1) * dilation[d], by) + 1};
}
void WindowPlaces::narrow(std::size_t d, Index first, Index last, Index taps) {
  auto r = reach(d, first, last, taps);
  auto by = input_dilation[d], wide = r.size() == 0 ? 0 : (r.size() - 1) * by + 1;
  auto below = r.size() == 0 ? 0 : lo[d] + by * r.begin - first * stride[d];
  hi[d] = r.size() == 0 ? 0 : (last - first - 1) * stride[d] + (taps - 1) * dilation[d] + 1 - wide - below;
  lo[d] = below;
}

std::optional<std::vector<Sharded>> Convolve::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  const auto n = places().ndim();
  if (!splits_spatial(in[0], n, s)) return std::nullopt;
  auto taps = sizes_of(in[1].type.shape, stacks, n);
  auto f = factors({in[0].type, in[1].type});
  split_spatial(n, {&f.in[0], &f.out[0]});
  return s.by_factors(primitive(*this), f, in, [&](const std::vector<Sharded>& x, const std::vector<Sharded>& out) {
    auto image = x[0];
    auto p = on_blocks(*this, image, out[0], taps, s);
    return bora::call(p, {image.local, x[1].local});
  });
}
/// Each rank adds up its own windows: the filter is a pending sum.
std::optional<std::vector<Sharded>> ConvolveFilter::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  const auto n = places().ndim();
  if (!splits_spatial(in[0], n, s) && !splits_spatial(in[1], n, s)) return std::nullopt;
  auto f = factors({in[0].type, in[1].type});
  split_spatial(n, {&f.in[0], &f.in[1]});
  return s.by_factors(primitive(*this), f, in, [&](const std::vector<Sharded>& x, const std::vector<Sharded>&) {
    auto image = x[0];
    auto p = on_blocks(*this, image, x[1], taps, s);
    return bora::call(p, {image.local, x[1].local});
  });
}
}  // namespace bora::ops
