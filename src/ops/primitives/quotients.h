// quotients.h -- quotients and lengths that stay within the range, of which derivatives are made. Operands of one
// floating type (mul_div: also complex). Private.
#pragma once
#include "ops/primitives/inexact.h"

namespace bora::ops {
/// a b / c, where a b and a / c may leave the range. Where a is 0, b does not count.
Array mul_div(A a, A b, A c);
/// sqrt(a^2 + b^2).
Array length_of(A a, A b);
Array length_of(A a, double b);
/// a / sqrt(a^2 + b^2), 0 at (0, 0).
Array unit_part(A a, A b);
Array unit_part(double a, A b);
/// a / (a^2 + b^2).
Array inverse_part(A a, A b);
Array inverse_part(double a, A b);
/// 1 - x^2, rounded once. Of the NaNs -x and x a kernel may take either: x is given.
Array one_minus_square(A x);
}  // namespace bora::ops
