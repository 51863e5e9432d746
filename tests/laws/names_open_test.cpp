// Cases of hypergeometric functions, Faddeeva's function, gaussian_kde and random_gamma_grad.
#include "bora/ops/complex.h"
#include "bora/ops/segment.h"
#include "bora/ops/special_further.h"
#include "bora/random/distributions.h"
#include "bora/random/gamma_grad.h"
#include "bora/random/kde.h"
#include "laws/names_table.h"
#include "support/throws.h"

namespace bora::laws::names_open_test {
using stats::Bandwidth;
using stats::gaussian_kde;
using stats::GaussianKde;
namespace {
Arrays parts(const Array& z) { return {real(z), imag(z)}; }
Arrays parts(const GaussianKde& k) { return {k.neff, k.weights, k.covariance, k.inv_cov}; }
Array to_a_power(const GaussianKde& k) { return pow(k.neff, array(-0.25, k.neff.dtype())); }
}  // namespace
void add_open(NamedCases& cases) {
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

  BORA_CASE(smooth, "stats::gaussian_kde", gaussian_kde(a).pdf(b));
  BORA_CASE(smooth, "stats::gaussian_kde/parts", parts(gaussian_kde(a, {.weights = b})));
  BORA_CASE(smooth, "stats::gaussian_kde/logpdf", gaussian_kde(a).logpdf(b));
  BORA_CASE(smooth, "stats::gaussian_kde/weights", gaussian_kde(a, {.weights = c})(b));
  BORA_CASE(smooth, "stats::gaussian_kde/plane",
            gaussian_kde(a, {.bw_method = Bandwidth::silverman, .weights = c}).evaluate(b));
  BORA_CASE(smooth, "stats::gaussian_kde/plane_log", gaussian_kde(a, {.weights = c}).logpdf(b));
  BORA_CASE(smooth, "stats::gaussian_kde/point", gaussian_kde(a)(b));
  BORA_CASE(smooth, "stats::gaussian_kde/factor", gaussian_kde(a, {.factor = array(0.3, f64)})(b));
  BORA_CASE(smooth, "stats::gaussian_kde/rule", gaussian_kde(a, {.rule = to_a_power})(b));
  BORA_CASE(smooth, "stats::gaussian_kde/gaussian", gaussian_kde(a).integrate_gaussian(b, c));
  BORA_CASE(smooth, "stats::gaussian_kde/gaussian_1d", gaussian_kde(a).integrate_gaussian(b, c));
  BORA_CASE(smooth, "stats::gaussian_kde/box", gaussian_kde(a).integrate_box_1d(b, c));
  BORA_CASE(smooth, "stats::gaussian_kde/product", gaussian_kde(a).integrate_kde(gaussian_kde(b)));
  BORA_CASE(steps, "stats::gaussian_kde/draws", gaussian_kde(a, {.weights = b}).resample(random::key(5), {7}));
  BORA_CASE(steps, "stats::gaussian_kde/draw", gaussian_kde(a).resample(random::key(6)));

  using Segmented = Array (*)(const Array&, const Array&, std::optional<std::int64_t>);
  for (auto [kind, f] : {std::pair<std::string, Segmented>{"segment_sum", segment_sum}, {"segment_prod", segment_prod},
                         {"segment_max", segment_max}, {"segment_min", segment_min}}) {
    if (f == Segmented(segment_sum) || f == Segmented(segment_prod)) {
      BORA_CASE(smooth, kind, f(a, b, 5));
      BORA_CASE(smooth, kind + "/outside", f(a, b, 4));
    } else {  // infinite where a segment is empty, which has no differences
      BORA_CASE(steps, kind, f(a, b, 5));
      BORA_CASE(steps, kind + "/outside", f(a, b, 4));
    }
    BORA_CASE(steps, kind + "/whole", f(a, b, 300));
    BORA_CASE(steps, kind + "/none", f(a, b, 2));
    BORA_CASE(values, kind + "/largest", f(a, b, none));
  }
  BORA_CASE(steps, "lax::random_gamma_grad", lax::random_gamma_grad(a, b));
  BORA_CASE(steps, "lax::random_gamma_grad/draws", grad([](const Array& x) {
              return sum(random::gamma(random::key(3), x, none, f64));
            })(a));
  BORA_CASE(steps, "lax::random_gamma_grad/beta", Arrays{grad([b](const Array& x) {
                                                            return sum(random::beta(random::key(4), x, b, none, f64));
                                                          })(a),
                                                          grad([a](const Array& y) {
                                                            return sum(random::beta(random::key(4), a, y, none, f64));
                                                          })(b)});
}
namespace {
using bora::test::says;
double at(const Array& y) { return y.astype(f64).item<double>(); }

TEST(OpenNames, MistakesAreNamed) {
  auto x = rnd({2, 5}, 1), v = rnd({5}, 2);
  says<ShapeError>([] { return gaussian_kde(ones({1})); }, "gaussian_kde: the dataset must be [d, n] or [n] with more");
  says<ShapeError>([&] { return gaussian_kde(x, {.weights = ones({4})}); },
                   "gaussian_kde: weights f32[4] do not fit the dataset f64[2, 5]: give one for each of 5 points");
  says<ValueError>([&] { return gaussian_kde(v, {.factor = array(1.), .rule = to_a_power}); }, "takes one of them");
  says<ShapeError>([&] { return gaussian_kde(v, {.factor = ones({2})}); }, "the factor of the bandwidth must be one");
  says<ShapeError>([&] { return gaussian_kde(x)(ones({3, 4})); },
                   "gaussian_kde.evaluate: points f32[3, 4] have 3 dimensions, and the dataset f64[2, 5] has 2");
  says<ShapeError>([&] { return gaussian_kde(x).integrate_box_1d(0, 1); }, "needs data of one dimension, not 2");
  says<ShapeError>([&] { return gaussian_kde(x).integrate_kde(gaussian_kde(v)); }, "have different dimensions");
  says<ShapeError>([&] { return gaussian_kde(x).integrate_gaussian(ones({3}), eye(3)); },
                   "gaussian_kde.integrate_gaussian: mean f32[3]");
  says<DtypeError>([&] { return gaussian_kde(complex(v, v)); }, "gaussian_kde: takes real numbers");
}
TEST(OpenNames, ExtremesOfSegmentsHaveTheirRowsGradients) {
  auto x = array({3.0, 1.0, 2.0, 5.0, 4.0}), ids = array({0, 1, 1, 0, 9});
  auto gradient = [&](auto f) {
    return grad([&](const Array& v) { return sum(f(v, ids, 3) * array({10.0, 20.0, 0.0})); })(x);
  };
  // The empty segment is left out: 0 times an infinite number.
  auto greatest = [](const Array& v, const Array& i, std::int64_t n) { return nan_to_num(segment_max(v, i, n)); };
  auto least = [](const Array& v, const Array& i, std::int64_t n) { return nan_to_num(segment_min(v, i, n)); };
  EXPECT_TRUE(array_equal(gradient(greatest), array({0.0, 0.0, 20.0, 10.0, 0.0}))) << gradient(greatest);
  EXPECT_TRUE(array_equal(gradient(least), array({10.0, 20.0, 0.0, 0.0, 0.0}))) << gradient(least);
}
TEST(OpenNames, SegmentsThatDoNotFitAreNamed) {
  auto x = rnd({4, 2}, 1), ids = array({0, 1, 1, 0});
  says<ShapeError>([&] { return segment_sum(x, array({0, 1})); },
                   "segment_sum: segment_ids i32[2] must have one number for each row of data f64[4, 2]");
  says<DtypeError>([&] { return segment_max(x, ids.astype(f32), 2); }, "segment_max: segment_ids must be integers");
  says<DtypeError>([&] { return segment_min(complex(x, x), ids, 2); }, "segment_min: takes real numbers");
  says<ValueError>([&] { return segment_prod(x, ids, -1); }, "num_segments must not be negative, got -1");
  says<TraceError>([&] { return jit([&](const Array& i) { return segment_sum(x, i); })(ids); }, "give num_segments");
  auto far = asarray(std::vector<std::int64_t>{0, std::int64_t{1} << 32, 1, -(std::int64_t{1} << 32)});
  EXPECT_TRUE(array_equal(segment_sum(array({1, 2, 3, 4}), far, 2), array({1, 3})));
}
/// hyp1f1 and hyp2f1 have second derivatives by x; those by parameters twice say that they are none.
TEST(OpenNames, SecondDerivatives) {
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
TEST(OpenNames, WofzIsAnalytic) {
  auto z = complex(array(0.75, f64), array(-0.5, f64));
  auto w = special::wofz(z), want = -2 * (z * w) + complex(array(0., f64), array(2 / std::sqrt(M_PI), f64));
  auto got = grad([](const Array& v) { return real(special::wofz(v)); })(z);  // JAX's convention: no conjugation
  EXPECT_NEAR(at(real(got)), at(real(want)), 1e-14);
  EXPECT_NEAR(at(imag(got)), at(imag(want)), 1e-14);
  EXPECT_EQ(special::wofz(array(1.f)).dtype(), complex64);
  EXPECT_EQ(special::wofz(array(1)).dtype(), complex64);
}
/// A density has the integral 1, and draws of it its mean.
TEST(OpenNames, DensitiesAreDensities) {
  auto x = rnd({40}, 3);
  auto k = gaussian_kde(x);
  EXPECT_NEAR(at(k.integrate_box_1d(-40, 40)), 1, 1e-12);
  auto draws = k.resample(random::key(1), {200, 100});
  EXPECT_EQ(draws.shape(), (Shape{1, 200, 100}));
  EXPECT_NEAR(at(mean(draws)), at(mean(x)), 0.02);
  auto single = gaussian_kde(x.astype(f32));
  EXPECT_EQ(single(x.astype(f32)).dtype(), f32);
  EXPECT_NEAR(at(sum(single(x.astype(f32)))), at(sum(k(x))), 1e-4);
}
}  // namespace
}  // namespace bora::laws::names_open_test
