// bits.h -- whole numbers and the bits of numbers: counts of bits, divisors, neighbours among floating numbers, their
// exponents. None is defined for complex numbers (DtypeError).
#pragma once
#include "bora/ops/elementwise.h"

namespace bora {
// ---- integers -------------------------------------------------------------------------------------------------------
/// The number of bits that are 1, in x's dtype; of booleans 0 and 1.
Array population_count(const Array& x);
/// The number of bits of |x| that are 1, u8 (NumPy).
Array bitwise_count(const Array& x);
/// The number of zeros in front of the first 1, in x's dtype; of 0 the number of all bits.
Array clz(const Array& x);
/// Shifts zeros in from the left, also into signed dtypes; 0 for n outside of [0, number of bits).
Array shift_right_logical(const Array& x, const Array& n);
/// The upper half of the bits of the product a b, in the promoted dtype.
Array mulhi(const Array& a, const Array& b);
/// The largest number that divides both, not negative; 0 of 0 and 0. In the promoted dtype.
Array gcd(const Array& a, const Array& b);
/// The smallest number, not negative, that both divide; 0 if either is 0.
Array lcm(const Array& a, const Array& b);

// ---- floating numbers -----------------------------------------------------------------------------------------------
/// The neighbour of x in the direction of y; y itself where they are equal. No derivative.
Array nextafter(const Array& x, const Array& y);
/// The distance from x to its neighbour further from 0, with x's sign; NaN for infinities.
Array spacing(const Array& x);
/// x = mantissa * 2^exponent with |mantissa| in [1/2, 1), exponent i32; of 0, infinities and NaN x and 0. Derivatives
/// take the exponent as constant.
struct Frexp {
  Array mantissa, exponent;
};
Frexp frexp(const Array& x);
/// x * 2^n, rounded once, also where 2^n is no number of the dtype. n: integers, which have no derivative.
Array ldexp(const Array& x, const Array& n);
/// x rounded to a format with that many bits of exponent (1 .. 11) and mantissa (0 .. 52), halves to even, in its own
/// dtype: what is too large becomes infinite, what is too small 0. So {5, 10} is f16, {8, 7} bf16, {4, 3} one kind of
/// fp8. The derivative is rounded so too.
Array reduce_precision(const Array& x, std::int64_t exponent_bits, std::int64_t mantissa_bits);
/// x rounded to so many decimals (negative: to tens, hundreds, ..), halves to even.
Array around(const Array& x, int decimals = 0);
}  // namespace bora
