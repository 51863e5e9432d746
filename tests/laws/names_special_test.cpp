// Cases of special.h.
#include "bora/ops/complex.h"
#include "bora/ops/reductions.h"
#include "bora/ops/special.h"
#include "laws/names_table.h"
#include "support/throws.h"

namespace bora::laws::names_special_test {
using namespace special;
namespace {
using One = Array (*)(const Array&);
using Two = Array (*)(const Operand&, const Operand&);
Arrays both(const SignedLog& r) { return {r.log, r.sign}; }
Arrays parts(const Array& z) { return {real(z), imag(z)}; }
void add_hypergeometric(NamedCases& cases) {
  BORA_CASE(smooth, "special::hyp1f1", special::hyp1f1(a, b, c));
  for (auto rest : {"wide", "signs", "large", "polynomial", "edges"})
    BORA_CASE(steps, std::string("special::hyp1f1/") + rest, special::hyp1f1(a, b, c));
  BORA_CASE(smooth, "special::hyp2f1", special::hyp2f1(a, b, c, in[3]));
  for (auto rest : {"wide", "near_one", "whole", "left", "signs", "polynomial", "edges"})
    BORA_CASE(steps, std::string("special::hyp2f1/") + rest, special::hyp2f1(a, b, c, in[3]));
  BORA_CASE(smooth, "special::wofz", parts(special::wofz(complex(a, b))));
  BORA_CASE(steps, "special::wofz/wide", parts(special::wofz(complex(a, b))));
  BORA_CASE(steps, "special::wofz/real", parts(special::wofz(a + b)));
  BORA_CASE(steps, "special::wofz/imaginary", parts(special::wofz(complex(a, b))));
  BORA_CASE(steps, "special::polygamma/beside_poles", special::polygamma(a, b));
}
}  // namespace
void add_special(NamedCases& cases) {
  const std::initializer_list<std::pair<std::string, One>> ones_of{{"gamma", special::gamma},
                                                                   {"gammaln", gammaln},
                                                                   {"loggamma", special::loggamma},
                                                                   {"digamma", digamma},
                                                                   {"factorial", factorial},
                                                                   {"zeta", zeta},
                                                                   {"erfcx", erfcx},
                                                                   {"erfinv", erfinv},
                                                                   {"ndtr", ndtr},
                                                                   {"log_ndtr", log_ndtr},
                                                                   {"ndtri", ndtri},
                                                                   {"expit", expit},
                                                                   {"logit", logit},
                                                                   {"entr", entr},
                                                                   {"expi", expi},
                                                                   {"exp1", exp1},
                                                                   {"spence", spence},
                                                                   {"i0", special::i0},
                                                                   {"i0e", i0e},
                                                                   {"i1", i1},
                                                                   {"i1e", i1e}};
  for (auto [name, f] : ones_of) {
    auto g = f;
    auto full = "special::" + name;
    BORA_CASE(smooth, full, g(a));
    BORA_CASE(steps, full + "/wide", g(a));
    if (name != "erfinv" && name != "expit") BORA_CASE(steps, full + "/edges", g(a));
  }
  BORA_CASE(steps, "special::gammasgn/edges", gammasgn(a));
  const std::initializer_list<std::tuple<std::string, Two, std::vector<std::string>>> twos{
      {"gammainc", gammainc, {"wide", "small", "edges"}},
      {"gammaincc", gammaincc, {"wide", "small", "edges"}},
      {"betaln", betaln, {"wide", "edges"}},
      {"beta", special::beta, {"wide", "edges"}},
      {"poch", poch, {"wide", "large", "edges"}},
      {"comb", comb, {"whole", "edges"}},
      {"xlogy", xlogy, {"edges"}},
      {"xlog1py", xlog1py, {"edges"}},
      {"rel_entr", rel_entr, {"edges"}},
      {"kl_div", kl_div, {"edges"}}};
  for (auto& [name, f, rest] : twos) {
    auto g = f;
    BORA_CASE(smooth, "special::" + name, g(a, b));
    for (auto& r : rest) BORA_CASE(steps, "special::" + name + "/" + r, g(a, b));
  }
  for (auto rest : {"hurwitz", "left", "poles"}) BORA_CASE(steps, std::string("special::zeta/") + rest, zeta(a, b));
  BORA_CASE(smooth, "special::zeta/smooth", zeta(a, b));
  BORA_CASE(smooth, "special::betainc", betainc(a, b, c));
  BORA_CASE(steps, "special::betainc/wide", betainc(a, b, c));
  BORA_CASE(steps, "special::betainc/edges", betainc(a, b, c));
  // A whole number has no derivative, and differences of it are NaN: only x is an input that floats.
  for (auto rest : {"", "/wide", "/edges"}) {
    BORA_CASE(steps, std::string("special::polygamma") + rest, polygamma(a, b));
    BORA_CASE(steps, std::string("special::expn") + rest, expn(a, b));
  }
  BORA_CASE(smooth, "special::multigammaln", multigammaln(a, 3));
  for (std::int64_t n : {0, 2, 11}) BORA_CASE(steps, "special::bernoulli/" + std::to_string(n), bernoulli(n, f64));
  BORA_CASE(smooth, "special::logsumexp", special::logsumexp(a, 1));
  BORA_CASE(smooth, "special::logsumexp/keep", special::logsumexp(a, none, {.keepdims = true}));
  BORA_CASE(smooth, "special::logsumexp/factors", special::logsumexp(a, 1, {.b = b}));
  BORA_CASE(steps, "special::logsumexp/negative", special::logsumexp(a, 0, {.b = b}));
  BORA_CASE(steps, "special::logsumexp/edges", special::logsumexp(a, 1));
  BORA_CASE(steps, "special::logsumexp/none", special::logsumexp(a, none, {.b = b}));
  BORA_CASE(smooth, "special::signed_logsumexp", both(signed_logsumexp(a, 1, {.b = b})));
  BORA_CASE(steps, "special::signed_logsumexp/zero", both(signed_logsumexp(a, none, {.b = b})));
  add_hypergeometric(cases);
}
namespace {
double at(const Array& y) { return y.astype(f64).item<double>(); }
using bora::test::says;
TEST(Special, DerivativesAtTheEndsAreLimits) {
  auto slope = [](auto&& f, double x) { return at(grad(f)(array(x, f64))); };
  EXPECT_EQ(slope([](const Array& x) { return xlogy(x, 2.0); }, 0), std::log(2.0));
  EXPECT_EQ(slope([](const Array& y) { return xlogy(0, y); }, 3), 0);
  EXPECT_EQ(slope(special::i0, 0), 0);
  EXPECT_EQ(slope(i1, 0), 0.5);
  EXPECT_EQ(slope(i1e, 0), 0.5);
  EXPECT_EQ(slope(spence, 1), -1);
  EXPECT_EQ(slope(logit, 0), HUGE_VAL);
  EXPECT_EQ(slope(entr, 0), HUGE_VAL);
  EXPECT_EQ(slope([](const Array& x) { return gammainc(1, x); }, 0), 1);
  EXPECT_EQ(slope([](const Array& x) { return gammainc(2, x); }, 0), 0);
  EXPECT_EQ(slope([](const Array& x) { return betainc(1, 3, x); }, 0), 3);
  EXPECT_EQ(slope([](const Array& x) { return betainc(2, 1, x); }, 1), 2);
  EXPECT_NEAR(slope(log_ndtr, -1e4), 1e4 + 1e-4, 1e-9);
  EXPECT_NEAR(slope([](const Array& s) { return zeta(s); }, -2), -0.030448457058393270780, 1e-15);
}
TEST(Special, WholeNumbersPassAndOthersAreNamed) {
  auto x = array(1.5, f64);
  for (int n : {1, 2, 5}) {
    auto d = at(grad([&](const Array& v) { return polygamma(n, v); })(x));
    EXPECT_NEAR(d, at(polygamma(n + 1, x)), 1e-13 * std::abs(d));
    EXPECT_NEAR(at(grad([&](const Array& v) { return expn(n, v); })(x)), -at(expn(n - 1, x)), 1e-16);
  }
  EXPECT_EQ(polygamma(array(2), array(1.5f)).dtype(), f32);
  EXPECT_EQ(special::beta(2, 3).dtype(), f32);
  EXPECT_EQ(xlogy(x.astype(bf16), 2).dtype(), bf16);
  says([] { return bernoulli(-1); }, "bernoulli: n = -1 must not be negative");
  says([&] { return multigammaln(x, 0); }, "multigammaln: d = 0 must be positive");
  says([] { return special::logsumexp(ones({2}), none, {.b = ones({3, 2})}); },
       "logsumexp: factors of shape [3, 2] do not broadcast to x of shape [2]");
}
/// Derivatives by parameters are series; second ones by the same parameter say that they are none.
TEST(Special, SecondDerivatives) {
  auto x = array(1.25, f64);
  auto f = [](const Array& v) { return gammainc(1.5, v) + betainc(1.5, 2.5, v / 2); };
  auto second = at(grad([&](const Array& v) { return grad(f)(v); })(x));
  double h = 1e-5;
  EXPECT_NEAR(second, (at(grad(f)(x + h)) - at(grad(f)(x - h))) / (2 * h), 1e-8);
  auto by_a = [](const Array& a) { return gammainc(a, 1.25); };
  says([&] { return grad([&](const Array& a) { return grad(by_a)(a); })(x); },
       "gammainc: its derivative by a cannot be differentiated by a again");
}
/// Parameters so large that Temme's expansion takes over: against the series below the change, and the normal limit.
TEST(Special, LargeParameters) {
  for (double t : {-3.0, -0.5, 0.0, 0.7, 4.0}) {
    auto value = [&](double a) { return at(gammainc(array(a, f64), array(a + t * std::sqrt(a), f64))); };
    double below = value(0.9999e8), above = value(1.0001e8);
    EXPECT_NEAR(below, above, 1e-8);
    EXPECT_NEAR(value(1e14), at(ndtr(array(t, f64))), 1e-7);
    auto slope = [&](double a) {
      return at(grad([&](const Array& v) { return gammainc(v, a + t * std::sqrt(a)); })(array(a, f64)));
    };
    EXPECT_NEAR(slope(0.9999e8), slope(1.0001e8), 2e-4 * std::abs(slope(1e8)) + 1e-12);
  }
}
/// hyp1f1 and hyp2f1 have second derivatives by x; those by parameters twice say that they are none.
TEST(Special, SecondDerivativesOfHypergeometric) {
  auto f = [](const Array& a, const Array& x) {
    return special::hyp1f1(a, 1.75, x) + special::hyp2f1(a, 0.5, 1.25, x / 4) + special::hyp2f1(0.5, 1.5, a, -x);
  };
  const double h = 1e-5;
  auto p = array(1.25, f64), x = array(0.75, f64);
  auto by_x = [&](const Array& a) { return grad([&](const Array& v) { return f(a, v); })(x); };
  auto by_a = [&](const Array& v) { return grad([&](const Array& a) { return f(a, v); })(p); };
  EXPECT_NEAR(at(grad(by_a)(x)), (at(by_x(p + h)) - at(by_x(p - h))) / (2 * h), 1e-8);
  auto twice = [&](const Array& v) { return grad([&](const Array& w) { return f(p, w); })(v); };
  EXPECT_NEAR(at(grad(twice)(x)), (at(twice(x + h)) - at(twice(x - h))) / (2 * h), 1e-8);
  for (auto name : {"hyp1f1: its derivatives by a and b", "hyp2f1: its derivatives by a, b and c"})
    says<TraceError>(
        [&] {
          return grad([&](const Array& a) {
            return grad([&](const Array& b) {
              return name[3] == '1' ? special::hyp1f1(b, 2, 0.5) : special::hyp2f1(b, 1, 2, 0.5);
            })(a);
          })(p);
        },
        name);
}
/// The derivative of an analytic function is complex: jvp along 1 and along i.
TEST(Special, WofzIsAnalytic) {
  auto z = complex(array(0.75, f64), array(-0.5, f64));
  auto w = special::wofz(z), want = -2 * (z * w) + complex(array(0., f64), array(2 / std::sqrt(M_PI), f64));
  auto got = grad([](const Array& v) { return real(special::wofz(v)); })(z);  // JAX's convention: no conjugation
  EXPECT_NEAR(at(real(got)), at(real(want)), 1e-14);
  EXPECT_NEAR(at(imag(got)), at(imag(want)), 1e-14);
  EXPECT_EQ(special::wofz(array(1.f)).dtype(), complex64);
  EXPECT_EQ(special::wofz(array(1)).dtype(), complex64);
}
}  // namespace
}  // namespace bora::laws::names_special_test
