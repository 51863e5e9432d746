// special.h -- special functions, with SciPy's and JAX's names. f32 and bf16 are computed in f64, f64 in long double,
// and rounded once (errors: docs/numerics.md). Each has a derivative by every argument that is not a whole number;
// where JAX's functions give NaN only because their approximations end there (i0(inf), expi(0)), these give the limit.
#pragma once
#include "bora/ops/nn.h"

namespace bora::special {
using bora::erf;
using bora::erfc;
using bora::log_softmax;
using bora::softmax;
Array erfinv(const Array& x);  // the x whose erf is given
Array erfcx(const Array& x);   // exp(x^2) erfc(x)
Array expit(const Array& x);   // 1 / (1 + exp(-x))
Array logit(const Array& x);   // log(x / (1 - x))

// ---- powers and entropies -------------------------------------------------------------------------------------------
/// (x^lambda - 1) / lambda, log(x) for lambda = 0; boxcox1p: of 1 + x.
Array boxcox(const Operand& x, const Operand& lambda);
Array boxcox1p(const Operand& x, const Operand& lambda);  // boxcox(1 + x, lambda)
/// x log(y), 0 for x = 0.
Array xlogy(const Operand& x, const Operand& y);
/// x log(1 + y), 0 for x = 0.
Array xlog1py(const Operand& x, const Operand& y);
/// -x log(x); 0 for x = 0, -inf for x < 0.
Array entr(const Array& x);
/// p log(p / q) for positive p and q, 0 for p = 0 and q >= 0, else inf. The slope by p at 0 is -inf, the limit.
Array rel_entr(const Operand& p, const Operand& q);
/// rel_entr(p, q) - p + q.
Array kl_div(const Operand& p, const Operand& q);

// ---- the normal distribution ----------------------------------------------------------------------------------------
Array ndtr(const Array& x);      // the normal distribution function
Array log_ndtr(const Array& x);  // log(ndtr(x)), also far in the tail
Array ndtri(const Array& p);     // the inverse of ndtr

// ---- the gamma function ---------------------------------------------------------------------------------------------
Array gamma(const Array& x);     // the gamma function; NaN at -1, -2, ..
Array gammaln(const Array& x);   // log |gamma(x)|
Array gammasgn(const Array& x);  // the sign of gamma(x); NaN at -1, -2, ..
Array loggamma(const Array& x);  // log(gamma(x)); NaN for x <= 0
Array digamma(const Array& x);   // the derivative of gammaln; NaN at 0, -1, ..
/// The n-th derivative of digamma, for whole n >= 0.
Array polygamma(const Operand& n, const Operand& x);
/// The sum of (q + k)^-s over k = 0, 1, .. (Hurwitz): inf for s = 1, NaN for s < 1.
Array zeta(const Operand& s, const Operand& q);
/// Riemann's zeta function.
Array zeta(const Array& s);
/// n! = gamma(n + 1); 0 for n < 0.
Array factorial(const Array& n);
/// The number of ways to choose k of n: 0 for k < 0 and for k > n.
Array comb(const Operand& n, const Operand& k);
/// gamma(z + m) / gamma(z) (Pochhammer).
Array poch(const Operand& z, const Operand& m);
/// The logarithm of the multivariate gamma function in d dimensions.
Array multigammaln(const Array& a, std::int64_t d);
Array beta(const Operand& a, const Operand& b);    // gamma(a) gamma(b) / gamma(a + b)
Array betaln(const Operand& a, const Operand& b);  // log |beta(a, b)|
/// The regularised lower and upper incomplete gamma functions of a, x >= 0: NaN outside.
Array gammainc(const Operand& a, const Operand& x);
Array gammaincc(const Operand& a, const Operand& x);  // 1 - gammainc(a, x)
/// The regularised incomplete beta function of a, b >= 0 and x in [0, 1]: NaN outside.
Array betainc(const Operand& a, const Operand& b, const Operand& x);

// ---- integrals and Bessel functions ---------------------------------------------------------------------------------
Array exp1(const Array& x);  // expn(1, x)
Array expi(const Array& x);  // the principal value of the integral of exp(t) / t up to x
/// The integral of exp(-x t) / t^n over t from 1, for whole n and x >= 0: NaN outside.
Array expn(const Operand& n, const Operand& x);
/// The integral of log(t) / (1 - t) over t from 1 to x (the dilogarithm of 1 - x); NaN for x < 0.
Array spence(const Array& x);
/// exp(-x^2) times the integral of exp(t^2) from 0 to x (Dawson). Source: Rybicki 1989.
Array dawsn(const Array& x);
// Integrals from 0 to x of sin(pi t^2 / 2) and cos(pi t^2 / 2).
struct Fresnel {
  Array s, c;
};
Fresnel fresnel(const Array& x);
// The integral of sin(t) / t from 0 to x, and Euler's constant plus log(x) plus that of (cos(t) - 1) / t; of a
// negative x the second is that of |x|.
struct SineCosine {
  Array si, ci;
};
SineCosine sici(const Array& x);
// Modified Bessel functions of the first kind of order 0 and 1; i0e and i1e are scaled by exp(-|x|).
Array i0(const Array& x);
Array i0e(const Array& x);
Array i1(const Array& x);
Array i1e(const Array& x);
/// The integral of exp(-h^2 (1 + t^2) / 2) / (1 + t^2) from 0 to a, over 2 pi (Owen 1956).
Array owens_t(const Operand& h, const Operand& a);
/// Bessel functions of the first kind of orders 0 .. v: [v + 1, x's shape..]. Throws ValueError for v < 0.
Array bessel_jn(const Array& x, std::int64_t v);
/// Spherical harmonics of degree n and order m (whole, |m| <= n), complex: theta is the polar angle from 0 to pi, phi
/// the azimuth. 0 for |m| > n; NaN for n < 0.
Array sph_harm_y(const Operand& n, const Operand& m, const Operand& theta, const Operand& phi);
/// The numbers of Bernoulli B_0 .. B_n, f32 [n + 1], with B_1 = -1/2. Throws ValueError for n < 0.
Array bernoulli(std::int64_t n, Dtype dtype = default_float());

// ---- hypergeometric functions ---------------------------------------------------------------------------------------
/// Kummer's function 1F1: the sum of (a)_k x^k / ((b)_k k!), of real numbers. inf for b = 0, -1, .. unless the sum ends
/// before. Derivatives by a, b and x; those by a and b have none by a or b. Source: Abramowitz & Stegun 13.
Array hyp1f1(const Operand& a, const Operand& b, const Operand& x);
/// Gauss' function 2F1: the sum of (a)_k (b)_k x^k / ((c)_k k!) and its continuation to x < -1, of real numbers. inf
/// for x > 1 and for c = 0, -1, .. unless the sum ends before, and at x = 1 for c <= a + b. Derivatives by all four;
/// those by a, b and c have none by a, b or c. Source: Abramowitz & Stegun 15, near 1 the differential equation.
Array hyp2f1(const Operand& a, const Operand& b, const Operand& c, const Operand& x);
/// Faddeeva's function exp(-z^2) erfc(-i z), complex64 or complex128, of complex or real z. Source: Al Azah and
/// Chandler-Wilde 2021.
Array wofz(const Array& z);

// ---- sums of exponentials -------------------------------------------------------------------------------------------
struct LogSumExpOptions {  // of logsumexp and signed_logsumexp
  bool keepdims = false;   // reduced dimensions stay, with size 1
  Array b = {};            // factors of the exponentials, broadcastable to x
};
/// log(sum(b exp(x))) over axes, without overflow; NaN where the sum is negative.
Array logsumexp(const Array& x, const Dimensions& axes = none, const LogSumExpOptions& options = {});
struct SignedLog {  // the logarithm of a sum without its sign, and the sign
  Array log, sign;
};
/// log |sum(b exp(x))| and the sum's sign: 1, 0 or -1.
SignedLog signed_logsumexp(const Array& x, const Dimensions& axes = none, const LogSumExpOptions& options = {});
}  // namespace bora::special
