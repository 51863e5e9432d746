// inexact.h -- in which dtype an operation of fractions computes. Private.
#pragma once
#include <string_view>
#include "bora/array/array.h"

namespace bora::ops {
using A = const Array&;
/// The dtype of an operation between an Array and a weak number.
Dtype weak_dtype(Dtype array, Scalar number);
/// x in a floating or complex dtype: integers and booleans become f32.
inline Array inexact(A x) { return is_inexact(x.dtype()) ? x : x.astype(f32); }
/// The same of real numbers. Throws DtypeError naming `what` for others.
inline Array real_fraction(std::string_view what, const Array& x) {
  check<DtypeError>(!is_complex(x.dtype()) && x.dtype() != Dtype::key, what, ": takes real numbers, got ", x.type());
  return inexact(x);
}
/// The distribution function of the normal distribution, to the last digits on both sides.
Array normal_cdf(A x);
/// The derivative of the sigmoid, to the last digits on both sides.
Array logistic_slope(A x);
/// |x| of complex x, real.
Array magnitude(A x);
/// Computes in f32 (or f64) and rounds once: f gets x as f32 if it is bf16, an integer or a boolean.
template <class F> Array in_f32(A x, F&& f) {
  if (!is_narrow(x.dtype())) return f(inexact(x));
  return f(x.astype(f32)).astype(x.dtype());
}
}  // namespace bora::ops
