// ragged_all_to_all: slices of equal length through all_to_all, of which each receiver keeps the rows that count.
#include "bora/ops/ragged_exchange.h"
#include "bora/ops/collective_primitives.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexed.h"
#include "ops/composed.h"

namespace bora {
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
