// exact.h -- draws whose tails are those of the distribution ({.exact = true}): in f64, of 64 random bits a number.
// Private.
#pragma once
#include "bora/ops/ufuncs.h"
#include "random/draw.h"

namespace bora::random {
/// Uniform numbers u in (0, 1), of which the smaller one of u and 1 - u has all its digits, down to 2^-65.
struct Fine {
  Array low;    // whether u is in the lower half
  Array small;  // min(u, 1 - u), f64
  Fine(const Array& k, const Shape& shape, const DrawOptions& draw);
  Array u() const { return where(low, small, 1 - small); }
  Array rest() const { return where(low, 1 - small, small); }
  Array below(const Array& p) const { return where(low, small < p, small > 1 - p); }
  /// -log u: standard exponential numbers.
  Array exponential() const { return -where(low, log(small), log1p(-small)); }
  /// A distribution that is symmetric about 0: f gives its quantiles up to 1/2.
  template <class F> Array symmetric(const F& f) const {
    auto x = f(small);
    return where(low, x, -x);
  }
};
/// The next number after each element, towards +inf or -inf. NaN and that infinity stay.
Array neighbour(const Array& x, bool up);
/// Standard normal between lower and upper, f64 of one shape with the bits: any bounds, the draw inside or at them.
Array exact_truncated_normal(const Array& bits, const Array& lower, const Array& upper);
}  // namespace bora::random
