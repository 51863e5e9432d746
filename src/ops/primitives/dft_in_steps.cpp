// A Fourier transform along a dimension that is split, for Shard. Of n = n1 n2 numbers, x[n2 a + b] with a < n1 and
// b < n2, the transform is at k1 + n1 k2 the transform over b, at k2, of w^(b k1) times that over a, at k1.
#include <cmath>
#include <numbers>
#include <tuple>
#include "bora/ops/complex.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "ops/primitives/dft.h"
#include "ops/primitives/moves.h"

namespace bora::ops {
namespace {
using Index = std::int64_t;
/// The factors of n, both at least `parts`, with which the largest blocks are smallest, and which are nearest to each
/// other.
std::optional<std::pair<Index, Index>> factors_of(Index n, Index parts) {
  std::optional<std::pair<Index, Index>> best;
  auto rank = [&](Index n1, Index n2) {
    auto up = [&](Index m) { return (m + parts - 1) / parts; };
    return std::tuple(up(n1) * n2 + up(n2) * n1, std::abs(n1 - n2));
  };
  auto consider = [&](Index n1, Index n2) {
    if (n1 >= parts && n2 >= parts && (!best || rank(n1, n2) < rank(best->first, best->second))) best = {n1, n2};
  };
  for (Index d = 1; d <= n / d; ++d)
    if (n % d == 0) consider(d, n / d), consider(n / d, d);
  return best;
}
Sharded reshaped(const Sharded& x, const Shape& shape, ShardRules& s) {
  return Reshape{shape}.shard({x}, s)->front();
}
/// w^(b k1) for this rank's columns b: [n1, block of n2] stretched to `to`, whose dimensions axis and axis + 1 these
/// are.
Array turns_of_columns(const Shape& to, Index axis, Index n, Index n2, const MeshAxes& axes, bool inverse,
                       Dtype dtype) {
  auto count = [&](Index d) { return call_one(Iota{{to[at(d)]}, 0, f64}, {}); };
  auto spread = [&](const Array& y, const Shape& shape, const Dims& dims) {
    return call_one(BroadcastInDim{shape, dims}, {y});
  };
  const Shape two{to[at(axis)], to[at(axis + 1)]};
  auto columns = count(axis + 1);
  columns = columns + spread(block_start(n2, axes).astype(f64), columns.shape(), {});
  auto products = spread(count(axis), two, {0}) * spread(columns, two, {1});  // exact: below n
  auto angle = products * ((inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n));
  return spread(complex(cos(angle), sin(angle)).astype(dtype), to, {axis, axis + 1});
}
/// kind is complex or inverse.
std::optional<Sharded> in_steps(DftKind kind, const Sharded& x, Index axis, double scale, ShardRules& s) {
  const auto n = x.type.shape[at(axis)];
  const auto axes = x.spec[at(axis)];
  auto two = factors_of(n, s.mesh().parts(axes));
  if (!two) return std::nullopt;
  const auto [n1, n2] = *two;
  auto matrix = x.type.shape;
  matrix[at(axis)] = n1;
  matrix.insert(at(axis) + 1, n2);
  auto split = [&](Sharded y, Index by) {
    auto spec = y.spec;
    spec[at(axis)] = spec[at(axis + 1)] = {};
    spec[at(by)] = axes;
    return s.reshard(y, spec, y.partial);
  };
  auto y = split(reshaped(x, matrix, s), axis + 1);
  y.local = dft(kind, y.local, axis, n1, 1);
  y.local = y.local * turns_of_columns(y.local.shape(), axis, n, n2, axes, kind == DftKind::inverse, x.type.dtype);
  y = split(y, axis);
  y.local = dft(kind, y.local, axis + 1, n2, scale);
  auto perm = range_of(static_cast<Index>(matrix.size()));
  std::swap(perm[at(axis)], perm[at(axis + 1)]);
  y.local = call_one(Transpose{perm}, {y.local});
  std::swap(y.type.shape[at(axis)], y.type.shape[at(axis + 1)]);
  std::swap(y.spec[at(axis)], y.spec[at(axis + 1)]);
  return reshaped(split(y, axis), x.type.shape, s);
}
}  // namespace

std::optional<Sharded> dft_in_steps(DftKind kind, const Sharded& given, Index axis, Index n, double scale,
                                    ShardRules& s) {
  if (!factors_of(n, s.mesh().parts(given.spec[at(axis)]))) return std::nullopt;
  auto x = given;
  if (kind == DftKind::real) {
    x.type.dtype = complex_dtype(x.type.dtype);
    x.local = x.local.astype(x.type.dtype);
    auto y = in_steps(DftKind::complex, x, axis, scale, s);
    Dims start(x.spec.size(), 0), limit = x.type.shape.dims(), stride(x.spec.size(), 1);
    limit[at(axis)] = n / 2 + 1;
    return StaticSlice{start, limit, stride}.shard({*y}, s)->front();
  }
  if (kind != DftKind::to_real) return in_steps(kind, x, axis, scale, s);
  // The missing numbers are conjugates of those on the other side of 0.
  auto mirrored = x;
  mirrored.local = conj(x.local);
  const auto half = n / 2 + 1;
  Move both{axis, n, {{.end = half}}, 0};
  if (n > half) both.pieces.push_back({.begin = half, .end = n, .operand = 1, .start = (n + 1) / 2 - 1, .step = -1});
  auto whole = moved(composed({x, mirrored}, both), s);
  auto y = in_steps(DftKind::inverse, s.reshard(whole, whole.spec, whole.partial), axis, scale, s);
  y->type.dtype = real_dtype(y->type.dtype);
  y->local = real(y->local);
  return y;
}
}  // namespace bora::ops
