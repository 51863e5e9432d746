// scaled.h -- quotients and lengths, none of whose steps overflows or vanishes where the result does not.
#pragma once
#include "kernels/loop/lane_basics.h"

namespace bora::kernels::BORA_ISA {
namespace {
/// a b / c, rounded twice. Of three factors a, b and 1 / c two that lie on different sides of 1 are multiplied first:
/// what comes between is no further from 1 than one of them. Where a is 0, b does not count: it may be a quotient that
/// overflowed, which a cotangent of 0 leaves out.
template <class X> BORA_INLINE X mul_div(X a, X b, X c) {
  X one = same<X>(1);
  auto apart = (absolute(a) < one) ^ (absolute(b) < one);
  b = select(a == same<X>(0), a, b);
  return a * select(apart, b, one) / c * select(apart, one, b);
}

/// The magnitudes of two numbers and a power of 2, by which their squares stay within the range.
template <class X> struct TwoSizes {
  X large, small, up, down, raise;  // raise: up where it enlarges, else 1
  TwoSizes(X a, X b) : large(maximum(absolute(a), absolute(b))), small(minimum(absolute(a), absolute(b))) {
    X one = same<X>(1);
    auto huge = large > either<X>(0x1p62f, 0x1p510), tiny = large < either<X>(0x1p-50f, 0x1p-450);
    raise = select(tiny, either<X>(0x1p87f, 0x1p600), one);
    up = select(huge, either<X>(0x1p-66f, 0x1p-514), raise);
    down = select(huge, either<X>(0x1p66f, 0x1p514), select(tiny, either<X>(0x1p-87f, 0x1p-600), one));
  }
  /// The sum of the scaled squares: as (p - q)^2 + 2 p q where 2 q is no less than p, since of two squares like these
  /// both would be rounded.
  X squares() const {
    X p = large * up, q = small * up, twice = q + q, rest = p - q;
    return select(twice >= p, fma(twice, p, rest * rest), fma(p, p, q * q));
  }
};
/// sqrt(a^2 + b^2); infinite where either is.
template <class X> BORA_INLINE X hypot(X a, X b) {
  X inf = same<X>(__builtin_inf());
  TwoSizes<X> s(a, b);
  return select((absolute(a) == inf) | (absolute(b) == inf), inf, sqrt(s.squares()) * s.down);
}
/// a / sqrt(a^2 + b^2), 0 of two zeros. Of infinite numbers the limit: they are as 1 where finite ones are as 0.
template <class X> BORA_INLINE X unit_part(X a, X b) {
  X one = same<X>(1), zero = same<X>(0), inf = same<X>(__builtin_inf());
  auto infinite = (absolute(a) == inf) | (absolute(b) == inf);
  auto limit = [&](X x) {
    X size = absolute(x);
    return select(infinite & (size <= inf), with_sign(select(size == inf, one, zero), x), x);
  };
  X p = limit(a), q = limit(b);
  TwoSizes<X> s(p, q);
  return select(s.large == zero, a, (p * s.up) / sqrt(s.squares()));
}
/// a / (a^2 + b^2), the real part of 1 / (a + i b). Of infinite numbers 0.
template <class X> BORA_INLINE X inverse_part(X a, X b) {
  TwoSizes<X> s(a, b);
  X lower = select(s.raise == same<X>(1), s.up, same<X>(1));  // a is raised twice before, or lowered once behind
  X r = (a * s.up * s.raise) / s.squares() * lower;
  return select(s.large == same<X>(__builtin_inf()), with_sign(same<X>(0), a), r);
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
