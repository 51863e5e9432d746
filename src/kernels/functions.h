// functions.h -- elementary functions, written once over lanes; what they must cost in ulp is measured by tests/kernels/loop_math_test.cpp.
// Sources of coefficients: Cephes (f32 exp, log, sin, cos, tanh), Giles 2010 (erf_inv, as XLA has it), Taylor series (f64), own
// weighted least squares at 60 digits (erf; e^2r of tanh).
#pragma once
#include <type_traits>
#include "kernels/host_math.h"
#ifdef BORA_RECORDED  // the third implementation of the lane contract: loops generated at run time
#include "kernels/jit/trace_lanes.h"
#else
#include "kernels/lanes.h"
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

/// 2^n e^r parts: n = round(x / ln 2), r = x - n ln 2 + extra.
template <class X> BORA_INLINE X exp_reduce(X x, X& r) {
  X n = round(x * same<X>(1.44269504088896340736));
  r = fnma(n, either<X>(0x1.62e430p-1f, 6.93147180369123816490e-01), x);
  r = fnma(n, either<X>(-0x1.05c610p-29f, 1.90821492927058770002e-10), r);
  return n;
}
template <class X> BORA_INLINE X exp_of_sum(X x, X extra) {
  // Below this the result is 0. Masked scores are full of such numbers, and underflow traps to microcode: they go through as e^0.
  auto far = x < either<X>(-104.f, -746.);
  x = select(far, same<X>(0), vmin(either<X>(89.f, 710.), x));  // NaN stays: it is the second operand
  X r, n = exp_reduce(x, r);
  r = r + extra;
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
  return select(near, p, y + y);
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
  X high = vmax(one, x), rest = vmin(one, x) - (y - high);  // what the rounding of 1 + x lost
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
  // Squares of what is too small to matter would be denormal, and each use of one traps to microcode.
  F a = absolute(x), m = vmax(F(1e-10f), a), z = m * m, near = fma(polynomial(z, c) * z, x, x);
  // 1 - 2 / (e^2a + 1): e^2a = 2^n e^2r needs no second part of ln 2 here, and its polynomial in pairs is the shorter chain.
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
BORA_INLINE F erf(F x) {
  constexpr double near_c[] = {8.215354492e-5, -0.0008105946418, 0.005197795273, -0.02685810341,
                               0.1128367253,   -0.3761263228,    0.1283791665};
  constexpr double far_c[] = {2.083096406e-5, -0.0004314190152, 0.004156370422,
                              -0.02508090098, 0.1082207951,     0.6334005022,  // -log erfc
                              1.129488567,    -0.0001692363508};
  F a = absolute(x), near = fma(polynomial(x * x, near_c), x, x);
  F far = F(1.f) - exp(-polynomial(vmin(F(4.f), a), far_c));
  return select(a < F(0.925f), near, with_sign(far, x));
}
BORA_INLINE D erf(D x) {  // x + x P(x^2); 1 - exp(-x^2) Q((x - 2) / (x + 2))
  constexpr double near_c[] = {5.9606632263620674707e-11, -1.1374941750447708577e-9,  1.4660324844733266945e-8,
                               -1.6350395603737243994e-7, 1.6461008414962646231e-6,   -0.000014925595767956453138,
                               0.0001205533113276578564,  -0.00085483269814198951723, 0.0052239776248283238762,
                               -0.026866170645077863178,  0.11283791670954884403,     -0.37612638903183748176,
                               0.12837916709551257377};
  constexpr double far_c[] = {3.7290819566435676233e-6,    1.9485739078370869579e-6,   -0.000013996092986491023845,
                              -0.000027699858556835596871, 0.000027530895554982616264, 0.00017437530616981297303,
                              0.000043555514287744983242,  -0.00098197793933248573272, -0.00084714328714413120849,
                              0.0069974617676593569857,    0.0037328924065438874598,   -0.078978581016026967244,
                              0.24165819424243714335,      -0.42718584741395821632,    0.25539567631050577773};
  D a = absolute(x), t = vmin(D(6.), a), near = fma(polynomial(x * x, near_c), x, x);
  D far = D(1.) - exp(-(t * t)) * polynomial((t - D(2.)) / (t + D(2.)), far_c);
  return select(a < D(1.), near, with_sign(far, x));
}
BORA_INLINE F erf_inv(F x) {
  constexpr float a[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                         -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
  constexpr float b[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                         -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
  F w = -log1p(-(x * x));
  auto k = w < F(5.f);
  F u = select(k, w - F(2.5f), sqrt(w) - F(3.f)), p = select(k, F(a[0]), F(b[0]));
#pragma GCC unroll 8
  for (int i = 1; i < 9; ++i) p = fma(p, u, select(k, F(a[i]), F(b[i])));
  return select(absolute(x) == F(1.f), x * F(kInf), p * x);
}
BORA_INLINE D erf_inv(D x) {
  constexpr double a[] = {
      -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,  1.115787767802518096e-17,
      -1.333171662854620906e-16,  2.0972767875968561637e-17,  6.6376381343583238325e-15,  -4.0545662729752068639e-14,
      -8.1519341976054721522e-14, 2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
      -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352,   -0.00074070253416626697512,
      -0.0060336708714301490533,  0.24015818242558961693,     1.6536545626831027356};
  constexpr double b[] = {
      2.2137376921775787049e-09,  9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
      1.5027403968909827627e-06,  -4.013867526981545969e-06, 2.9234449089955446044e-06,  1.2475304481671778723e-05,
      -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05,  -0.0003550375203628474796,
      0.00095328937973738049703,  -0.0016882755560235047313, 0.0024914420961078508066,   -0.0037512085075692412107,
      0.005370914553590063617,    1.0052589676941592334,     3.0838856104922207635};
  constexpr double c[] = {-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
                          -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
                          2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
                          -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
                          7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
                          1.0103004648645343977,      4.8499064014085844221};
  D w = -log1p(-(x * x)), r = sqrt(w);
  D p = select(w < D(6.25), polynomial(w - D(3.125), a),
               select(w < D(16.), polynomial(r - D(3.25), b), polynomial(r - D(5.), c)));
  return select(absolute(x) == D(1.), x * D(__builtin_inf()), p * x);
}

/// sin (quarter 0) and cos (quarter 1): three-part pi/2 for moderate |x|, exact reduction for the few others.
template <class X> BORA_INLINE X sin_quarter(X x, int quarter) {
  X n = round(x * same<X>(0.63661977236758134308));
  X r = fnma(n, either<X>(0x1.921fb6p+0f, 0x1.921fb54442d18p+0), x);
  r = fnma(n, either<X>(-0x1.777a5cp-25f, 0x1.1a62633145c07p-54), r);
  r = fnma(n, either<X>(-0x1.ee59dap-50f, -0x1.f1976b7ed8fbcp-110), r);
  X z = r * r, s, c;
  if constexpr (is_f32<X>) {
    constexpr double sc[] = {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1};
    constexpr double cc[] = {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2};
    s = fma(z * r, polynomial(z, sc), r);
    c = fma(z * z, polynomial(z, cc), fnma(X(0.5f), z, X(1.f)));
  } else {
    constexpr double sc[] = {1 / 355687428096000., -1 / 1307674368000., 1 / 6227020800., -1 / 39916800.,
                             1 / 362880.,          -1 / 5040.,          1 / 120.,        -1 / 6.};
    constexpr double cc[] = {-1 / 6402373705728000., 1 / 20922789888000., -1 / 87178291200., 1 / 479001600.,
                             -1 / 3628800.,          1 / 40320.,          -1 / 720.,         1 / 24.};
    s = fma(z * r, polynomial(z, sc), r);
    X h = X(0.5) * z, one(1.), w = one - h;
    c = w + fma(z * z, polynomial(z, cc), (one - w) - h);
  }
  using I = typename Ints<X>::type;
  using E = typename I::Storage;
  I q = as_unsigned(to_int(n)) + I(static_cast<E>(quarter));
  X y = select((q & I(E{1})) != I(E{0}), c, s);
  y = real(bits(y) ^ ((q & I(E{2})) << (is_f32<X> ? 30 : 62)));
  auto large = (absolute(x) > either<X>(8192.f, 1e6)) & is_finite(x);
  return patch(
      large, y, [quarter](typename X::Storage v) { return sin_large(v, quarter); }, x);
}

/// log x = high + low with some 7 more bits than a lane has; x positive and finite.
template <class X> BORA_INLINE X log_pair(X x, X& low) {
  auto tiny = x < either<X>(0x1p-126f, 0x1p-1022);
  X m, n = split(select(tiny, x * either<X>(0x1p23f, 0x1p52), x), m);
  n = n - select(tiny, either<X>(23.f, 52.), same<X>(0));
  X two = same<X>(2), f = m - same<X>(1), t = f + two, t_low = f - (t - two);
  X s = f / t, s_low = fnma(s, t_low, fnma(s, t, f)) / t, z = s * s, p;
  if constexpr (is_f32<X>) {
    constexpr double c[] = {2 / 13., 2 / 11., 2 / 9., 2 / 7., 2 / 5., 2 / 3.};
    p = polynomial(z, c);
  } else {
    constexpr double c[] = {2 / 25., 2 / 23., 2 / 21., 2 / 19., 2 / 17., 2 / 15.,
                            2 / 13., 2 / 11., 2 / 9.,  2 / 7.,  2 / 5.,  2 / 3.};
    p = polynomial(z, c);
  }
  X a = n * either<X>(0.693359375f, 6.93147180369123816490e-01), b = s + s, h = a + b;
  X l = (b - (h - a)) + fma(n, either<X>(-2.12194440e-4f, 1.90821492927058770002e-10), fma(s * z, p, s_low + s_low));
  X high = h + l;
  low = l - (high - h);
  return high;
}
template <class X> BORA_INLINE X float_power(X x, X y) {
  X one = same<X>(1), zero = same<X>(0), inf = same<X>(__builtin_inf()), ax = absolute(x), l;
  X h = log_pair(ax, l), p = y * h;
  X e = select(absolute(p) < same<X>(2000), fma(y, h, -p) + y * l, zero);
  X r = exp_of_sum(p, e);
  auto whole = round(y) == y;
  X half = y * same<X>(0.5);
  auto odd = whole & (round(half) != half);
  auto grows = (ax > one) == (y > zero);  // of infinite exponents and of 0 and inf as a base
  r = select((ax == zero) | (ax == inf) | (absolute(y) == inf), select(grows, inf, zero), r);
  r = select((ax == one) & (absolute(y) == inf), one, r);
  r = select((x < zero) & ~whole & (ax != inf), same<X>(__builtin_nan("")), r);
  r = select(odd, with_sign(r, x), r);
  r = select((x != x) | (y != y), x + y, r);
  return select((y == zero) | (x == one), one, r);
}
/// x^y by repeated squaring, wrapping. A negative exponent gives the integer part of the true value.
template <class X> BORA_INLINE X whole_power(X x, X y) {
  using E = typename X::Storage;
  if constexpr (!requires { any(x == x); })  // recorded lanes cannot branch
    return each(x, y, [](E a, E b) -> E {
      using Wrapping = std::make_unsigned_t<E>;
      if (b < E{0}) return a == E{1} ? a : a != static_cast<E>(-1) ? E{0} : (b & 1) != 0 ? a : E{1};
      Wrapping r = 1, base = static_cast<Wrapping>(a);
      for (auto k = static_cast<Wrapping>(b); k != 0; k >>= 1, base *= base)
        if ((k & 1) != 0) r *= base;
      return static_cast<E>(r);
    });
  else {
    X r(E{1}), zero(E{0}), base = x, k = select(y < zero, zero, y);
    while (any(k != zero)) {
      r = select((k & X(E{1})) != zero, r * base, r);
      base = base * base;
      k = shr(k, X(E{1}));
    }
    X minus(static_cast<E>(-1)), sign = select((y & X(E{1})) != zero, minus, X(E{1}));
    return select(y < zero, select(x == X(E{1}), x, select(x == minus, sign, zero)), r);
  }
}
template <class X> BORA_INLINE X power(X x, X y) {
  if constexpr (requires { sqrt(x); }) return float_power(x, y);
  else return whole_power(x, y);
}
/// Integers: x / 0 is all ones and the smallest by -1 wraps, as XLA.
template <class X> BORA_INLINE X divide(X a, X b) {
  if constexpr (requires { sqrt(a); }) return a / b;
  else {
    using E = typename X::Storage;
    return each(a, b, [](E x, E y) -> E {
      if (y == 0) return static_cast<E>(-1);
      if constexpr (static_cast<E>(-1) < E{0})
        if (y == -1) return static_cast<E>(0u - static_cast<unsigned long long>(x));
      return static_cast<E>(x / y);
    });
  }
}
/// C's fmod (the sign of x, exact); integers: x % 0 is 0, as NumPy.
template <class X> BORA_INLINE X remainder(X x, X y) {
  using E = typename X::Storage;
  if constexpr (requires { sqrt(x); }) {
    // One quotient digit is exact after one correction; larger quotients are rare and go to the host.
    X a = absolute(x), b = absolute(y), q = trunc(a / b), r = fnma(q, b, a);
    r = select(r < same<X>(0), r + b, r);
    r = select(r >= b, r - b, r);
    r = select(a < b, a, r);
    auto hard = is_finite(x) & is_finite(y) & (y != same<X>(0)) & ~(q < either<X>(0x1p22f, 0x1p51));
    r = patch(
        hard, r, [](E u, E v) { return fmod_exact(u, v); }, a, b);
    return select(is_finite(x) & (y != same<X>(0)) & (y == y), with_sign(r, x), same<X>(__builtin_nan("")));
  } else {
    return each(x, y, [](E u, E v) -> E {
      if (v == 0) return 0;
      if constexpr (static_cast<E>(-1) < E{0})
        if (v == -1) return 0;
      return static_cast<E>(u % v);
    });
  }
}
/// Threefry-2x32-20 (Salmon et al. 2011): counter (x0, x1) in, the two output words back in their place.
BORA_INLINE void threefry(U k0, U k1, U& x0, U& x1) {
  U ks[3] = {k0, k1, k0 ^ k1 ^ U(0x1BD11BDAu)};
  constexpr int R[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x0 = x0 + ks[0];
  x1 = x1 + ks[1];
#pragma GCC unroll 5
  for (int g = 0; g < 5; ++g) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      x0 = x0 + x1;
      x1 = rotl(x1, R[g & 1][i]) ^ x0;
    }
    x0 = x0 + ks[(g + 1) % 3];
    x1 = x1 + (ks[(g + 2) % 3] + U(static_cast<std::uint32_t>(g + 1)));
  }
}
/// Nearest bf16 (ties to even; NaN stays NaN), as the f32 of the same value.
BORA_INLINE F round_to_bf16(F x) {
  U b = bits(x), r = b + U(0x7fffu) + ((b >> 16) & U(1u));
  return real(select(x == x, r, b | U(0x400000u)) & U(0xffff0000u));
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
