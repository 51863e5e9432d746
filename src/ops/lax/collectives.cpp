// Collectives as users write them: axes by name, equal parts. Slices of ragged_all_to_all travel with equal lengths.
#include <algorithm>
#include "bora/ops/collectives.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "ops/api/collective_primitives.h"
#include "ops/numpy/support.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
namespace {
Dims even(std::string_view op, const Array& x, std::int64_t dim, const MeshAxes& axes) {
  auto p = ops::named_axis_size(axes), n = x.shape(dim);
  check<ShapeError>(n % p == 0, op, ": dimension ", dim, " of ", x.type(), " does not divide over the ", p,
                    " members of ", axes);
  return Dims(static_cast<std::size_t>(p), n / p);
}
Dims same(const Array& x, std::int64_t dim, const MeshAxes& axes) {
  return Dims(static_cast<std::size_t>(ops::named_axis_size(axes)), x.shape(dim));
}
}  // namespace

Array psum(const Array& x, const MeshAxes& a) {
  (void)ops::named_axis_size(a);
  return ops::all_reduce(for_sums(x), a, Reduction::sum, {});
}
Array psum(const Array& x, const MeshAxes& a, const SumOptions& options) {
  auto& wire = options.wire;
  if (wire.exact()) return psum(x, a);
  check<DtypeError>(x.dtype() == Dtype::f32, "psum: ", x.type(), " cannot travel as ", word(wire),
                    "; only f32 can: cast it, or leave the wire f32");
  check<ValueError>(!wire.blocks() || valid_block(wire.block), "psum: blocks of ", word(wire.codec),
                    " have a multiple of 64 numbers up to 4096, got ", wire.block);
  (void)ops::named_axis_size(a);
  return ops::all_reduce(x, a, Reduction::sum, {}, wire);
}
Array pmean(const Array& x, const MeshAxes& a) {
  bool may_overflow = x.dtype() == i32 || x.dtype() == u32;
  return psum(may_overflow ? x.astype(i64) : x, a) / ops::named_axis_size(a);
}
Array pmax(const Array& x, const MeshAxes& a) {
  check<DtypeError>(!is_complex(x.dtype()), "pmax: complex numbers have no order, got ", x.type());
  return (void)ops::named_axis_size(a), ops::all_reduce(x, a, Reduction::max, {});
}
Array pmin(const Array& x, const MeshAxes& a) {
  check<DtypeError>(!is_complex(x.dtype()), "pmin: complex numbers have no order, got ", x.type());
  return (void)ops::named_axis_size(a), ops::all_reduce(x, a, Reduction::min, {});
}
Array all_gather(const Array& x, const MeshAxes& axes, const GatherOptions& o) {
  auto dim = normalize_axis("all_gather", o.axis, x.ndim() + (o.tiled ? 0 : 1));
  auto y = o.tiled ? x : expand_dims(x, dim);
  return ops::all_gather(y, axes, dim, same(y, dim, axes), {});
}
Array psum_scatter(const Array& x, const MeshAxes& axes, const GatherOptions& o) {
  auto dim = normalize_axis("psum_scatter", o.axis, x.ndim());
  auto y = ops::reduce_scatter(for_sums(x), axes, dim, even("psum_scatter", x, dim, axes), {});
  if (o.tiled) return y;
  check<ShapeError>(y.shape(dim) == 1, "psum_scatter: dimension ", dim, " of ", x.type(),
                    " must have one element a member unless tiled");
  return squeeze(y, dim);
}
Array all_to_all(const Array& x, const MeshAxes& axes, std::int64_t split, std::int64_t concat) {
  auto s = normalize_axis("all_to_all", split, x.ndim()), c = normalize_axis("all_to_all", concat, x.ndim());
  auto parts = even("all_to_all", x, s, axes);
  return ops::all_to_all(x, axes, s, c, parts, s == c ? parts : same(x, c, axes), {});
}
Array ppermute(const Array& x, const MeshAxes& axis, const std::vector<std::pair<int, int>>& pairs) {
  auto n = ops::named_axis_size(axis);
  std::vector<int> from, to;
  for (auto& [s, t] : pairs) {
    check<ValueError>(0 <= s && s < n && 0 <= t && t < n, "ppermute: (", s, ", ", t, ") names a member outside of [0, ",
                      n, ")");
    check<ValueError>(
        std::find(from.begin(), from.end(), s) == from.end() && std::find(to.begin(), to.end(), t) == to.end(),
        "ppermute: sources and destinations must be unique; ", s, " -> ", t, " repeats one");
    from.push_back(s);
    to.push_back(t);
  }
  return ops::permute(x, axis, pairs);
}
Array axis_index(const MeshAxes& axes) {
  (void)ops::named_axis_size(axes);
  return ops::part_index(axes);
}
Array ragged_all_to_all(const Array& operand, const Array& output, const Array& input_offsets, const Array& send_sizes,
                        const Array& output_offsets, const Array& recv_sizes, const MeshAxes& axes) {
  constexpr std::string_view what = "ragged_all_to_all";
  auto rows = operand.shape(), places = output.shape();
  check<ShapeError>(!rows.empty() && rows.size() == places.size() &&
                        std::equal(rows.begin() + 1, rows.end(), places.begin() + 1),
                    what, ": operand ", operand.type(), " and output ", output.type(),
                    " must have the same dimensions after the first one");
  check<DtypeError>(operand.dtype() == output.dtype(), what, ": operand ", operand.type(), " and output ",
                    output.type(), " have different dtypes; convert one of them");
  auto n = input_offsets.size(), members = static_cast<std::int64_t>(ops::named_axis_size(axes));
  for (auto* x : {&input_offsets, &send_sizes, &output_offsets, &recv_sizes}) {
    check<DtypeError>(is_integer(x->dtype()), what, ": offsets and sizes are integers, got ", x->type());
    check<ShapeError>(x->shape() == Shape{n} && n % members == 0, what, ": offsets and sizes must be vectors of one ",
                      "length that ", members, " members divide, got ", x->type(), " beside ", input_offsets.type());
  }
  auto length = std::min(rows[0], places[0]);
  if (length == 0 || n == 0) return output;
  auto step = arange(length);
  auto column = [](const Array& x) { return expand_dims(x.astype(i32), 1); };
  auto from = where(step < column(send_sizes), column(input_offsets) + step, 0);
  auto slices = all_to_all(take(operand, from, 0), axes, 0, 0);
  auto start = column(all_to_all(output_offsets.astype(i32), axes, 0, 0));
  auto to = start + step;
  auto counts = step < column(recv_sizes) && to >= 0;  // other rows go past the end, where writes are dropped
  return indexed::set(output, {where(counts, to, places[0])}, slices);
}
}  // namespace bora
