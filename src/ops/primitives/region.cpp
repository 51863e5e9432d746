// Regions of operands that regions of a result need.
#include "ops/api/region.h"
#include <algorithm>
#include <numeric>
#include "ops/api/support.h"
#include "ops/api/primitives.h"

namespace bora::ops {
namespace {
using Regions = std::vector<std::optional<Region>>;

void fill(Span& r) { r = {r.begin, r.last() - r.begin + 1, 1}; }
bool is_elementwise(const Primitive& p) {
  auto role = p.traits.loop;
  return role == LoopRole::op || role == LoopRole::cast || role == LoopRole::bitcast;
}
Regions elementwise(const Types& in, const Region& region) {
  Regions r;
  for (auto& t : in) {
    if (!t.shape.empty() && t.shape.size() != region.size()) return {};
    r.push_back(t.shape.empty() ? Region{} : region);
  }
  return r;
}
Regions through(const BroadcastInDim& b, const Types& in, Region& region) {
  auto r = whole(in[0].shape);
  for (std::size_t d = 0; d < r.size(); ++d)
    if (in[0].shape[d] == b.shape[at(b.dims[d])]) r[d] = region[at(b.dims[d])];
  return {r};
}
Regions through(const Transpose& t, const Types&, Region& region) {
  Region r(region.size());
  for (std::size_t d = 0; d < r.size(); ++d) r[at(t.perm[d])] = region[d];
  return {r};
}
Regions through(const Rev& rev, const Types& in, Region& region) {
  auto r = region;
  for (auto d : rev.dims) r[at(d)].begin = in[0].shape[at(d)] - 1 - region[at(d)].last();
  return {r};
}
Regions through(const StaticSlice& s, const Types&, Region& region) {
  auto r = region;
  for (std::size_t d = 0; d < r.size(); ++d)
    r[d] = {s.start[d] + region[d].begin * s.stride[d], region[d].count,
            region[d].count > 1 ? s.stride[d] * region[d].step : 1};
  return {r};
}
/// Only the dimensions before the first that differs keep their ranges.
Regions through(const Reshape& r, const Types& in, Region& region) {
  auto& from = in[0].shape;
  std::size_t same = 0;
  while (same < from.size() && same < r.shape.size() && from[same] == r.shape[same]) ++same;
  for (std::size_t d = same; d < region.size(); ++d) region[d] = {0, r.shape[d], 1};
  auto p = whole(from);
  std::copy_n(region.begin(), same, p.begin());
  return {p};
}
Regions through(const Concatenate& c, const Types& in, Region& region) {
  auto& along = region[at(c.axis)];
  fill(along);
  Regions r;
  std::int64_t first = 0;
  for (auto& t : in) {
    auto n = t.shape[at(c.axis)];
    auto begin = std::max(along.begin, first), end = std::min(along.last() + 1, first + n);
    r.push_back(begin < end ? std::optional(region) : std::nullopt);
    if (begin < end) (*r.back())[at(c.axis)] = {begin - first, end - begin, 1};
    first += n;
  }
  return r;
}
Regions through(const Pad& pad, const Types& in, Region& region) {
  auto r = region;
  for (std::size_t d = 0; d < r.size(); ++d) {
    if (pad.lo[d] == 0 && pad.hi[d] == 0 && pad.interior[d] == 0) continue;
    if (pad.interior[d] != 0 || pad.lo[d] < 0 || pad.hi[d] < 0) return {};
    fill(region[d]);
    auto n = in[0].shape[d];
    auto begin = std::clamp<std::int64_t>(region[d].begin - pad.lo[d], 0, n),
         end = std::clamp<std::int64_t>(region[d].last() + 1 - pad.lo[d], 0, n);
    if (begin >= end) return {};
    r[d] = {begin, end - begin, 1};
  }
  return {r};
}
Pad padded(Pad pad, const Types& in, const Region& region) {
  for (std::size_t d = 0; d < region.size(); ++d) {
    if (pad.lo[d] == 0 && pad.hi[d] == 0) continue;
    auto below = std::max<std::int64_t>(0, pad.lo[d] - region[d].begin),
         above = std::max<std::int64_t>(0, region[d].last() + 1 - pad.lo[d] - in[0].shape[d]);
    pad.lo[d] = below;
    pad.hi[d] = above;
  }
  return pad;
}
/// f of the parameters of the primitive, if it moves elements in a known way.
template <class F> auto visit(const Primitive& p, F&& f) -> decltype(f(std::declval<const StaticSlice&>())) {
  if (auto* x = as<BroadcastInDim>(p)) return f(*x);
  if (auto* x = as<Transpose>(p)) return f(*x);
  if (auto* x = as<Rev>(p)) return f(*x);
  if (auto* x = as<StaticSlice>(p)) return f(*x);
  if (auto* x = as<Reshape>(p)) return f(*x);
  if (auto* x = as<Concatenate>(p)) return f(*x);
  if (auto* x = as<Pad>(p)) return f(*x);
  return {};
}
}  // namespace

Region whole(const Shape& shape) {
  Region r;
  for (auto n : shape) r.push_back({0, n, 1});
  return r;
}
Shape shape_of(const Region& p) {
  Dims r;
  for (auto& x : p) r.push_back(x.count);
  return Shape(r);
}
Span hull(const Span& a, const Span& b) {
  auto begin = std::min(a.begin, b.begin), last = std::max(a.last(), b.last());
  auto step = std::gcd(std::gcd(a.count > 1 ? a.step : 0, b.count > 1 ? b.step : 0), a.begin - b.begin);
  step = std::max<std::int64_t>(1, step);
  return {begin, (last - begin) / step + 1, step};
}
std::vector<std::optional<Region>> operand_regions(const Primitive& p, const Types& in, Region& region) {
  if (is_elementwise(p)) return elementwise(in, region);
  return visit(p, [&](auto& x) { return through(x, in, region); });
}
PrimitivePtr region_of(const PrimitivePtr& p, const Types& in, const Region& region) {
  if (as<StaticSlice>(p)) return nullptr;
  if (as<BroadcastInDim>(p)) return primitive(BroadcastInDim{shape_of(region), as<BroadcastInDim>(p)->dims});
  if (as<Reshape>(p)) return primitive(Reshape{shape_of(region)});
  if (auto* pad = as<Pad>(p)) return primitive(padded(*pad, in, region));
  return p;
}
const Rev* flip_of(const Primitive& p) { return as<Rev>(p); }
Movement movement(const Primitive& p) { return {as<StaticSlice>(p), as<Pad>(p), as<Concatenate>(p), as<Rev>(p)}; }
bool selects(const Primitive& p) { return as<StaticSlice>(p) || as<Take>(p); }
const Take* simple_take(const Primitive& p) {
  auto* t = as<Take>(p);
  return t && t->batch_dims == 0 ? t : nullptr;
}
}  // namespace bora::ops
