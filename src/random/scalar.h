// scalar.h -- draws of one number, for samplers whose elements take different numbers of draws. Private.
#pragma once
#include <cmath>
#include <cstring>
#include "kernels/api/loop.h"

namespace bora::random {
using Words = std::array<std::uint32_t, 2>;
/// An elementwise operation on one number, with the bits that a loop gives.
template <class T> T element(kernels::OpId op, T x) {
  std::uint64_t in = 0;
  std::memcpy(&in, &x, sizeof x);
  auto d = dtype_of<T>;
  auto out = kernels::evaluate_scalar(op, &d, &in);
  std::memcpy(&x, &out, sizeof x);
  return x;
}
struct Functions {
  kernels::OpId log = kernels::find_op("log"), log1p = kernels::find_op("log1p"), erf_inv = kernels::find_op("erf_inv");
};
inline const Functions& functions() {
  static const Functions f;
  return f;
}
template <class T> T log_of(T x) { return element(functions().log, x); }
template <class T> T log1p_of(T x) { return element(functions().log1p, x); }
/// Element `position` of uniform(k, ..).
template <class T> T unit_scalar(Words k, std::int64_t position = 0) {
  auto w = kernels::threefry(k, static_cast<std::uint64_t>(position));
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(((w[0] ^ w[1]) >> 9) | 0x3F800000u) - 1;
  else
    return std::bit_cast<double>((((static_cast<std::uint64_t>(w[0]) << 32) | w[1]) >> 12) | 0x3FF0000000000000ull) - 1;
}
template <class T> T normal_scalar(Words k) {
  const T lo = std::nextafter(T(-1), T(0)), span = T(1) - lo;
  return element(functions().erf_inv, std::max(lo, std::fma(unit_scalar<T>(k), span, lo))) *
         static_cast<T>(std::sqrt(2.0));
}
/// log(gamma(x)) for x >= 1/2 by Lanczos' approximation (1964), with XLA's steps.
template <class T> T lgamma_scalar(T x) {
  constexpr double c[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                          771.3234287776530788486528258894,   -176.61502916214059906584551354,
                          12.507343278686904814458936853,     -0.13857109526572011689554707,
                          9.984369578019570859563e-6,         1.50563273514931155834e-7};
  T z = x - 1, s = T(0.99999999999980993227684700473478);
  for (int i = 0; i < 8; ++i) s += T(c[i]) / (z + T(i + 1));
  T t = T(7.5) + z, log_t = T(std::log(7.5)) + log1p_of(z * T(1 / 7.5));
  return std::fma(z + T(0.5) - t / log_t, log_t, T(std::log(std::sqrt(2 * 3.141592653589793)))) + log_of(s);
}
}  // namespace bora::random
