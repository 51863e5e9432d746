// The special functions, the domains over which they are measured, and their bounds.
#include "bora/ops/complex.h"
#include "laws/ulp_table.h"

namespace bora::laws::ulp_table_test {
using namespace special;
#define BORA_ULP(...) [](const Arrays& x) { return __VA_ARGS__; }
const std::vector<Ulp>& ulp_table() {
  static const std::vector<Ulp> r{
      {"erfcx", "-9 .. 1e10", BORA_ULP(erfcx(x[0])), {0.51, 0.75}, {0.51, 0.55}},
      {"erfinv", "-1 .. 1", BORA_ULP(erfinv(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"expit", "-80 .. 40", BORA_ULP(expit(x[0])), {1.75, 1.75}, {1.5, 1.75}},
      {"logit", "0 .. 1", BORA_ULP(logit(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"xlogy", "x, y: 0 .. 1e30", BORA_ULP(xlogy(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"xlog1py", "x, y: 0 .. 1e30", BORA_ULP(xlog1py(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"entr", "0 .. 1e30", BORA_ULP(entr(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"rel_entr", "p, q: 1e-3 .. 1e3", BORA_ULP(rel_entr(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"kl_div", "p, q: 1e-3 .. 1e3", BORA_ULP(kl_div(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"ndtr", "-12 .. 9", BORA_ULP(ndtr(x[0])), {3.25, 3}, {3, 3}},
      {"log_ndtr", "-1e6 .. 6", BORA_ULP(log_ndtr(x[0])), {2.5, 3.5}, {2.5, 3.25}},
      {"ndtri", "1e-37 .. 1", BORA_ULP(ndtri(x[0])), {0.51, 1.5}, {0.51, 1.5}},
      {"gamma", "-30 .. 34", BORA_ULP(special::gamma(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"gammaln", "-40 .. 1e30", BORA_ULP(gammaln(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"loggamma", "0 .. 1e30", BORA_ULP(special::loggamma(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"digamma", "-20 .. 1e30", BORA_ULP(digamma(x[0])), {0.51, 0.75}, {0.51, 0.75}},
      {"polygamma", "n: 0 .. 8, x: 0.01 .. 1e4", BORA_ULP(polygamma(x[0], x[1])), {1.5, 1.5}, {1.25, 1.25}},
      {"hurwitz_zeta", "s: 1.01 .. 30, q: 0.01 .. 100", BORA_ULP(zeta(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"riemann_zeta", "-30 .. 60", BORA_ULP(zeta(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"factorial", "0 .. 33", BORA_ULP(factorial(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"comb", "n: 5 .. 40, k: 0 .. 5", BORA_ULP(comb(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"poch", "z: 0.01 .. 30, m: 0.01 .. 15", BORA_ULP(poch(x[0], x[1])), {0.51, 0.55}, {0.51, 0.51}},
      {"multigammaln", "a: 1.01 .. 1e6, d = 3", BORA_ULP(multigammaln(x[0], 3)), {2, 2.25}, {2, 2}},
      {"beta", "a, b: 0.01 .. 30", BORA_ULP(special::beta(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"betaln", "a, b: 0.01 .. 1e6", BORA_ULP(betaln(x[0], x[1])), {0.51, 0.75}, {0.51, 0.51}},
      {"gammainc", "a: 0.01 .. 1e3, x about a", BORA_ULP(gammainc(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"gammaincc", "a: 0.01 .. 1e3, x about a", BORA_ULP(gammaincc(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"betainc", "a, b: 0.1 .. 300, x about a / (a + b)", 
       BORA_ULP(betainc(x[0], x[1], x[2])), {0.51, 0.55}, {0.51, 0.55}},
      {"exp1", "1e-10 .. 80", BORA_ULP(exp1(x[0])), {0.51, 0.55}, {0.51, 0.51}},
      {"expi", "-80 .. 80", BORA_ULP(expi(x[0])), {0.51, 0.75}, {0.51, 0.75}},
      {"expn", "n: 0 .. 20, x: 1e-3 .. 80", BORA_ULP(expn(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"spence", "0 .. 1e10", BORA_ULP(spence(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"i0", "-80 .. 80", BORA_ULP(special::i0(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"i0e", "-80 .. 80", BORA_ULP(i0e(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"i1", "-80 .. 80", BORA_ULP(i1(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"i1e", "-80 .. 80", BORA_ULP(i1e(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"dawsn", "-12 .. 1e6", BORA_ULP(dawsn(x[0])), {0.51, 0.6}, {0.51, 0.6}},
      {"fresnel_s", "-8 .. 30", BORA_ULP(fresnel(x[0]).s), {0.51, 0.51}, {0.51, 0.51}},
      {"fresnel_c", "-8 .. 30", BORA_ULP(fresnel(x[0]).c), {0.51, 0.51}, {0.51, 0.51}},
      {"sici_si", "-30 .. 100", BORA_ULP(sici(x[0]).si), {0.51, 0.51}, {0.51, 0.51}},
      {"sici_ci", "0 .. 100", BORA_ULP(sici(x[0]).ci), {0.51, 0.75}, {0.51, 0.6}},
      {"owens_t", "h, a: -6 .. 6", BORA_ULP(owens_t(x[0], x[1])), {0.51, 0.55}, {0.51, 0.55}},
      {"boxcox", "x: 1e-3 .. 1e3, lambda: -4 .. 4", BORA_ULP(boxcox(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"boxcox1p", "x: 1e-6 .. 1e3, lambda: -4 .. 4", BORA_ULP(boxcox1p(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"bessel_jn", "v = 5, x: -10 .. 30", 
       BORA_ULP(index_in_dim(bessel_jn(x[0], 5), 0, 5)), {0.51, 0.75}, {0.51, 0.51}},
      {"sph_harm_y", "n <= 12, theta: 0 .. pi, phi = 0", 
       BORA_ULP(real(sph_harm_y(x[0], x[1], x[2], 0))), {0.51, 0.55}, {0.51, 0.51}},
      {"logsumexp", "of two of 1 .. 20", BORA_ULP(special::logsumexp(stack({x[0], x[1]}), 0)), {0.75, 1}, {0.75, 0.75}},
      {"hyp1f1", "a, b: 0.05 .. 10, x: -60 .. 60", BORA_ULP(hyp1f1(x[0], x[1], x[2])), {0.51, 1.5}, {0.51, 0.55}},
      {"hyp2f1", "a, b: 0.05 .. 5, c: 0.05 .. 10, x: -1e4 .. 1", 
       BORA_ULP(hyp2f1(x[0], x[1], x[2], x[3])), {0.51, 0.75}, {0.51, 0.55}},
      {"wofz_real", "x: -1e6 .. 1e6, y: -3 .. 1e6", 
       BORA_ULP(real(wofz(complex(x[0], x[1])))), {0.51, 0.51}, {0.51, 0.51}},
      {"wofz_imag", "x: -1e6 .. 1e6, y: -3 .. 1e6", 
       BORA_ULP(imag(wofz(complex(x[0], x[1])))), {0.51, 0.51}, {0.51, 0.51}},
  };
  return r;
}
#undef BORA_ULP
}  // namespace bora::laws::ulp_table_test
