// scalar.h -- special functions of doubles: what the primitives of this folder compute for each element. f32 too is
// computed here, and rounded once. Private.
#pragma once

namespace bora::ops::scalar {
// ---- scalar_gamma.cpp: the gamma function's family ------------------------------------------------------------------
double lgamma(double x);  // log |gamma(x)|
double tgamma(double x);
double digamma(double x);
double zeta(double s, double q);  // Hurwitz: the sum of (q + k)^-s
double zeta_by_s(double s, double q);
double riemann_zeta(double s);  // for s >= 0
double riemann_zeta_by_s(double s);
double lbeta(double a, double b);
double beta(double a, double b);
double poch(double z, double m);
// ---- scalar_incomplete.cpp: incomplete gamma and beta functions -----------------------------------------------------
double gammainc(double a, double x);   // lower, regularised
double gammaincc(double a, double x);  // upper, regularised
double gammainc_by_a(double a, double x);
double gamma_density(double a, double x);  // x^a e^-x / gamma(a)
double betainc(double a, double b, double x);
double betainc_by_a(double a, double b, double x);
double betainc_by_b(double a, double b, double x);
double beta_density(double a, double b, double x);  // x^a (1 - x)^b / B(a, b)
double deviance(double u, double y);                // u - log(y) for y = 1 + u, to the last digits near u = 0
// Shared by both files: log gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2), for z >= 10.
double stirling(double z);
double log_gamma_ratio(double z, double m);  // log(gamma(z + m) / gamma(z)) for z >= 10, m >= 0
// ---- scalar_integrals.cpp: integrals of exponentials, normal distribution, Bessel functions -------------------------
double expi(double x);
double expn(double n, double x);
double spence(double x);
double erfcx(double x);
double ndtri(double p);
double cauchy_cdf(double x);
double i0(double x);
double i0e(double x);
double i1(double x);
double i1e(double x);
double xlogy(double x, double y);
double xlog1py(double x, double y);
double xlogx(double x);
double logit(double x);
double rel_entr(double p, double q);
double kl_div(double p, double q);
}  // namespace bora::ops::scalar
