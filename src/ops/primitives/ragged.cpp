// ragged_dot: products of rows in groups, and its gradient by the matrices. Letters as in kernels/api/ragged.h; B.. and
// R.. are any number of dimensions.
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include <algorithm>
#include "kernels/api/ragged.h"
#include "ops/primitives/dims.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora::ops {
namespace {
/// `rows`: the number of dimensions R..
struct RaggedSizes {
  std::int64_t lead, rows;
  Shape batch, row_batch;
  std::int64_t M, K;
  RaggedSizes(const Type& x, std::int64_t r) : lead(x.ndim() - 2 - r), rows(r) {
    check<ShapeError>(r >= 0 && lead >= 0, "ragged_dot: x ", x, " needs rows and columns");
    batch = pick(x.shape, range_of(lead));
    row_batch = pick(x.shape, range_of(r, lead));
    M = x.shape[at(lead + r)];
    K = x.shape[at(lead + r + 1)];
  }
  /// batch, the batches of rows if wanted, then `tail`.
  Shape with(bool of_rows, const Dims& tail) const {
    auto s = batch;
    if (of_rows) s.append(row_batch);
    for (auto n : tail) s.push_back(n);
    return s;
  }
  kernels::Ragged call(const InputView& x, const InputView& sizes, const InputView& first, std::int64_t n,
                       std::int64_t groups) const {
    return {.dtype = x.type.dtype,
            .batch = volume(batch),
            .rows = volume(row_batch),
            .m = M,
            .k = K,
            .n = n,
            .counted = sizes.type.shape.back(),
            .groups = groups,
            .x = x.data,
            .sizes = sizes.as<std::int32_t>(),
            .first = first.as<std::int32_t>()};
  }
};
void check_groups(const RaggedSizes& s, const Type& sizes, const Type& first) {
  check<ShapeError>(sizes.dtype == i32 && sizes.ndim() == s.lead + s.rows + 1 &&
                        sizes.shape == s.with(true, {sizes.shape.back()}),
                    "ragged_dot: sizes must be ", Type{s.with(true, {}), i32},
                    " with one more dimension, the groups; got ", sizes);
  check<ShapeError>(first == Type({s.batch, i32}), "ragged_dot: the first group must be ", Type{s.batch, i32}, ", got ",
                    first);
}
void check_dtypes(const Type& x, const Type& w) {
  check<DtypeError>(x.dtype == w.dtype && is_numeric(x.dtype) && x.dtype != boolean,
                    "ragged_dot: needs two operands of one numeric dtype, got ", x.dtype, " and ", w.dtype,
                    "; use astype()");
}
/// Dimensions as labels: B.. and R.. are 0, 1, .., then K and N; rows and groups are needed whole.
struct RaggedLabels {
  Dims b, r;
  std::int64_t k, n;
  RaggedLabels(std::int64_t lead, std::int64_t rows)
      : b(range_of(lead)), r(range_of(rows, lead)), k(lead + rows), n(lead + rows + 1) {}
  Dims of_rows(const Dims& tail) const { return joined(joined(b, r), tail); }
  Dims of_stack(const Dims& tail) const { return joined(b, tail); }
};
/// Counts the rows of groups with a matrix, as if all groups had as many: where experts are split over ranks, a rank
/// skips the rows of the others'.
Cost cost_of(const RaggedSizes& s, std::int64_t n, std::int64_t groups, const Types& in, const Types& out) {
  Cost c;
  for (auto* list : {&in, &out})
    for (auto& t : *list) c.bytes += static_cast<double>(t.nbytes());
  auto counted = std::max<std::int64_t>(1, in[2].shape.back());
  auto share = static_cast<double>(std::min(groups, counted)) / static_cast<double>(counted);
  c.flops = 2 * share * static_cast<double>(volume(s.batch) * volume(s.row_batch) * s.M) * static_cast<double>(s.K * n);
  return c;
}
}  // namespace

/// Inputs x [B.., R.., M, K], a stack of matrices [B.., E, K, N] (transposed: [B.., E, N, K]), sizes i32 [B.., R.., G],
/// the first group i32 [B..] -> [B.., R.., M, N].
struct RaggedDot {
  std::int64_t rows;
  bool transposed;
  static constexpr std::string_view name = "ragged_dot";
  static constexpr std::string_view memory = "products";
  std::int64_t columns(const Type& w) const { return w.shape[w.shape.size() - (transposed ? 2 : 1)]; }
  Type infer(const Types& in) const {
    const auto &x = in.at(0), &w = in.at(1);
    check_dtypes(x, w);
    RaggedSizes s(x, rows);
    check<ShapeError>(w.ndim() == s.lead + 3 && pick(w.shape, range_of(s.lead)) == s.batch,
                      "ragged_dot: the matrices must be ", s.batch, " and three dimensions more, got ", w);
    auto inner = w.shape[w.shape.size() - (transposed ? 1 : 2)];
    check<ShapeError>(inner == s.K, "ragged_dot: inner sizes differ: rows of ", x.shape, " have ", s.K,
                      " columns, the matrices of ", w.shape, " have ", inner, " rows");
    check_groups(s, in.at(2), in.at(3));
    return {s.with(true, {s.M, columns(w)}), x.dtype};
  }
  void eval(InputViews in, OutputViews out) const {
    RaggedSizes s(in[0].type, rows);
    auto& w = in[1].type;
    auto call = s.call(in[0], in[2], in[3], columns(w), w.shape[at(s.lead)]);
    kernels::ragged_dot(call, in[1].data, transposed, out[0].data);
  }
  Cost cost(const Types& in, const Types& out) const {
    return cost_of(RaggedSizes(in[0], rows), columns(in[1]), in[1].shape[in[1].shape.size() - 3], in, out);
  }
  bool saved(Saveable keep, const std::vector<std::string>&) const {
    return keep == Saveable::dots || keep == Saveable::dots_no_batch || keep == Saveable::everything;
  }
  Arrays vjp(const Vjp& v) const;
  DimFactors factors(const Types& in) const {
    RaggedLabels l(in[0].ndim() - 2 - rows, rows);
    return {{l.of_rows({kNone, l.k}), l.of_stack(transposed ? Dims{kNone, l.n, l.k} : Dims{kNone, l.k, l.n}),
             l.of_rows({kNone}), l.b},
            {l.of_rows({kNone, l.n})},
            {0, 1}};
  }
  /// If the matrices are not mapped, the axis is one more batch of rows: no matrix is repeated.
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& rules) const {
    if (in[1].axis >= 0 || in[3].axis >= 0) return rules.lifted(primitive(*this), in);
    auto lead = in[1].value.ndim() - 3;
    auto placed = [&](const Mapped& m) { return moveaxis(rules.front(m), 0, lead); };
    auto y = call_one(RaggedDot{rows + 1, transposed}, {placed(in[0]), in[1].value, placed(in[2]), in[3].value});
    return {{y, lead}};
  }
  static SamplesOf<RaggedDot> samples();
};
/// Inputs x [B.., R.., M, K], y [B.., R.., M, N], sizes and first group as RaggedDot's -> [B.., groups, K, N]: for each
/// group the sum of outer products of its rows.
struct RaggedOuter {
  std::int64_t rows, groups;
  static constexpr std::string_view name = "ragged_outer";
  static constexpr std::string_view memory = "products";
  Type infer(const Types& in) const {
    const auto &x = in.at(0), &y = in.at(1);
    check_dtypes(x, y);
    RaggedSizes s(x, rows), other(y, rows);
    check<ShapeError>(y.shape == s.with(true, {s.M, other.K}), "ragged_dot: the gradient ", y,
                      " is not that of rows of ", x);
    check_groups(s, in.at(2), in.at(3));
    return {s.with(false, {groups, s.K, other.K}), x.dtype};
  }
  void eval(InputViews in, OutputViews out) const {
    RaggedSizes s(in[0].type, rows);
    kernels::ragged_outer(s.call(in[0], in[2], in[3], in[1].type.shape.back(), groups), in[1].data, out[0].data);
  }
  Cost cost(const Types& in, const Types& out) const {
    return cost_of(RaggedSizes(in[0], rows), in[1].shape.back(), groups, in, out);
  }
  bool saved(Saveable keep, const std::vector<std::string>&) const {
    return keep == Saveable::dots || keep == Saveable::dots_no_batch || keep == Saveable::everything;
  }
  Arrays vjp(const Vjp& v) const {
    return {v.needs[0] ? call_one(RaggedDot{rows, true}, {v.in[1], v.ct[0], v.in[2], v.in[3]}) : Array{},
            v.needs[1] ? call_one(RaggedDot{rows, false}, {v.in[0], v.ct[0], v.in[2], v.in[3]}) : Array{}, Array{},
            Array{}};
  }
  DimFactors factors(const Types& in) const {
    RaggedLabels l(in[0].ndim() - 2 - rows, rows);
    return {{l.of_rows({kNone, l.k}), l.of_rows({kNone, l.n}), l.of_rows({kNone}), l.b},
            {l.of_stack({kNone, l.k, l.n})},
            {0, 1}};
  }
  RaggedOuter lift(std::int64_t) const { return *this; }
  static SamplesOf<RaggedOuter> samples() {
    auto some = [](const Shape& s, int seed) { return random_values(s, -1, 1, seed); };
    return {{{0, 3}, {some({5, 2}, 1), some({5, 3}, 2), values({3}, {2, 0, 3}, i32), values({}, {0}, i32)}},
            {{1, 2},
             {some({2, 4, 2}, 3), some({2, 4, 2}, 4), values({2, 3}, {1, 2, 1, 0, 4, 3}, i32), values({}, {1}, i32)}}};
  }
};
Arrays RaggedDot::vjp(const Vjp& v) const {
  auto &ct = v.ct[0], &x = v.in[0], &w = v.in[1];
  auto groups = w.shape(-3);
  Array dx, dw;
  if (v.needs[0]) dx = call_one(RaggedDot{rows, !transposed}, {ct, w, v.in[2], v.in[3]});
  if (v.needs[1]) {
    auto &a = transposed ? ct : x, &b = transposed ? x : ct;
    dw = call_one(RaggedOuter{rows, groups}, {a, b, v.in[2], v.in[3]});
  }
  return {dx, dw, Array{}, Array{}};
}
SamplesOf<RaggedDot> RaggedDot::samples() {
  auto some = [](const Shape& s, int seed) { return random_values(s, -1, 1, seed); };
  return {{{0, false}, {some({5, 2}, 1), some({3, 2, 3}, 2), values({3}, {2, 0, 2}, i32), values({}, {0}, i32)}},
          {{0, true}, {some({4, 2}, 3), some({2, 3, 2}, 4), values({3}, {1, 2, 1}, i32), values({}, {1}, i32)}},
          {{1, false},
           {some({2, 3, 2}, 5), some({2, 2, 2}, 6), values({2, 2}, {0, 3, 2, 9}, i32), values({}, {0}, i32)}},
          {{0, false}, {some({0, 2}, 7), some({2, 2, 2}, 8), values({2}, {0, 0}, i32), values({}, {0}, i32)}}};
}
}  // namespace bora::ops

namespace bora {
Array ragged_dot(const Array& x, const Array& w, const Array& sizes, const RaggedDotOptions& o) {
  check<ShapeError>(w.ndim() >= 3 && x.ndim() >= w.ndim() - 1, "ragged_dot: needs x [B.., R.., M, K] and w [B.., E, ",
                    "K, N], got ", x.type(), " and ", w.type());
  auto lead = w.ndim() - 3, rows = x.ndim() - 2 - lead;
  check<DtypeError>(is_integer(sizes.dtype()), "ragged_dot: sizes are integers, got ", sizes.type());
  check<DtypeError>(is_numeric(x.dtype()) && is_numeric(w.dtype()), "ragged_dot: keys cannot be multiplied");
  auto dtype = promote(x.dtype(), w.dtype());
  auto first = o.first_group.defined() ? o.first_group.astype(i32)
                                       : zeros(ops::pick(w.shape(), ops::range_of(lead)), i32);
  return call_one(ops::RaggedDot{rows, false}, {x.astype(dtype), w.astype(dtype), sizes.astype(i32), first});
}
}  // namespace bora
