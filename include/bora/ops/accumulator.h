// accumulator.h -- the dtypes that many numbers are added up in.
#pragma once
#include "bora/base/dtype.h"

namespace bora {
/// The dtype that functions of real numbers (norms, angles, losses) are computed in: f64 for f64, else f32. Complex
/// numbers do not become real ones: astype() to it throws DtypeError.
constexpr Dtype real_accumulator(Dtype d) { return d == f64 ? f64 : f32; }
/// An Array or a NamedArray in that dtype.
template <class T> T in_accumulator(const T& x) { return x.astype(accumulator(x.dtype())); }
/// In real_accumulator() of its dtype.
template <class T> T in_real_accumulator(const T& x) { return x.astype(real_accumulator(x.dtype())); }
}  // namespace bora
