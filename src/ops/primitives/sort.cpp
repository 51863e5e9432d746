// Sorting, and the largest elements.
#include "kernels/api/order.h"
#include "array/api/splits.h"
#include "bora/base/parallel.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/sorting.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/dims.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "kernels/api/index.h"
#include "ops/api/collective_primitives.h"
#include "ops/api/primitives.h"
#include "ops/primitives/indexing.h"
#include "ops/primitives/merge_sorted.h"

namespace bora::ops {
namespace {
Dims rows_labels(const Type& x) {
  auto l = range_of(x.ndim());
  l.back() = kNone;
  return l;
}
void check_rows(std::string_view what, const Type& x) {
  check<ShapeError>(x.ndim() > 0, what, ": a scalar has no order");
  check<DtypeError>(is_numeric(x.dtype), what, ": keys have no order");
  check<DtypeError>(!is_complex(x.dtype), what, ": complex numbers have no order, got ", x,
                    "; take abs() or real() of them");
}
/// Gradients of chosen elements, added at their positions.
Array put_back(const Array& ct, const Array& zeros, const Array& positions) {
  return call_one(Scatter{kernels::ScatterMode::add, zeros.ndim() - 1, zeros.ndim() - 1}, {zeros, positions, ct});
}
/// Element positions[.., i] of each row.
Array picked(const Array& x, const Array& positions) {
  return call_one(Take{x.ndim() - 1, true, x.ndim() - 1}, {x, positions});
}
/// x, if its rows are split, and no other dimension could take the split over.
std::optional<Sharded> split_rows(const Sharded& x, ShardRules& s) {
  auto parts = s.mesh().parts(x.spec[x.spec.size() - 1]);
  if (parts == 1) return std::nullopt;
  for (std::size_t d = 0; d + 1 < x.spec.size(); ++d)
    if (x.spec[d].empty() && x.type.shape[d] >= parts) return std::nullopt;
  return s.resolve(x);
}
/// The block of sorted rows of x, of the last operand: each rank has sorted its own.
Array merged_rows(const Sharded& x, const Arrays& sorted) {
  return call_one(MergeSorted{x.spec[x.spec.size() - 1], x.type.shape.back(), x.type.shape}, sorted);
}
/// The positions that bring the last dimension into ascending order, i32; stable, NaN last.
struct Argsort {
  static constexpr std::string_view name = "argsort";
  static constexpr bool by_order = true;
  Types infer(const Types& in) const {
    check_rows("argsort", in.at(0));
    return {{in[0].shape, i32}};
  }
  void eval(InputViews in, OutputViews out) const {
    const auto& t = in[0].type;
    kernels::argsort(t.dtype, in[0].data, out[0].as<std::int32_t>(), product(t.shape, 0, t.ndim() - 1), t.shape.back());
  }
  Arrays vjp(const Vjp&) const { return {Array{}}; }
  DimFactors factors(const Types& in) const {
    auto l = rows_labels(in[0]);
    return {{l}, {l}};
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto x = split_rows(in[0], s);
    if (!x) return std::nullopt;
    auto order = call_one(*this, {x->local});
    auto positions = order + block_start(x->type.shape.back(), x->spec[x->spec.size() - 1]);
    return {{{merged_rows(*x, {picked(x->local, order), positions}), {x->type.shape, i32}, x->spec}}};
  }
  Argsort lift(std::int64_t) const { return {}; }
  static SamplesOf<Argsort> samples() {
    return {{{}, {random_values({2, 5}, -1, 1, 1)}},
            {{}, {values({4}, {3, 1, 3, 1}, i32)}},
            {{}, {random_values({2, 0}, -1, 1, 2)}}};
  }
};
/// Ascending along the last dimension, stable, NaN last.
struct Sort {
  static constexpr std::string_view name = "sort";
  static constexpr bool by_order = true;
  Types infer(const Types& in) const {
    check_rows("sort", in.at(0));
    return {in[0]};
  }
  void eval(InputViews in, OutputViews out) const {
    const auto& t = in[0].type;
    kernels::sort(t.dtype, in[0].data, out[0].data, product(t.shape, 0, t.ndim() - 1), t.shape.back());
  }
  /// Split as the elements are.
  Arrays vjp(const Vjp& v) const {
    return {put_back(v.ct[0], zeros_split_like(v.in[0]), call_one(Argsort{}, {v.in[0]}))};
  }
  DimFactors factors(const Types& in) const {
    auto l = rows_labels(in[0]);
    return {{l}, {l}};
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto x = split_rows(in[0], s);
    if (!x) return std::nullopt;
    return {{{merged_rows(*x, {call_one(*this, {x->local})}), x->type, x->spec}}};
  }
  Sort lift(std::int64_t) const { return {}; }
  static SamplesOf<Sort> samples() {
    return {{{}, {random_values({2, 5}, -1, 1, 1)}},
            {{}, {values({4}, {3, 1, 3, 1}, i32)}},
            {{}, {random_values({2, 0}, -1, 1, 2)}}};
  }
};
/// The k largest of the last dimension, descending, and their positions.
struct Largest {
  std::int64_t k;
  static constexpr std::string_view name = "top_k";
  static constexpr bool by_order = true;
  Types infer(const Types& in) const {
    check_rows("top_k", in.at(0));
    check<ValueError>(k >= 0 && k <= in[0].shape.back(), "top_k: k = ", k, " does not lie in [0, ", in[0].shape.back(),
                      "], the size of the last dimension of ", in[0].shape);
    auto s = in[0].shape;
    s[s.size() - 1] = k;
    return {with_shape(in[0], s), {s, i32}};
  }
  void eval(InputViews in, OutputViews out) const {
    const auto& t = in[0].type;
    kernels::top_k(t.dtype, in[0].data, out[0].data, out[1].as<std::int32_t>(), product(t.shape, 0, t.ndim() - 1),
                   t.shape.back(), k);
  }
  Arrays vjp(const Vjp& v) const {
    return {v.ct[0].defined() ? put_back(v.ct[0], zeros_split_like(v.in[0]), v.out[1]) : Array{}};
  }
  DimFactors factors(const Types& in) const {
    auto l = rows_labels(in[0]);
    return {{l}, {l, l}};
  }
  /// The largest of the blocks' k largest. Among equal ones those of lower ranks come first, as their positions do.
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    const auto d = in[0].spec.size() - 1;
    const auto n = in[0].type.shape.back(), parts = std::int64_t{s.mesh().parts(in[0].spec[d])};
    if (parts == 1) return std::nullopt;
    const auto bytes = static_cast<std::int64_t>(dtype_size(in[0].type.dtype));
    const auto axes = in[0].spec[d];
    auto sizes = part_sizes(n, {}, axes, s.mesh(), s.rank());
    std::int64_t candidates = 0;
    for (auto& m : sizes) candidates += m = std::min(k, m);
    if (candidates * (bytes + 4) >= n * bytes) return std::nullopt;  // their positions travel too
    auto x = s.resolve(in[0]);
    auto mine = call(Largest{std::min(k, x.local.shape(-1))}, {x.local});
    auto last = static_cast<std::int64_t>(d);
    auto values = all_gather(mine[0], axes, last, sizes, x.type.shape);
    auto positions = all_gather(mine[1] + block_start(n, axes), axes, last, sizes, x.type.shape);
    auto best = call(*this, {values});
    auto spec = x.spec;
    spec[d] = {};
    auto types = infer({x.type});
    return {{{best[0], types[0], spec}, {picked(positions, best[1]), types[1], spec}}};
  }
  Largest lift(std::int64_t) const { return {k}; }
  static SamplesOf<Largest> samples() {
    return {{{2}, {random_values({2, 5}, -1, 1, 1)}},
            {{0}, {random_values({3}, -1, 1, 2)}},
            {{3}, {values({4}, {1, 3, 3, 2}, i32)}}};
  }
};
template <class P> Array along(const Array& x, std::int64_t axis) {
  axis = normalize_axis(P::name, axis, x.ndim());
  return moveaxis(call_one(P{}, {moveaxis(x, axis, -1)}), -1, axis);
}
}  // namespace
}  // namespace bora::ops

namespace bora {
Array sort(const Array& x, std::int64_t axis) { return ops::along<ops::Sort>(x, axis); }
Array argsort(const Array& x, std::int64_t axis) { return ops::along<ops::Argsort>(x, axis); }
TopKResult top_k(const Array& x, std::int64_t k) {
  auto r = call(ops::Largest{k}, {x});
  return {r[0], r[1]};
}
}  // namespace bora
