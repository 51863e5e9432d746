// Binary search. Of a sorted array that is split each rank counts the elements of its block.
#include "ops/primitives/searchsorted.h"
#include <algorithm>
#include <bit>
#include "bora/array/primitive.h"
#include "bora/base/parallel.h"
#include "kernels/api/order.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
namespace {
/// Inputs: sorted rows [B.., n], x [B.., Q..] -> i32 of x's shape.
struct Searchsorted {
  bool right;
  std::int64_t batch_dims;
  static constexpr std::string_view name = "searchsorted";
  static constexpr bool by_order = true;
  Type infer(const Types& in) const {
    const auto &a = in.at(0), &x = in.at(1);
    check<DtypeError>(a.dtype == x.dtype && is_numeric(a.dtype) && !is_complex(a.dtype), "searchsorted: needs two ",
                      "operands of one dtype that has an order, got ", a, " and ", x);
    auto dims = range_of(batch_dims);
    bool fits = a.ndim() == batch_dims + 1 && x.ndim() >= batch_dims && pick(a.shape, dims) == pick(x.shape, dims);
    check<ShapeError>(fits, "searchsorted: sorted rows ", a, " and elements ", x, " must agree in ", batch_dims,
                      " dimensions");
    return {x.shape, i32};
  }
  void eval(InputViews in, OutputViews out) const {
    const auto &a = in[0].type, &x = in[1].type;
    kernels::searchsorted(a.dtype, in[0].data, in[1].data, out[0].as<std::int32_t>(), product(a.shape, 0, batch_dims),
                          a.shape.back(), product(x.shape, batch_dims, x.ndim()), right);
  }
  Cost cost(const Types& in, const Types& out) const {
    auto steps = std::bit_width(static_cast<std::uint64_t>(in[0].shape.back()));
    return {static_cast<double>(out[0].size()) * steps,
            static_cast<double>(in[0].nbytes() + in[1].nbytes() + out[0].nbytes())};
  }
  Arrays vjp(const Vjp&) const { return {Array{}, Array{}}; }
  /// Elements of all blocks add up.
  DimFactors factors(const Types& in) const {
    auto elements = joined(range_of(batch_dims), range_of(in[1].ndim() - batch_dims, batch_dims + 1));
    return {{range_of(batch_dims + 1), elements}, {elements}};
  }
  /// Where both are split over the same ranks, each rank searches for its own elements, unless the sorted ones are far
  /// more: then all elements are searched for everywhere.
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    const auto axes = in[0].spec[at(batch_dims)];
    auto shared = std::any_of(axes.begin(), axes.end(), [&](auto& a) { return in[1].spec.uses(a); });
    auto bytes = [](const Sharded& x) { return x.type.size() * static_cast<std::int64_t>(dtype_size(x.type.dtype)); };
    if (!shared || bytes(in[0]) > 4 * (bytes(in[1]) + 4 * in[1].type.size())) return {};
    auto whole = in[0].spec;
    whole[at(batch_dims)] = {};
    return s.by_factors(primitive(*this), factors({in[0].type, in[1].type}), {s.reshard(in[0], whole), in[1]});
  }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    if (in[0].axis < 0 && batch_dims == 0) return {{call_one(*this, {in[0].value, in[1].value}), in[1].axis}};
    return {{call_one(Searchsorted{right, batch_dims + 1}, {b.front(in[0]), b.front(in[1])}), 0}};
  }
  static SamplesOf<Searchsorted> samples() {
    auto sorted = [](Shape s, std::initializer_list<double> v) { return values(s, v, f64); };
    return {{{false, 0}, {sorted({4}, {-0.5, 0.1, 0.1, 0.7}), random_values({2, 3}, -1, 1, 1)}},
            {{true, 0}, {values({3}, {1, 1, 4}, i32), values({4}, {0, 1, 4, 5}, i32)}},
            {{true, 1}, {sorted({2, 2}, {-0.5, 0.5, 0, 0.1}), random_values({2, 3}, -1, 1, 2)}},
            {{false, 0}, {sorted({0}, {}), random_values({2}, -1, 1, 3)}}};
  }
};
}  // namespace
Array elements_before(const Array& sorted, const Array& x, bool right) {
  return call_one(Searchsorted{right, 0}, {sorted, x});
}
}  // namespace bora::ops
