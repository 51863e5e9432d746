// Sorting, and the largest elements.
#include "kernels/api/order.h"
#include "bora/base/parallel.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sorting.h"
#include "ops/primitives/dims.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "kernels/api/index.h"
#include "ops/api/primitives.h"

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
/// Gradients of chosen elements, put back at their positions.
Array put_back(const Array& ct, const Array& x, const Array& positions) {
  return call_one(Scatter{kernels::ScatterMode::add, x.ndim() - 1, x.ndim() - 1}, {zeros_like(x), positions, ct});
}
/// The positions that bring the last dimension into ascending order, i32; stable, NaN last.
struct Argsort {
  static constexpr std::string_view name = "argsort";
  static constexpr bool by_order = true;
  Types infer(const Types& in) const {
    check_rows("argsort", in.at(0));
    return {{in[0].shape, i32}};
  }
  void eval(Inputs in, Outputs out) const {
    const auto& t = in[0].type;
    kernels::argsort(t.dtype, in[0].data, out[0].as<std::int32_t>(), product(t.shape, 0, t.ndim() - 1), t.shape.back());
  }
  Arrays vjp(const Vjp&) const { return {Array{}}; }
  Factors factors(const Types& in) const {
    auto l = rows_labels(in[0]);
    return {{l}, {l}};
  }
  Argsort lift(std::int64_t) const { return {}; }
  static Samples<Argsort> samples() {
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
  void eval(Inputs in, Outputs out) const {
    const auto& t = in[0].type;
    kernels::sort(t.dtype, in[0].data, out[0].data, product(t.shape, 0, t.ndim() - 1), t.shape.back());
  }
  Arrays vjp(const Vjp& v) const { return {put_back(v.ct[0], v.in[0], call_one(Argsort{}, {v.in[0]}))}; }
  Factors factors(const Types& in) const {
    auto l = rows_labels(in[0]);
    return {{l}, {l}};
  }
  Sort lift(std::int64_t) const { return {}; }
  static Samples<Sort> samples() {
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
  void eval(Inputs in, Outputs out) const {
    const auto& t = in[0].type;
    kernels::top_k(t.dtype, in[0].data, out[0].data, out[1].as<std::int32_t>(), product(t.shape, 0, t.ndim() - 1),
                   t.shape.back(), k);
  }
  Arrays vjp(const Vjp& v) const { return {v.ct[0].defined() ? put_back(v.ct[0], v.in[0], v.out[1]) : Array{}}; }
  Factors factors(const Types& in) const {
    auto l = rows_labels(in[0]);
    return {{l}, {l, l}};
  }
  Largest lift(std::int64_t) const { return {k}; }
  static Samples<Largest> samples() {
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
TopK top_k(const Array& x, std::int64_t k) {
  auto r = call(ops::Largest{k}, {x});
  return {r[0], r[1]};
}
}  // namespace bora
