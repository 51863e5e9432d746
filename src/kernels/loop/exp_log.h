// exp_log.h -- exponentials, logarithms, hyperbolic functions and roots on lanes.
#pragma once
#include "kernels/loop/lane_basics.h"

namespace bora::kernels::BORA_ISA {
namespace {
/// 2^n e^r parts: n = round(x / ln 2), r = x - n ln 2 + extra.
template <class X> BORA_INLINE X exp_reduce(X x, X& r) {
  X n = round(x * same<X>(1.44269504088896340736));
  r = fnma(n, either<X>(0x1.62e430p-1f, 6.93147180369123816490e-01), x);
  r = fnma(n, either<X>(-0x1.05c610p-29f, 1.90821492927058770002e-10), r);
  return n;
}
/// 2^Shift e^(x + extra), where extra is less than the last bit of x.
template <int Shift = 0, class X> BORA_INLINE X exp_of_sum(X x, X extra) {
  // Below this the result is 0. Masked scores are full of such numbers, and underflow traps to microcode: they are
  // computed as e^0.
  auto far = x < either<X>(-104.f, -746.);
  x = select(far, same<X>(0), vmin(either<X>(90.f, 711.), x));  // NaN stays: it is the second operand
  X r, n = exp_reduce(x, r);
  r = r + extra;
  if constexpr (Shift != 0) n = n + same<X>(Shift);
  X p;
  if constexpr (is_f32<X>) {
    constexpr double c[] = {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                            4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1};
    p = polynomial(r, c);
  } else {
    constexpr double c[] = {1 / 6227020800., 1 / 479001600., 1 / 39916800., 1 / 3628800., 1 / 362880., 1 / 40320.,
                            1 / 5040.,       1 / 720.,       1 / 120.,      1 / 24.,      1 / 6.,      0.5};
    p = polynomial(r, c);
  }
  return select(far, same<X>(0), scale(same<X>(1) + fma(p, r * r, r), n));
}
/// e^x, gradual underflow included.
template <class X> BORA_INLINE X exp(X x) { return exp_of_sum(x, same<X>(0)); }
template <class X> BORA_INLINE X expm1(X x) {
  x = vmin(either<X>(89.f, 710.), vmax(either<X>(-30.f, -50.), x));
  X r, n = exp_reduce(x, r);
  auto near = absolute(x) < same<X>(0.55);  // 1 + (e^r - 1) would cancel just outside n = 0
  n = select(near, same<X>(0), n);
  r = select(near, x, r);
  X p;
  if constexpr (is_f32<X>) {
    constexpr double c[] = {1 / 362880., 1 / 40320., 1 / 5040., 1 / 720., 1 / 120., 1 / 24., 1 / 6., 0.5};
    p = polynomial(r, c);
  } else {
    constexpr double c[] = {1 / 355687428096000.,
                            1 / 20922789888000.,
                            1 / 1307674368000.,
                            1 / 87178291200.,
                            1 / 6227020800.,
                            1 / 479001600.,
                            1 / 39916800.,
                            1 / 3628800.,
                            1 / 362880.,
                            1 / 40320.,
                            1 / 5040.,
                            1 / 720.,
                            1 / 120.,
                            1 / 24.,
                            1 / 6.,
                            0.5};
    p = polynomial(r, c);
  }
  p = fma(p, r * r, r);
  // Twice 2^(n-1) stays in range for the largest n.
  X half = scale(same<X>(0.5), n);
  X y = fma(p, half, half - same<X>(0.5));
  return select(x == same<X>(0), x, select(near, p, y + y));  // -0 too
}

/// x = 2^n m with m in [sqrt(1/2), sqrt 2); x positive and normal.
BORA_INLINE F split(F x, F& m) {
  U b = bits(x) - U(0x3f3504f3u);
  m = real(bits(x) - (b & U(0xff800000u)));
  return to_float(as_signed(b) >> 23);
}
BORA_INLINE D split(D x, D& m) {
  L b = bits(x) + L(0x3ff0000000000000 - 0x3fe6a09e667f3bcd), e = (b >> 52) - L(1023);
  m = real((b & L(0x000fffffffffffff)) + L(0x3fe6a09e667f3bcd));
  return to_float(e);
}
/// n ln 2 + log(1 + f), with `low` added where it does the most good.
BORA_INLINE F log_sum(F n, F f, F low) {
  constexpr double c[] = {7.0376836292e-2,  -1.1514610310e-1, 1.1676998740e-1,  -1.2420140846e-1, 1.4249322787e-1,
                          -1.6668057665e-1, 2.0000714765e-1,  -2.4999993993e-1, 3.3333331174e-1};
  F z = f * f, p = polynomial(f, c) * (f * z);
  p = fma(n, F(-2.12194440e-4f), p + low);
  p = fnma(F(0.5f), z, p);
  return fma(n, F(0.693359375f), f + p);
}
BORA_INLINE D log_sum(D n, D f, D low) {  // log(1 + f) = 2 atanh(s), s = f / (2 + f)
  constexpr double c[] = {2 / 23., 2 / 21., 2 / 19., 2 / 17., 2 / 15., 2 / 13.,
                          2 / 11., 2 / 9.,  2 / 7.,  2 / 5.,  2 / 3.};
  D s = f / (D(2.) + f), z = s * s, h = D(0.5) * f * f, r = z * polynomial(z, c);
  D tail = fma(s, h + r, fma(n, D(1.90821492927058770002e-10), low));
  return fma(n, D(6.93147180369123816490e-01), f - (h - tail));
}
template <class X> BORA_INLINE X log_domain(X x, X y) {  // x < 0, x = 0, inf, NaN
  y = select(x < same<X>(__builtin_inf()), y, x);
  y = select(x < same<X>(0), same<X>(__builtin_nan("")), y);
  return select(x == same<X>(0), same<X>(-__builtin_inf()), y);
}
/// Natural logarithm, denormals included.
template <class X> BORA_INLINE X log(X x) {
  auto tiny = x < either<X>(0x1p-126f, 0x1p-1022);
  X m, n = split(select(tiny, x * either<X>(0x1p23f, 0x1p52), x), m);
  n = n - select(tiny, either<X>(23.f, 52.), same<X>(0));
  return log_domain(x, log_sum(n, m - same<X>(1), same<X>(0)));
}
template <class X> BORA_INLINE X log1p(X x) {
  X one = same<X>(1), y = one + x, m, n = split(y, m);
  X high = vmax(one, x), rest = vmin(one, x) - (y - high);  // the rounding error of 1 + x
  auto small = n == same<X>(0);
  X f = select(small, x, m - one);
  X low = scale(rest, vmax(-n, same<X>(-64))) * (one - f);  // log(m + rest 2^-n) - log m, 1 / m as 1 - f
  X r = log_sum(n, f, select(small, same<X>(0), low));
  r = select(x < same<X>(__builtin_inf()), r, x);
  r = select(x < same<X>(-1), same<X>(__builtin_nan("")), r);
  r = select(x == same<X>(-1), same<X>(-__builtin_inf()), r);
  return select(x == same<X>(0), x, r);  // -0 too
}
BORA_INLINE F tanh(F x) {
  constexpr double c[] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1};
  // Squares of tiny values would be denormal, and each use of one traps to microcode.
  F a = absolute(x), m = vmax(F(1e-10f), a), z = m * m, near = fma(polynomial(z, c) * z, x, x);
  // 1 - 2 / (e^2a + 1): e^2a = 2^n e^2r needs no second part of ln 2 here, and evaluating its polynomial in pairs
  // shortens the dependency chain.
  F b = vmin(F(10.f), vmax(F(0.5f), a)), n = round(b * F(2.88539008f)), r = fnma(n, F(0x1.62e430p-2f), b), rr = r * r;
  F high = fma(rr, F(0x1.6a2446p-4f), fma(r, F(0x1.1239d6p-2f), F(0x1.5558f2p-1f)));
  F p = fma(rr, high, fma(r, F(0x1.555492p0f), F(0x1.fffffcp0f)));
  F power = real((as_unsigned(to_int(n)) + U(127u)) << 23);
  F far = F(1.f) - F(2.f) / fma(fma(rr, p, fma(r, F(2.f), F(1.f))), power, F(1.f));
  return with_sign(select(a < F(0.625f), near, far), x);  // the sign of -0 too
}
BORA_INLINE D tanh(D x) {
  D a = absolute(x), t = expm1(a + a), d = t + D(2.);
  return with_sign(select(a < D(1.), t / d, D(1.) - D(2.) / d), x);
}
/// 1 / (1 + e^-x), without overflow on either side.
template <class X> BORA_INLINE X logistic(X x) {
  X one = same<X>(1), e = exp(-absolute(x));
  return select(x < same<X>(0), e, one) / (one + e);
}
/// The derivative of logistic; y * (1 - y) is inaccurate where y is nearly 1.
template <class X> BORA_INLINE X logistic_slope(X x) {
  X e = exp(-absolute(x)), d = same<X>(1) + e;
  return e / (d * d);
}
template <class X> BORA_INLINE X sinh(X x) {
  X a = absolute(x), z = x * x, near;
  if constexpr (is_f32<X>) {
    constexpr double c[] = {1 / 39916800., 1 / 362880., 1 / 5040., 1 / 120., 1 / 6.};
    near = fma(polynomial(z, c) * z, x, x);
  } else {
    constexpr double c[] = {1 / 121645100408832000., 1 / 355687428096000., 1 / 1307674368000., 1 / 6227020800.,
                            1 / 39916800.,           1 / 362880.,          1 / 5040.,          1 / 120.,
                            1 / 6.};
    near = fma(polynomial(z, c) * z, x, x);
  }
  X h = exp_of_sum<-1>(a, same<X>(0));  // e^a would overflow too early
  return select(a < same<X>(1), near, with_sign(h - same<X>(0.25) / h, x));
}
template <class X> BORA_INLINE X cosh(X x) {
  X h = exp_of_sum<-1>(absolute(x), same<X>(0));
  return h + same<X>(0.25) / h;
}
template <class X> BORA_INLINE X arctanh(X x) {
  X a = absolute(x);
  return with_sign(same<X>(0.5) * log1p((a + a) / (same<X>(1) - a)), x);
}
/// The inverse cube root of the mantissa by Newton's iteration, without divisions; then one step for the root with an
/// exact residual.
template <class X> BORA_INLINE X cbrt(X x) {
  constexpr double c[] = {0.124740558956, -0.686906071489, 1.5369933614, -1.8451907878, 1.87033464501};
  X a = absolute(x), zero = same<X>(0), third = same<X>(1 / 3.);
  auto tiny = a < either<X>(0x1p-126f, 0x1p-1022);
  X m, n = split(select(tiny, a * either<X>(0x1p24f, 0x1p54), a), m);
  X q = round(n * third), r = n - same<X>(3) * q, y = polynomial(m, c);  // m^(-1/3) to 4.5e-5
  y = y * select(r < zero, same<X>(1.2599210498948731648),
                 select(r > zero, same<X>(0.79370052598409973738), same<X>(1)));
  m = m * select(r < zero, same<X>(0.5), select(r > zero, same<X>(2), same<X>(1)));
#pragma GCC unroll 2
  for (int i = 0; i < (is_f32<X> ? 1 : 2); ++i) y = fma(y * third, fnma(m * y, y * y, same<X>(1)), y);
  X t = m * (y * y), s = t * t, s_low = fma(t, t, -s);
  t = fma(fnma(s_low, t, fnma(s, t, m)), y * y * third, t);
  t = with_sign(scale(t, q - select(tiny, either<X>(8.f, 18.), zero)), x);
  return select((a == zero) | ~is_finite(a), x, t);
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
