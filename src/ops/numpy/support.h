// support.h -- shared by the operations with NumPy's names, which are written with other operations. Private.
#pragma once
#include "ops/primitives/dims.h"
#include "ops/primitives/inexact.h"
#include "bora/ops/transform.h"
#include "bora/ops/arguments.h"

namespace bora::ops {
inline const ReduceOptions kKeep{.keepdims = true};
inline void check_vector(std::string_view what, std::string_view name, const Array& x) {
  check<ShapeError>(x.ndim() == 1, what, ": ", name, " must be a vector, got ", x.type());
}
/// x's numbers, even under a derivative, for results that have none. Throws TraceError where they are not known.
Array known_numbers(const Array& x);
/// The same as a vector. Throws TraceError with the advice.
template <class T> std::vector<T> known(const Array& x, std::string_view what, std::string_view advice) {
  try {
    return known_numbers(x).template to_vector<T>();
  } catch (const TraceError&) {
    fail<TraceError>(what, ": the size of the result depends on values, which are not known inside transforms; ",
                     advice);
  }
}
/// The axes as numbers of [0, ndim), all different.
Dims distinct_axes(std::string_view what, Dims axes, std::int64_t ndim);
void check_lengths(std::string_view what, std::string_view these, const Dims& a, std::string_view those,
                   const Dims& b);
/// x[.., start:limit, ..] along axis.
Array part(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t limit);
}  // namespace bora::ops
