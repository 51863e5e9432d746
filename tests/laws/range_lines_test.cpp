// Numbers of any magnitude, in functions of several operations: what is known in closed form, or by scaling.
#include <complex>
#include <tuple>
#include "laws/laws.h"

namespace bora::laws::range_lines_test {
namespace {
double number(const Array& x) { return x.astype(f64).item<double>(); }
std::vector<double> numbers(const Array& x) { return x.astype(f64).to_vector<double>(); }
/// Relative to the true value.
void near(const std::vector<double>& got, const std::vector<double>& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(std::fabs(got[i] - want[i]), tolerance * std::fabs(want[i])) << what << " [" << i << "]: " << got[i];
}
/// grad(f) at x eager, staged, mapped and forward.
template <class F> void slope_is(F f, double x, double want, const std::string& what, Dtype d = f32) {
  const double tolerance = d == f64 ? 1e-14 : 1e-6;
  const Array at = array(x, d);
  near({number(grad(f)(at))}, {want}, tolerance, what);
  near({number(jit(grad(f))(at))}, {want}, tolerance, what + ", jit");
  near(numbers(vmap(grad(f))(stack({at, at}))), {want, want}, tolerance, what + ", vmap");
  near({number(jvp(f, at, array(1., d)).second)}, {want}, tolerance, what + ", jvp");
}

TEST(RangeLines, QuotientsByTheirDivisor) {
  slope_is([](const Array& b) { return Scalar(1e-30) / b; }, 1e-30, -1e30, "1e-30 / 1e-30");
  slope_is([](const Array& b) { return Scalar(1e30) / b; }, 1e25, -1e-20, "1e30 / 1e25");
  slope_is([](const Array& b) { return 0. * (Scalar(1e-30) / b); }, 1e-30, 0, "a cotangent of 0");
  auto share = [](const Array& w) { return index_in_dim(w / (sum(w) + 1e-20), 0, 0); };
  near(numbers(grad(share)(zeros({2}))), {1e20, 0}, 1e-6, "a share of nothing");
  slope_is([](const Array& t) { return exp(-1e-21 / (1.380649e-23 * t)); }, 300,
           std::exp(-1e-21 / (1.380649e-23 * 300)) * 1e-21 / (1.380649e-23 * 300) / 300, "Boltzmann's factor");
  slope_is([](const Array& x) { return sum(where(x > 1e-10, 1e-12 / x, 0)); }, 1e-21, 0, "what is not chosen");
  slope_is([](const Array& x) { return sum(where(x > 1e-5, 1e30 / x, 0)); }, 1e-15, 0, "an overflow not chosen");
}
TEST(RangeLines, LengthsAndTheirSlopes) {
  for (auto [d, a, b] : {std::tuple{f32, 4e25, 3e25}, {f32, 4e19, 3e19}, {f32, 4e-30, 3e-30}, {f64, 4e200, 3e200},
                         {f64, 4e-300, 3e-300}, {f32, 2.4e38, 1.8e38}}) {
    slope_is([b = b, d = d](const Array& x) { return hypot(x, array(b, d)); }, a, 0.8, "hypot", d);
    slope_is([b = b, d = d](const Array& x) { return abs(complex(array(b, d), x)); }, a, 0.8, "abs of complex", d);
    slope_is([b = b, d = d](const Array& x) { return linalg::norm(stack({x, array(b, d)})); }, a, 0.8, "norm", d);
    near({number(hypot(array(a, d), array(b, d)))}, {1.25 * a}, 1e-6, "hypot");
    near({number(linalg::norm(stack({array(a, d), array(b, d)})))}, {1.25 * a}, 1e-6, "norm");
  }
  for (double x : {1., -1.})
    for (double y : {1., -1.})
      for (double scale : {1e-25, 1., 1e25}) {
        auto f = [](const Array& v) { return hypot(index_in_dim(v, 0, 0), index_in_dim(v, 0, 1)); };
        double h = std::sqrt(0.125) / scale, across = -x * y * h;
        near(numbers(hessian(f)(array({x * scale, y * scale}).astype(f32))), {h, across, across, h}, 1e-6, "Hessian");
      }
}
TEST(RangeLines, NormsOfRowsScale) {
  const auto x = test::rnd({3, 5}, 7);
  for (Dtype d : {f32, f64})
    for (double scale : {1e-30, 1e-20, 1e-15, 1., 1e15, 1e20, 1e30}) {
      auto v = (x * scale).astype(d);
      const double tolerance = d == f64 ? 1e-13 : 2e-6;
      for (double p : {2., 3., 1.5, -2.}) {
        auto f = [p](const Array& u) { return linalg::vector_norm(u, p, 1); };
        auto total = [f](const Array& u) { return sum(f(u)); };
        near(numbers(f(v)), numbers(f(x) * scale), tolerance, "norm " + std::to_string(p));
        near(numbers(grad(total)(v)), numbers(grad(total)(x)), 20 * tolerance, "slope of norm " + std::to_string(p));
      }
      auto of_matrix = [](const Array& u) { return linalg::matrix_norm(u); };
      near(numbers(grad(of_matrix)(v)), numbers(grad(of_matrix)(x)), tolerance, "slope of the norm of a matrix");
    }
}
TEST(RangeLines, NormalizedRowsDoNotScale) {
  const auto x = test::rnd({3, 5}, 8), w = test::rnd({3, 5}, 9);
  for (Dtype d : {f32, f64})
    for (double scale : {1e-17, 1e-15, 1e-10, 1., 1e10, 1e15, 1e17}) {
      auto v = (x * scale).astype(d);
      const double tolerance = d == f64 ? 1e-12 : 2e-5;
      for (auto [name, f] :
           {std::pair<const char*, Array (*)(const Array&)>{
                "layer_norm", [](const Array& u) { return layer_norm(u, {.eps = 0}); }},
            {"rms_norm", [](const Array& u) { return rms_norm(u, {.eps = 0}); }},
            {"standardize", [](const Array& u) { return nn::standardize(u, -1, {.epsilon = 0}); }}}) {
        auto loss = [f = f, w](const Array& u) { return sum(f(u) * w.astype(u.dtype())); };
        close({f(v).astype(f64)}, {f(x)}, tolerance, name);
        close({grad(loss)(v).astype(f64) * scale}, {grad(loss)(x)}, tolerance, std::string("slope of ") + name);
      }
    }
}
TEST(RangeLines, SmallAndLargeArguments) {
  slope_is([](const Array& x) { return sinc(x); }, 1e-4, -3.289868e-4, "sinc");
  slope_is([](const Array& x) { return sinc(x); }, 1e-30, -3.289868133696453e-30, "sinc");
  slope_is([](const Array& x) { return sinc(x); }, 1e-12, -3.2898681336964528e-12, "sinc", f64);
  slope_is([](const Array& x) { return arcsinh(x); }, 1e25, 1e-25, "arcsinh");
  slope_is([](const Array& x) { return arccosh(x); }, 1e25, 1e-25, "arccosh");
  slope_is([](const Array& x) { return nn::squareplus(x); }, 1e25, 1, "squareplus");
  slope_is([](const Array& x) { return nn::soft_sign(x); }, 1e10, 1e-20, "soft_sign");
  slope_is([](const Array& x) { return gelu(x); }, 1e25, 1, "gelu");
  slope_is([](const Array& y) { return arctan2(y, array(3e25)); }, 4e25, 0.12e-25, "arctan2");
  slope_is([](const Array& y) { return arctan2(y, array(3e-25)); }, 4e-25, 0.12e25, "arctan2");
  EXPECT_EQ(number(sinc(array(1e6 + 1))), 0) << "a whole number";
  for (auto [x, y, want] : {std::tuple{0., 0., 0.}, {-0., 2., 0.}, {-HUGE_VAL, 1., -1.}, {1., HUGE_VAL, 0.}}) {
    auto slope = grad([y = y](const Array& v) { return hypot(v, array(y)); })(array(x));
    EXPECT_EQ(number(slope), want) << "hypot at " << x << ", " << y;
  }
  EXPECT_TRUE(std::isnan(number(grad([](const Array& v) { return hypot(v, array(1.)); })(array(NAN)))));
  EXPECT_EQ(number(grad([](const Array& v) { return nn::soft_sign(v); })(array(0.))), 1);
  // 0.5 is a little less than 5 times 0.1f; their quotient rounds up to 5.
  auto whole = [](const Array& v) { return fmod(array(0.5), v); };
  EXPECT_EQ(number(grad(whole)(array(0.1))), -4);
}
/// Quotients of complex numbers and their slopes, of every magnitude.
TEST(RangeLines, ComplexQuotients) {
  using Number = std::complex<long double>;
  for (auto [d, part, most] : {std::tuple{complex64, f32, 37}, {complex128, f64, 300}}) {
    const double tolerance = part == f32 ? 1e-6 : 1e-14;
    auto of = [part = part](Number z) {
      auto made = [&](long double v) { return array(static_cast<double>(v), part); };
      return complex(made(z.real()), made(z.imag()));
    };
    const long double end = part == f32 ? 1e37L : 1e297L;
    auto close_to = [&](const Array& got, Number want, const std::string& what) {
      auto size = std::max(std::fabs(want.real()), std::fabs(want.imag()));
      if (size > end || size < 1 / end) return;
      EXPECT_LE(std::fabs(static_cast<long double>(number(real(got))) - want.real()), tolerance * size) << what;
      EXPECT_LE(std::fabs(static_cast<long double>(number(imag(got))) - want.imag()), tolerance * size) << what;
    };
    for (int i = -most; i <= most; i += most / 6)
      for (int j = -most; j <= most; j += most / 6) {
        const long double p = std::pow(10.L, i), q = std::pow(10.L, j);
        auto a = of({3 * p, -p}), b = of({q, 2 * q});
        auto parts = [](const Array& z) {
          return Number(number(real(z)), number(imag(z)));
        };
        const Number x = parts(a), y = parts(b);
        if (i - j > most || j - i > most) continue;
        auto what = "10^" + std::to_string(i) + " / 10^" + std::to_string(j);
        close_to(a / b, x / y, what);
        auto one = of({1, 0});
        auto slope = [&](const auto& f, const Array& at) { return vjp(f, at).second(one); };
        close_to(slope([&](const Array& v) { return v / b; }, a), Number(1) / y, what + " by a");
        close_to(slope([&](const Array& v) { return a / v; }, b), -x / y / y, what + " by b");
      }
  }
  for (double x : {1e-30, 1e30}) {
    auto z = complex(array(x), array(x));
    auto size = abs(z / z).item<float>();
    EXPECT_NEAR(size, 1, 1e-6);
    EXPECT_NEAR(real(arctanh(z)).item<float>() / (x < 1 ? x : 0.5 / x), 1, 1e-6);
  }
}
}  // namespace
}  // namespace bora::laws::range_lines_test
