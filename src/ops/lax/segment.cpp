// Reductions by segment: a scatter into segments that begin with the reduction's neutral element.
#include "bora/ops/reductions.h"
#include <limits>
#include "bora/ops/creation.h"
#include "ops/numpy/support.h"
#include "ops/api/extreme.h"
#include "kernels/api/index.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/indexing.h"

namespace bora {
using namespace ops;
namespace {
using Scattering = Array (*)(const Array&, const Array&, const Array&, std::int64_t);
Array reduced(std::string_view what, const Array& data, const Array& ids, std::optional<std::int64_t> num_segments,
              Scattering scatter, const Array& empty) {
  check<DtypeError>(is_integer(ids.dtype()), what, ": segment_ids must be integers, got ", ids.type());
  check<ShapeError>(ids.ndim() == 1 && data.ndim() >= 1 && data.shape(0) == ids.size(), what, ": segment_ids ",
                    ids.type(), " must have one number for each row of data ", data.type());
  auto largest = [&] {
    std::int64_t n = -1;
    for (auto id : known<std::int64_t>(ids, what, "give num_segments")) n = std::max(n, id);
    return n;
  };
  auto n = num_segments ? *num_segments : largest() + 1;
  check<ValueError>(n >= 0, what, ": num_segments must not be negative, got ", n);
  const bool wide = dtype_size(ids.dtype()) == 8 || ids.dtype() == u32 || n > std::numeric_limits<std::int32_t>::max();
  auto exact = ids.astype(wide ? i64 : i32);  // no number wraps into a segment
  auto place = where(exact >= 0 && exact < n, exact, n).astype(i32);
  auto shape = data.shape();
  shape[0] = n;
  return scatter(broadcast_to(empty, shape), place, data, 0);
}
void check_ordered(std::string_view what, const Array& data) {
  check<DtypeError>(is_integer(data.dtype()) || is_float(data.dtype()), what, ": takes real numbers, got ",
                    data.type());
}
}  // namespace

Array segment_sum(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments) {
  check<DtypeError>(is_numeric(data.dtype()), "segment_sum: takes numbers, got ", data.type());
  return reduced("segment_sum", data, segment_ids, num_segments, scatter_add, constant(0, data.dtype()));
}
Array segment_prod(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments) {
  check<DtypeError>(is_numeric(data.dtype()), "segment_prod: takes numbers, got ", data.type());
  return reduced("segment_prod", data, segment_ids, num_segments, scatter_multiply, constant(1, data.dtype()));
}
Array segment_max(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments) {
  check_ordered("segment_max", data);
  return reduced("segment_max", data, segment_ids, num_segments, scatter_max, extreme(data.dtype(), true));
}
Array segment_min(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments) {
  check_ordered("segment_min", data);
  return reduced("segment_min", data, segment_ids, num_segments, scatter_min, extreme(data.dtype(), false));
}
}  // namespace bora
