// lane_basics.h -- common to all functions on lanes: constants, polynomials, signs, minima and maxima.
#pragma once
#include <type_traits>
#ifdef BORA_RECORDED  // the third implementation of the lane contract: loops generated at run time
#include "kernels/loop/recording_lanes.h"
#else
#include "kernels/loop/lanes.h"
#endif

namespace bora::kernels::BORA_ISA {
namespace {
template <class X> struct Ints;  // the integer lanes as wide as X
template <> struct Ints<F> {
  using type = U;
  using Signed = S;
};
template <> struct Ints<D> {
  using type = L;
  using Signed = L;
};
template <class X> inline constexpr bool is_f32 = false;
template <> inline constexpr bool is_f32<F> = true;
inline constexpr float kInf = __builtin_inff();
inline constexpr float kNan = __builtin_nanf("");

/// A constant in the lane type X.
template <class X> BORA_INLINE X same(double c) { return X(static_cast<typename X::Storage>(c)); }
/// Constants that differ between f32 and f64.
template <class X> BORA_INLINE X either(float c32, double c64) {
  if constexpr (is_f32<X>) return X(c32);
  else return X(c64);
}
template <class X> BORA_INLINE X horner(X, X p) { return p; }
template <class X, class... C> BORA_INLINE X horner(X x, X p, double c, C... rest) {
  return horner(x, fma(p, x, same<X>(c)), rest...);
}
template <class X, int N> BORA_INLINE X polynomial(X x, const double (&c)[N]) {
  X p = same<X>(c[0]);
#pragma GCC unroll 32
  for (int i = 1; i < N; ++i) p = fma(p, x, same<X>(c[i]));
  return p;
}
BORA_INLINE F absolute(F x) { return real(bits(x) & U(0x7fffffffu)); }
BORA_INLINE D absolute(D x) { return real(bits(x) & L(0x7fffffffffffffff)); }
BORA_INLINE F with_sign(F magnitude, F sign) {
  return real((bits(magnitude) & U(0x7fffffffu)) | (bits(sign) & U(0x80000000u)));
}
BORA_INLINE D with_sign(D magnitude, D sign) {
  return real((bits(magnitude) & L(0x7fffffffffffffff)) |
              (bits(sign) & L(static_cast<std::int64_t>(0x8000000000000000ull))));
}
BORA_INLINE S absolute(S x) { return select(x < S(0), -x, x); }
BORA_INLINE L absolute(L x) { return select(x < L(0), -x, x); }
BORA_INLINE U absolute(U x) { return x; }
BORA_INLINE B absolute(B x) { return x; }
template <class X> BORA_INLINE X sign(X x) {
  if constexpr (requires { sqrt(x); }) return select((x < X(0)) | (x > X(0)), with_sign(X(1), x), x);
  else return select(x == X(0), x, select(x < X(0), X(static_cast<typename X::Storage>(-1)), X(1)));
}
/// NaN stays.
template <class X> BORA_INLINE X relu(X x) { return select(x <= X(0), X(0), x); }
template <class X> BORA_INLINE auto is_finite(X x) { return absolute(x) < same<X>(__builtin_inf()); }

/// NaN if either is NaN.
template <class X> BORA_INLINE X maximum(X a, X b) {
  if constexpr (requires { sqrt(a); }) return select(a == a, vmax(a, b), a);
  else if constexpr (requires { a.v; }) return select(b < a, a, b);
  else return a | b;
}
template <class X> BORA_INLINE X minimum(X a, X b) {
  if constexpr (requires { sqrt(a); }) return select(a == a, vmin(a, b), a);
  else if constexpr (requires { a.v; }) return select(a < b, a, b);
  else return a & b;
}
template <class X> BORA_INLINE X multiply_add(X a, X b, X c) {
  if constexpr (requires { sqrt(a); }) return fma(a, b, c);
  else return a * b + c;
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
