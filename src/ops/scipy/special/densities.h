// densities.h -- densities that distributions share with the derivatives of special functions: their numbers stay right
// where powers and exponentials of them would leave the range. Private.
#pragma once
#include "bora/ops/ufuncs.h"

namespace bora::ops {
/// x^(a - 1) e^-x / gamma(a), at x = 0 the limit; NaN for negative a or x.
Array gamma_density(A a, A x);
/// x^(a - 1) (1 - x)^(b - 1) / B(a, b), at 0 and 1 the limits; NaN outside, and for negative a or b.
Array beta_density(A a, A b, A x);
/// Their logarithms, also where they underflow: at the ends of the support the limits.
Array log_gamma_density(A a, A x);
Array log_beta_density(A a, A b, A x);
/// log(gammainc(a, x)) and log(gammaincc(a, x)), also where these underflow or are nearly 1.
Array log_gammainc(A a, A x);
Array log_gammaincc(A a, A x);
/// 1 - betainc(a, b, x), and the logarithms of both.
Array betaincc(A a, A b, A x);
Array log_betainc(A a, A b, A x);
Array log_betaincc(A a, A b, A x);
/// log(gamma(z + m) / gamma(z)) for positive z and z + m.
Array log_poch(A z, A m);
/// digamma(x), and digamma(a + b) - digamma(a).
Array psi(A x);
Array psi_difference(A a, A b);
}  // namespace bora::ops
