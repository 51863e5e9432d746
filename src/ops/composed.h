// composed.h -- shared by the operations with NumPy's names, which are written with other operations. Private.
#pragma once
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "ops/dims.h"
#include "ops/elementwise_rules.h"

namespace bora::ops {
inline const ReduceOptions kKeep{.keepdims = true};
inline void check_vector(std::string_view what, std::string_view name, const Array& x) {
  check<ShapeError>(x.ndim() == 1, what, ": ", name, " must be a vector, got ", x.type());
}
/// x's numbers, even under a derivative. Throws TraceError with the advice where they are not known.
template <class T> std::vector<T> known(const Array& x, std::string_view what, std::string_view advice) {
  try {
    return (x.get()->primal_value() ? stop_gradient(x) : x).concrete().template to_vector<T>();
  } catch (const TraceError&) {
    fail<TraceError>(what, ": the size of the result depends on values, which are not known inside transforms; ",
                     advice);
  }
}
/// x in the dtype in which it is added up or multiplied: small integers would overflow at once.
inline Array for_sums(const Array& x, std::optional<Dtype> asked = none) {
  auto d = x.dtype();
  if (asked) return x.astype(*asked);
  return x.astype(d == u8 || d == u16 ? u32 : d == boolean || d == i8 || d == i16 ? i32 : d);
}
/// x[.., start:limit, ..] along axis.
inline Array part(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t limit) {
  return slice_in_dim(x, axis, start, limit);
}
}  // namespace bora::ops
