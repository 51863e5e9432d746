#include "ops/api/running.h"
#include <cmath>
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/collective_primitives.h"
#include "ops/api/primitives.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
namespace {
using Index = std::int64_t;
Array cut(const Array& x, Index axis, Index begin, Index end) {
  Dims from(at(x.ndim()), 0), to = x.shape().dims(), steps(to.size(), 1);
  from[at(axis)] = begin, to[at(axis)] = end;
  return call_one(StaticSlice{from, to, steps}, {x});
}
Array combined(RunningKind kind, const Array& before, const Array& x) {
  switch (kind) {
    case RunningKind::prod: return x * before;
    case RunningKind::max: return maximum(before, x);
    case RunningKind::min: return minimum(before, x);
    case RunningKind::logsumexp: break;
  }
  return logaddexp(before, x);
}
/// The operation over windows of ever doubled length that end at each element, until they are `longest`.
Array composed(RunningKind kind, const Array& x, Index axis, bool reverse, Index longest) {
  const auto n = x.shape(axis);
  auto y = reverse ? flip(x, axis) : x;
  Dims lo(at(x.ndim()), 0), hi = lo;
  for (Index step = 1; step < longest; step *= 2) {
    lo[at(axis)] = step, hi[at(axis)] = -step;
    auto own = std::min(step, n);
    if (kind == RunningKind::prod) y = y * pad(y, lo, hi, 1);
    else y = concatenate({cut(y, axis, 0, own), combined(kind, cut(y, axis, 0, n - own), cut(y, axis, own, n))}, axis);
  }
  return reverse ? flip(y, axis) : y;
}
/// Along `axis` each element combined with all those before it, or behind it. Where the axis is split, each rank
/// combines its own block with the total of the blocks before it.
struct Running {
  RunningKind kind;
  Index axis;
  bool reverse;
  static constexpr std::string_view name = "running";
  static constexpr bool any_dtype = true;  // as the operations that it is composed of
  Type infer(const Types& in) const {
    check<DtypeError>(is_numeric(in.at(0).dtype), "running: keys cannot be combined, got ", in[0]);
    return in[0];
  }
  Arrays expand(const Arrays& in) const { return {composed(kind, in[0], axis, reverse, in[0].shape(axis))}; }
  DimFactors factors(const Types& in) const {
    auto l = range_of(in[0].ndim());
    l[at(axis)] = kNone;
    return {{l}, {l}};
  }
  Running lift(Index) const { return {kind, axis + 1, reverse}; }
  Cost cost(const Types& in, const Types& out) const {
    auto steps = std::ceil(std::log2(static_cast<double>(std::max<Index>(in[0].shape[at(axis)], 2))));
    return {steps * static_cast<double>(in[0].size()), steps * static_cast<double>(in[0].nbytes() + out[0].nbytes())};
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    const auto axes = in[0].spec[at(axis)];
    const Index parts = s.mesh().parts(axes);
    bool empty = false;
    Index longest = 0;
    for (Index p = 0; p < parts; ++p) {
      auto rows = s.mesh().block(in[0].type.shape[at(axis)], axes, p).size();
      empty = empty || rows == 0;
      longest = std::max(longest, rows);
    }
    if (parts == 1 || empty) return std::nullopt;
    auto x = s.resolve(in[0]);
    auto local = composed(kind, x.local, axis, reverse, longest);  // as many steps on each rank
    const auto shape = local.shape();
    const auto end = shape[at(axis)];
    auto of = x.type.shape;
    of[at(axis)] = parts;
    auto total = reverse ? cut(local, axis, 0, 1) : cut(local, axis, end - 1, end);
    auto totals = composed(kind, all_gather(total, axes, axis, Dims(at(parts), 1), of), axis, reverse, parts);
    auto mine = part_index(axes);
    Arrays window(at(x.type.ndim()) + 1, constant(0, i32));  // clamped where none is before
    window[0] = totals;
    window[at(axis) + 1] = reverse ? mine + 1 : mine - 1;
    auto row = totals.shape(), flat = row;
    row[at(axis)] = 1;
    flat.erase(at(axis));
    auto before = call_one(Reshape{flat}, {call_one(DynamicSlice{row}, window)});
    auto stretched = [&](const Array& y, const Dims& dims) { return call_one(BroadcastInDim{shape, dims}, {y}); };
    auto first = stretched(mine == static_cast<int>(reverse ? parts - 1 : 0), {});
    x.local = select(first, local, combined(kind, stretched(before, others(x.type.ndim(), {axis})), local));
    return std::vector<Sharded>{x};
  }
  static SamplesOf<Running> samples() {
    auto x = random_values({3, 5}, 0.5, 1.5, 1);
    return {{{RunningKind::prod, 1, false}, {x}},
            {{RunningKind::prod, 0, true}, {random_values({4}, -2, 2, 2, complex128)}},
            {{RunningKind::max, 1, true}, {x}},
            {{RunningKind::min, 0, false}, {random_values({3, 2}, -9, 9, 3, i32)}},
            {{RunningKind::logsumexp, 1, false}, {x}}};
  }
};
}  // namespace

Array running(RunningKind kind, const Array& x, Index axis, bool reverse) {
  if (x.shape(axis) < 2 || x.dtype() == Dtype::key) return composed(kind, x, axis, reverse, x.shape(axis));
  return call_one(Running{kind, axis, reverse}, {x});
}
}  // namespace bora::ops
