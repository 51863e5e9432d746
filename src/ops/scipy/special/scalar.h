// scalar.h -- special functions of numbers: what the primitives of this folder compute for each element. f32 is
// computed with T = double, f64 with T = long double, and rounded once, so that f64 too has nearly all of its digits
// where series cancel and exponents are large. Private.
#pragma once

namespace bora::ops::scalar {
// ---- scalar_gamma.cpp: the gamma function's family ------------------------------------------------------------------
template <class T> T lgamma(T x);  // log |gamma(x)|
template <class T> T tgamma(T x);
template <class T> T digamma(T x);
template <class T> T zeta(T s, T q);  // Hurwitz: the sum of (q + k)^-s
template <class T> T zeta_by_s(T s, T q);
template <class T> T riemann_zeta(T s);
template <class T> T riemann_zeta_by_s(T s);
template <class T> T lbeta(T a, T b);
template <class T> T beta(T a, T b);
template <class T> T poch(T z, T m);
template <class T> T factorial(T n);  // gamma(n + 1) for n >= 0, else 0
template <class T> T comb(T n, T k);  // 0 for k < 0 and for k > n
// ---- scalar_incomplete.cpp: incomplete gamma and beta functions -----------------------------------------------------
template <class T> T gammainc(T a, T x);   // lower, regularised
template <class T> T gammaincc(T a, T x);  // upper, regularised
template <class T> T gammainc_by_a(T a, T x);
template <class T> T gamma_density(T a, T x);  // x^a e^-x / gamma(a)
// The logarithm of gammainc or of gammaincc, its derivative by a, and gammainc's derivative by x over one of both, with
// its own derivative by x for k = 1.
template <class T> T log_gammainc(T a, T x, bool upper);
template <class T> T log_gammainc_by_a(T a, T x, bool upper);
template <class T> T gamma_hazard(int k, T a, T x, bool upper);
template <class T> T betainc(T a, T b, T x);
template <class T> T betaincc(T a, T b, T x);  // 1 - betainc
// As for gammainc.
template <class T> T log_betainc(T a, T b, T x, bool upper);
template <class T> T log_betainc_by(T a, T b, T x, bool upper, bool first);
template <class T> T beta_hazard(T a, T b, T x, bool upper);
template <class T> T betainc_by_a(T a, T b, T x);
template <class T> T betainc_by_b(T a, T b, T x);
template <class T> T beta_density(T a, T b, T x);  // x^a (1 - x)^b / B(a, b)
template <class T> T deviance(T u, T y);           // u - log(y) for y = 1 + u, to the last digits near u = 0
// Shared by both files: log gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2), for z >= 10.
template <class T> T stirling(T z);
template <class T> T log_gamma_ratio(T z, T m);  // log(gamma(z + m) / gamma(z)) for z >= 10, m >= 0
// ---- scalar_integrals.cpp: integrals of exponentials, bells and waves ----------------------------------------------
template <class T> T expi(T x);
template <class T> T expn(T n, T x);
template <class T> T spence(T x);
template <class T> T dawsn(T x);
template <class T> T fresnel_s(T x);
template <class T> T fresnel_c(T x);
template <class T> T sine_integral(T x);
template <class T> T cosine_integral(T x);
// ---- scalar_normal.cpp: the normal distribution and its kin --------------------------------------------------------
template <class T> T erfcx(T x);
template <class T> T ndtri(T p);
template <class T> T erfinv(T x);
template <class T> T owens_t(T h, T a);
// ---- scalar_bessel.cpp: Bessel functions and spherical harmonics ---------------------------------------------------
template <class T> T i0(T x);
template <class T> T i0e(T x);
template <class T> T i1(T x);
template <class T> T i1e(T x);
template <class T> T bessel_j(T n, T x);
template <> double bessel_j(double n, double x);
template <> long double bessel_j(long double n, long double x);
template <class T> T harmonic(T n, T m, T theta);  // the spherical harmonic at phi = 0
// ---- scalar_logarithms.cpp: products with logarithms, entropies, logits --------------------------------------------
template <class T> T xlogy(T x, T y);
template <class T> T xlog1py(T x, T y);
template <class T> T xlogx(T x);
template <class T> T rel_entr(T p, T q);
template <class T> T kl_div(T p, T q);
template <class T> T logit(T x);
template <class T> T boxcox(T x, T lambda);    // (x^lambda - 1) / lambda, log(x) for lambda = 0
template <class T> T boxcox1p(T x, T lambda);  // of 1 + x
// ---- scalar_hypergeometric.cpp -------------------------------------------------------------------------------------
template <class T> T hyp1f1(T a, T b, T x);
template <class T> T hyp1f1_by_a(T a, T b, T x);
template <class T> T hyp1f1_by_b(T a, T b, T x);
template <class T> T hyp2f1(T a, T b, T c, T x);
template <class T> T hyp2f1_by_a(T a, T b, T c, T x);
template <class T> T hyp2f1_by_c(T a, T b, T c, T x);
template <class T> T wofz_real(T x, T y);  // the parts of exp(-z^2) erfc(-i z), z = x + i y
template <class T> T wofz_imag(T x, T y);
template <class T> T wofz_real_slope(int k, T x, T y);  // of the k-th derivative
template <class T> T wofz_imag_slope(int k, T x, T y);
// ---- scalar_slopes.cpp: the k-th derivatives, k >= 1, of functions of one number ------------------------------------
template <class T> T i0e_slope(int k, T x);
template <class T> T i1_slope(int k, T x);
template <class T> T i1e_slope(int k, T x);
template <class T> T dawsn_slope(int k, T x);
template <class T> T erfcx_slope(int k, T x);
template <class T> T spence_slope(int k, T x);
template <class T> T expi_slope(int k, T x);
template <class T> T sine_integral_slope(int k, T x);
template <class T> T logit_slope(int k, T x);
template <class T> T ndtri_slope(T p);               // the first one
template <class T> T fresnel_wave(T x, bool sine);   // the sine or cosine of pi x^2 / 2
template <class T> T log_ndtr(T x);
template <class T> T mills(T x);      // its derivative: the density over the distribution function
template <class T> T mills_gap(T x);  // x + mills(x)
// ---- scalar_densities.cpp: derivatives of order k >= 0 of functions of several numbers ------------------------------
template <class T> T gamma_slope(int k, T a, T x);       // by x, of the density x^(a-1) e^-x / gamma(a)
template <class T> T beta_slope(int k, T a, T b, T x);   // by x, of the density x^(a-1) (1-x)^(b-1) / B(a, b)
template <class T> T log_gamma_density(T a, T x);        // their logarithms
template <class T> T log_beta_density(T a, T b, T x);
template <class T> T psi_difference(int k, T a, T b);    // of digamma at a + b, less that at a
template <class T> T polygamma(T n, T x);
template <class T> T log_poch(T z, T m);
template <class T> T beta_function_slope(int k, T a, T b);  // by the first argument, as the next two
template <class T> T poch_slope(int k, T z, T m);
template <class T> T comb_slope(int k, T n, T choice);
template <class T> T boxcox_slope(T x, T lambda);        // x^(lambda - 1)
template <class T> T boxcox1p_slope(T x, T lambda);
template <class T> T boxcox_by_lambda(int k, T x, T lambda);  // by lambda
template <class T> T boxcox1p_by_lambda(int k, T x, T lambda);
template <class T> T log_ratio(T p, T q);                // log(p / q)
}  // namespace bora::ops::scalar
