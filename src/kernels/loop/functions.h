// functions.h -- elementary functions, written once over lanes; tests/laws/accuracy_test.cpp measures their errors in
// ulp. Sources of coefficients: Cephes (f32 exp, log, sin, cos, tanh), Giles 2010 (erf_inv, as in XLA), Taylor series
// (f64), own weighted least squares at 60 digits (erf; e^2r of tanh), own Chebyshev interpolation at 60 digits (erfc,
// cbrt).
#pragma once
#include <type_traits>
#include "kernels/loop/error_functions.h"
#include "kernels/loop/host_math.h"
#include "kernels/loop/scaled.h"

namespace bora::kernels::BORA_ISA {
namespace {
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
  if (quarter == 0) y = select(x == same<X>(0), x, y);  // -0 too
  return patch(
      large, y, [quarter](typename X::Storage v) { return sin_large(v, quarter); }, x);
}

/// log x = high + low with some 12 more bits than a lane has, which x^y needs: y multiplies the error. x positive and
/// finite. With s = f / (2 + f) and z = s^2, log(1 + f) = 2s + s z (2/3 + z P(z)); the rounding errors of all terms but
/// P are carried along.
template <class X> BORA_INLINE X log_pair(X x, X& low) {
  auto tiny = x < either<X>(0x1p-126f, 0x1p-1022);
  X m, n = split(select(tiny, x * either<X>(0x1p23f, 0x1p52), x), m);
  n = n - select(tiny, either<X>(23.f, 52.), same<X>(0));
  X two = same<X>(2), f = m - same<X>(1), t = f + two, t_low = f - (t - two), inverse = same<X>(1) / t;
  X s = f * inverse, s_low = fnma(s, t_low, fnma(s, t, f)) * inverse;
  X z = s * s, z_low = fma(s, s, -z) + (s + s) * s_low;
  X w = s * z, w_low = fma(s, z, -w) + fma(s, z_low, z * s_low), q;
  if constexpr (is_f32<X>) {
    constexpr double c[] = {2 / 13., 2 / 11., 2 / 9., 2 / 7., 2 / 5.};
    q = z * polynomial(z, c);
  } else {
    constexpr double c[] = {2 / 25., 2 / 23., 2 / 21., 2 / 19., 2 / 17., 2 / 15.,
                            2 / 13., 2 / 11., 2 / 9.,  2 / 7.,  2 / 5.};
    q = z * polynomial(z, c);
  }
  X b = same<X>(2 / 3.) + q, b_low = (q - (b - same<X>(2 / 3.))) + either<X>(-1.98682149e-8f, 3.7007434154171885e-17);
  X tail = w * b, tail_low = fma(w, b, -tail) + fma(w, b_low, w_low * b);
  X a = n * either<X>(0.693359375f, 6.93147180369123816490e-01), s2 = s + s, h = a + s2, k = h + tail;
  X l = (s2 - (h - a)) + (tail - (k - h));
  l = l + fma(n, either<X>(-2.12194440e-4f, 1.90821492927058770002e-10), tail_low + (s_low + s_low));
  X high = k + l;
  low = l - (high - k);
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
  auto grows = (ax > one) == (y > zero);  // for infinite exponents and for bases 0 and inf
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
/// Magnitudes of 32-bit lanes as floats, to nearest, and whole floats below 2^32 as magnitudes. Those of signed lanes
/// end at 2^31, those of bytes at 255.
BORA_INLINE F float_of(U x, S) { return absolute(to_float(as_signed(x))); }
BORA_INLINE F float_of(U x, B) { return to_float(as_signed(x)); }
BORA_INLINE F float_of(U x, U) {
  return fma(to_float(as_signed(x >> 16)), F(65536.f), to_float(as_signed(x & U(0xffffu))));
}
BORA_INLINE U whole_of(F x, S) { return as_unsigned(to_int(x)); }
BORA_INLINE U whole_of(F x, B) { return as_unsigned(to_int(x)); }
BORA_INLINE U whole_of(F x, U) {
  F high = trunc(x * F(0x1p-16f));
  return (as_unsigned(to_int(high)) << 16) + as_unsigned(to_int(fnma(high, F(65536.f), x)));
}
BORA_INLINE U magnitude(S x) { return as_unsigned(absolute(x)); }
BORA_INLINE U magnitude(U x) { return x; }
BORA_INLINE U magnitude(B x) { return word(x); }
template <class X> BORA_INLINE X of_word(U x) {
  if constexpr (std::is_same_v<X, S>) return as_signed(x);
  else if constexpr (std::is_same_v<X, B>) return as_byte(x);
  else return x;
}
/// a / b and what remains of magnitudes of 32-bit lanes, exactly, by floats; of no use where b is 0. An estimate is
/// lowered by more than its error, so nothing is ever negative: the first one leaves less than b (2^12 + 2), the second
/// one less than 2 b.
template <class Kind> BORA_INLINE U quotient(U a, U b, U& rest, Kind kind) {
  F inverse = F(0x1.fffff8p-1f) / float_of(b, kind);
  U q = whole_of(trunc(float_of(a, kind) * inverse), kind), r = a - q * b;
  U more = whole_of(trunc(float_of(r, kind) * inverse), kind);
  q = q + more, r = r - more * b;
  auto once = b <= r;
  rest = select(once, r - b, r);
  return select(once, q + U(1u), q);
}
/// Integers: x / 0 is all ones and the smallest by -1 wraps, as in XLA.
template <class X> BORA_INLINE X divide(X a, X b) {
  using E = typename X::Storage;
  if constexpr (requires { sqrt(a); }) return a / b;
  else if constexpr (sizeof(E) == 4) {
    U rest, q = quotient(magnitude(a), magnitude(b), rest, a);
    if constexpr (static_cast<E>(-1) < E{0}) q = select((a ^ b) < X(E{0}), U(0u) - q, q);
    return of_word<X>(select(b == X(E{0}), U(~0u), q));
  } else
    return each(a, b, [](E x, E y) -> E {
      if (y == 0) return static_cast<E>(-1);
      if constexpr (static_cast<E>(-1) < E{0})
        if (y == -1) return static_cast<E>(0u - static_cast<unsigned long long>(x));
      return static_cast<E>(x / y);
    });
}
/// C's fmod (the sign of x, exact); integers: x % 0 is 0, as in NumPy.
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
  } else if constexpr (sizeof(E) == 4) {
    U rest;
    quotient(magnitude(x), magnitude(y), rest, x);
    if constexpr (static_cast<E>(-1) < E{0}) rest = select(x < X(E{0}), U(0u) - rest, rest);
    return of_word<X>(select(y == X(E{0}), U(0u), rest));
  } else
    return each(x, y, [](E u, E v) -> E {
      if (v == 0) return 0;
      if constexpr (static_cast<E>(-1) < E{0})
        if (v == -1) return 0;
      return static_cast<E>(u % v);
    });
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
/// f8_e4m3fn (base/dtype.h): the bits of the nearest number, and the number of such bits.
BORA_INLINE U to_f8(F x) {
  F size = absolute(x);
  U b = bits(size), normal = (b - U(0x3c000000u) + U(0x7ffffu) + ((b >> 20) & U(1u))) >> 20;
  U small = bits(size + F(0x1p14f)) - bits(F(0x1p14f));
  U r = select(size <= F(464.f), select(size < F(0x1p-6f), small, normal), U(0x7fu));
  return r | ((bits(x) >> 24) & U(0x80u));
}
BORA_INLINE F of_f8(U code) {
  U size = code & U(0x7fu);
  F small = to_float(as_signed(size)) * F(0x1p-9f), normal = real((size << 20) + U(0x3c000000u));
  F x = select(size == U(0x7fu), F(kNan), select(small < F(0x1p-6f), small, normal));
  return real(bits(x) | ((code & U(0x80u)) << 24));
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
