// Reductions, positions of extremes, running sums.
#include "kernels/api/memory.h"
#include "kernels/api/move.h"
#include "kernels/api/reduce.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/indexing.h"
#include "ops/api/collective_primitives.h"
#include "ops/api/reduction_steps.h"
#include "ops/primitives/dims.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"
#include "bora/ops/creation.h"
#include "bora/ops/accumulator.h"

namespace bora::ops {
namespace {
std::string_view operation_name(Reduction kind) {
  return kind == Reduction::max ? "amax" : kind == Reduction::min ? "amin" : word(kind);
}
/// A run of neighbouring dimensions that are reduced.
struct Run {
  std::int64_t from, to;
};
std::vector<Run> runs_of(const Shape& x, const Dims& dims) {
  std::vector<Run> r;
  for (auto d : dims) {
    if (x[at(d)] == 1) continue;
    bool joins = !r.empty();
    for (auto k = joins ? r.back().to : 0; joins && k < d; ++k) joins = x[at(k)] == 1;
    if (joins) r.back().to = d + 1;
    else r.push_back({d, d + 1});
  }
  return r;
}
/// For each element the product of all others along dimension d: the halves are multiplied, the array of half the
/// length is solved by recursion, and its result is multiplied with the other half. No division: right at zeros and
/// infinities, in derivatives of any order.
Array product_of_others(const Array& x, std::int64_t d) {
  auto n = x.shape(d), half = n / 2;
  if (half == 0) return ones_like(x);
  auto part = [d](const Array& a, std::int64_t from, std::int64_t to) { return slice_in_dim(a, d, from, to); };
  auto a = part(x, 0, half), b = part(x, half, 2 * half);
  auto joint = a * b;
  if (n % 2 == 0) {
    auto rest = product_of_others(joint, d);
    return concatenate({rest * b, rest * a}, d);
  }
  auto rest = product_of_others(concatenate({joint, part(x, n - 1, n)}, d), d);
  auto pair = part(rest, 0, half);
  return concatenate({pair * b, pair * a, part(rest, half, half + 1)}, d);
}
/// A reduced array broadcast back over the reduced dimensions.
Array back(const Array& a, const Array& like, const Dims& dims) {
  return broadcast_in_dim(a, like.shape(), others(like.ndim(), dims));
}
}  // namespace

Type Reduce::infer(const Types& in) const {
  const auto& x = in.at(0);
  auto what = operation_name(kind);
  bool logical = kind == Reduction::all || kind == Reduction::any;
  check<DtypeError>(is_numeric(x.dtype), what, ": keys take part in no reduction; draw numbers from them first");
  check<DtypeError>(logical == (x.dtype == boolean) || kind == Reduction::max || kind == Reduction::min, what,
                    ": not defined for ", x.dtype, logical ? "; compare first" : "; cast to i32 first");
  check<DtypeError>(!is_complex(x.dtype) || kind == Reduction::sum || kind == Reduction::prod, what,
                    ": complex numbers have no order, got ", x, "; take abs() or real() of them");
  std::int64_t last = -1;
  for (auto d : dims) {
    check<IndexError>(last < d && d < x.ndim(), what, ": dimensions ", dims, " must increase and exist in ", x.shape);
    last = d;
  }
  return with_shape(x, pick(x.shape, others(x.ndim(), dims)));
}
std::vector<Dims> reduction_steps(const Type& x, const Dims& dims) {
  if (is_narrow(x.dtype)) return {dims};
  std::vector<Dims> r;
  auto runs = runs_of(x.shape, dims);
  for (auto k = runs.size(); k-- > 0;) {
    r.emplace_back();
    for (auto d : dims)
      if ((k == 0 || d >= runs[k].from) && (k + 1 == runs.size() || d < runs[k + 1].from)) r.back().push_back(d);
  }
  return r.size() > 1 ? r : std::vector<Dims>{dims};
}
void Reduce::eval(InputViews in, OutputViews out) const {
  if (auto steps = reduction_steps(in[0].type, dims); steps.size() > 1) {
    Types types{in[0].type};
    const void* from = in[0].data;
    std::vector<std::shared_ptr<void>> made;
    for (auto& d : steps) types.push_back(Reduce{kind, d}.infer({types.back()}));
    for (std::size_t k = 0; k < steps.size(); ++k) {
      auto last = k + 1 == steps.size();
      if (!last) made.push_back(kernels::allocate(types[k + 1].nbytes()));
      InputView x{types[k], from};
      OutputView y{types[k + 1], last ? out[0].data : made.back().get()};
      Reduce{kind, steps[k]}.eval({&x, 1}, {&y, 1});
      from = y.data;
    }
    return;
  }
  const auto& shape = in[0].type.shape;
  auto dtype = in[0].type.dtype;
  auto nd = in[0].type.ndim();
  auto runs = runs_of(shape, dims);
  if (runs.empty()) {  // only dimensions of size 1 disappear
    kernels::copy(out[0].data, {1}, in[0].data, {1}, {out[0].type.size()}, dtype_size(dtype));
    return;
  }
  constexpr std::int64_t few = 8;  // columns, next to each other
  if (runs.size() == 1) {
    auto [from, to] = runs[0];
    auto n = product(shape, from, to), inner = product(shape, to, nd);
    if (inner == 1 || inner > few || n < kLongColumn) {
      kernels::reduce(kind, dtype, in[0].data, out[0].data, product(shape, 0, from), n, inner);
      return;
    }
  }
  // Several runs of a half: transposed to the end, then one reduction along rows, so that it rounds once. A few long
  // columns too: rows as short as that leave most lanes empty.
  auto perm = joined(others(nd, dims), dims);
  auto moved = pick(shape, perm);
  auto scratch = kernels::allocate(in[0].type.nbytes());
  kernels::copy(scratch.get(), strides_of(moved), in[0].data, pick(strides_of(shape), perm), moved.dims(),
                dtype_size(dtype));
  auto kept = out[0].type.size();
  kernels::reduce(kind, dtype, scratch.get(), out[0].data, kept,
                  product(moved, nd - static_cast<std::int64_t>(dims.size()), nd), 1);
}
Array Reduce::vjp(const Vjp& v) const {
  const auto& x = v.in[0];
  if (kind == Reduction::sum) return back(v.ct[0], x, dims);
  if (kind == Reduction::max || kind == Reduction::min) {  // shared equally by ties
    auto hit = (x == back(v.out[0], x, dims)).astype(x.dtype());
    return hit * back(v.ct[0] / sum(hit, dims), x, dims);
  }
  check<TraceError>(kind == Reduction::prod, operation_name(kind), " has no derivative");
  // One dimension at a time, from the last: the product of the others along it, of x already multiplied over the later
  // ones.
  Array y = in_accumulator(x), g = back(v.ct[0], x, dims).astype(y.dtype());
  for (auto i = dims.size(); i-- > 0;) {
    g = g * broadcast_to(product_of_others(y, dims[i]), x.shape());
    if (i > 0) y = prod(y, dims[i], {.keepdims = true});
  }
  return g.astype(x.dtype());
}
DimFactors Reduce::factors(const Types& in) const {
  auto l = range_of(in[0].ndim());
  auto kept = others(in[0].ndim(), dims);
  switch (kind) {
    case Reduction::sum: return {{l}, {kept}, {0}};
    case Reduction::max:
    case Reduction::any: return {{l}, {kept}, {}, false, Reduction::max};
    case Reduction::min:
    case Reduction::all: return {{l}, {kept}, {}, false, Reduction::min};
    case Reduction::prod:
    case Reduction::mean: break;  // no collective multiplies: dimensions stay whole
  }
  for (auto d : dims) l[at(d)] = kNone;
  return {{l}, {kept}};
}
Reduce Reduce::lift(std::int64_t) const { return {kind, shifted(dims)}; }
SamplesOf<Reduce> Reduce::samples() {
  auto flags = values({2, 3}, {1, 0, 1, 1, 1, 1}, boolean);
  return {{{Reduction::sum, {0, 2}}, {random_values({2, 3, 4}, -1, 1, 1)}},
          {{Reduction::sum, {1}}, {random_values({2, 0}, -1, 1, 2)}},
          {{Reduction::sum, {0, 2}}, {random_values({2, 3, 4}, -1, 1, 1, complex128)}},
          {{Reduction::prod, {1}}, {random_values({2, 3}, 0.5, 1.5, 6, complex128)}},
          {{Reduction::sum, {0, 1}}, {random_values({2, 3}, -1, 1, 3)}},
          {{Reduction::max, {1}}, {random_values({3, 4}, -1, 1, 4)}},
          {{Reduction::min, {0}}, {random_values({3, 4}, -1, 1, 5)}},
          {{Reduction::max, {1}}, {values({2, 3}, {1, 1, 0, 2, 3, 1}, i32)}},
          {{Reduction::prod, {1}}, {random_values({2, 3}, 0.5, 1.5, 6)}},
          {{Reduction::prod, {0, 2}}, {random_values({3, 2, 5}, 0.5, 1.5, 7)}},
          {{Reduction::prod, {1}}, {values({3, 4}, {2, 0, 3, 1, 0, 2, 0, 3, -1, 2, 1, 4}, f64)}},
          {{Reduction::all, {1}}, {flags}},
          {{Reduction::any, {0}}, {flags}}};
}
namespace {
/// i32 position of the first maximum (minimum) along axis, which disappears.
struct ArgReduce {
  bool max;
  std::int64_t axis;
  static constexpr std::string_view name = "arg_reduce";
  static constexpr bool by_order = true;
  Type infer(const Types& in) const {
    check<DtypeError>(is_numeric(in.at(0).dtype), max ? "argmax" : "argmin", ": keys have no order");
    check<DtypeError>(!is_complex(in[0].dtype), max ? "argmax" : "argmin", ": complex numbers have no order, got ",
                      in[0], "; take abs() or real() of them");
    return {pick(in[0].shape, others(in[0].ndim(), {axis})), i32};
  }
  void eval(InputViews in, OutputViews out) const {
    auto a = around(in[0].type.shape, axis);
    kernels::arg_reduce(max, in[0].type.dtype, in[0].data, out[0].as<std::int32_t>(), a.outer, a.n, a.inner);
  }
  DimFactors factors(const Types& in) const {
    auto l = range_of(in[0].ndim());
    l[at(axis)] = kNone;
    return {{l}, {others(in[0].ndim(), {axis})}};
  }
  ArgReduce lift(std::int64_t) const { return {max, axis + 1}; }
  /// Along a split axis: each rank gives the extreme of its block and where it is; the first of the best ones counts.
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    const auto axes = in[0].spec[at(axis)];
    const std::int64_t n = in[0].type.shape[at(axis)], parts = s.mesh().parts(axes);
    if (parts == 1) return std::nullopt;
    for (std::int64_t p = 0; p < parts; ++p)
      if (s.mesh().block(n, axes, p).size() == 0) return std::nullopt;  // a block without rows has no extreme
    auto x = s.resolve(in[0]);
    const auto kept = others(x.type.ndim(), {axis});
    auto of = x.type.shape;
    of[at(axis)] = parts;
    auto of_all = [&](const Array& mine) {
      auto shape = mine.shape();
      shape.insert(at(axis), 1);
      return all_gather(reshape(mine, shape), axes, axis, Dims(at(parts), 1), of);
    };
    auto extremes = of_all(call_one(Reduce{max ? Reduction::max : Reduction::min, {axis}}, {x.local}));
    auto positions = of_all(call_one(*this, {x.local}) + block_start(n, axes));
    auto part = call_one(BroadcastInDim{extremes.shape(), {axis}}, {iota({parts}, 0)});
    auto best = call_one(BroadcastInDim{extremes.shape(), kept}, {call_one(*this, {extremes})});
    auto y = call_one(Reduce{Reduction::sum, {axis}}, {select(part == best, positions, zeros_like(positions))});
    auto spec = x.spec;
    spec.erase(at(axis));
    return std::vector<Sharded>{{y, infer({x.type}), spec}};
  }
  static SamplesOf<ArgReduce> samples() {
    return {{{true, 1}, {random_values({3, 4}, -1, 1, 1)}},
            {{false, 0}, {random_values({3, 4}, -1, 1, 2)}},
            {{true, 0}, {values({4}, {1, 3, 3, 2}, i32)}}};
  }
};
/// Running sum along axis, from the front or the back.
struct Cumsum {
  std::int64_t axis;
  bool reverse;
  static constexpr std::string_view name = "cumsum";
  static constexpr bool by_bits = true;
  Type infer(const Types& in) const {
    check<DtypeError>(is_numeric(in.at(0).dtype) && in[0].dtype != boolean, "cumsum: not defined for ", in[0].dtype);
    return in[0];
  }
  void eval(InputViews in, OutputViews out) const {
    auto a = around(in[0].type.shape, axis);
    kernels::cumsum(in[0].type.dtype, in[0].data, out[0].data, a.outer, a.n, a.inner, reverse);
  }
  Array vjp(const Vjp& v) const { return call_one(Cumsum{axis, !reverse}, {v.ct[0]}); }
  DimFactors factors(const Types& in) const {
    auto l = range_of(in[0].ndim());
    l[at(axis)] = kNone;
    return {{l}, {l}, {0}};
  }
  Cumsum lift(std::int64_t) const { return {axis + 1, reverse}; }
  /// Along a split axis: a scan of this rank's block, and the totals of the blocks before it.
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto x = in[0];
    const auto axes = x.spec[at(axis)];
    const std::int64_t parts = s.mesh().parts(axes);
    if (parts == 1) return std::nullopt;
    auto wide = is_narrow(x.type.dtype) ? f32 : x.type.dtype;  // rounded once, as on one rank
    auto local = x.local.astype(wide);
    const auto kept = others(x.type.ndim(), {axis});
    auto stretched = [&](const Array& y, const Shape& to, const Dims& dims) {  // whatever the sizes here
      return call_one(BroadcastInDim{to, dims}, {y});
    };
    auto total = call_one(Reduce{Reduction::sum, {axis}}, {local});
    auto shape = total.shape();
    shape.insert(at(axis), 1);
    auto of = x.type.shape;
    of[at(axis)] = parts;
    auto totals = all_gather(reshape(total, shape), axes, axis, Dims(at(parts), 1), of);
    auto part = iota({parts}, 0);
    auto mine = stretched(part_index(axes), {parts}, {});
    auto counts = stretched(reverse ? part > mine : part < mine, totals.shape(), {axis});
    auto before = call_one(Reduce{Reduction::sum, {axis}}, {select(counts, totals, zeros_like(totals))});
    auto y = call_one(*this, {local}) + stretched(before, local.shape(), kept);
    x.local = y.astype(x.type.dtype);
    return std::vector<Sharded>{x};
  }
  static SamplesOf<Cumsum> samples() {
    return {{{1, false}, {random_values({2, 4}, -1, 1, 1)}},
            {{0, true}, {random_values({3, 2}, -1, 1, 2)}},
            {{0, false}, {random_values({0, 2}, -1, 1, 3)}},
            {{1, false}, {random_values({2, 4}, -1, 1, 4, complex128)}}};
  }
};
}  // namespace
}  // namespace bora::ops

namespace bora {
using ops::at;
using ops::for_sums;
namespace {
Array arg_reduce(bool max, std::string_view what, const Array& x, std::int64_t axis) {
  axis = normalize_axis(what, axis, x.ndim());
  check<ShapeError>(x.shape(axis) > 0, what, ": dimension ", axis, " of ", x.shape(),
                    " is empty, and the extreme of nothing does not exist");
  return call_one(ops::ArgReduce{max, axis}, {x});
}
}  // namespace

Array argmax(const Array& x, std::int64_t axis) { return arg_reduce(true, "argmax", x, axis); }
Array argmin(const Array& x, std::int64_t axis) { return arg_reduce(false, "argmin", x, axis); }
Array cumsum(const Array& x, std::int64_t axis) {
  return call_one(ops::Cumsum{normalize_axis("cumsum", axis, x.ndim()), false}, {for_sums(x)});
}
Array reverse_cumsum(const Array& x, std::int64_t axis) {
  return call_one(ops::Cumsum{normalize_axis("reverse_cumsum", axis, x.ndim()), true}, {for_sums(x)});
}
template PrimitivePtr primitive<ops::Reduce>(ops::Reduce);
}  // namespace bora
