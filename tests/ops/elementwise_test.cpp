#include "bora/ops/calculus.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/checks.h"
#include <limits>
#include <random>

namespace elementwise_test {
using namespace bora;
using namespace bora::test;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity(), nan_ = std::numeric_limits<double>::quiet_NaN();

struct OneFunction {
  const char* name;
  Array (*f)(const Array&);
  double (*reference)(double);
  double lo, hi;
};
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
const OneFunction functions[] = {
    {"exp", exp, std::exp, -5, 5},
    {"expm1", expm1, std::expm1, -3, 3},
    {"exp2", exp2, std::exp2, -4, 4},
    {"log", log, std::log, 0.1, 9},
    {"log1p", log1p, std::log1p, -0.9, 9},
    {"log2", log2, std::log2, 0.1, 9},
    {"log10", log10, std::log10, 0.1, 9},
    {"sqrt", sqrt, std::sqrt, 0.1, 9},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.1, 9},
    {"cbrt", cbrt, std::cbrt, 0.1, 9},
    {"square", square, [](double x) { return x * x; }, -3, 3},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }, 0.2, 3},
    {"sin", sin, std::sin, -7, 7},
    {"cos", cos, std::cos, -7, 7},
    {"tan", tan, std::tan, -1.2, 1.2},
    {"sinh", sinh, std::sinh, -4, 4},
    {"cosh", cosh, std::cosh, -4, 4},
    {"tanh", tanh, std::tanh, -4, 4},
    {"arctanh", arctanh, std::atanh, -0.9, 0.9},
    {"erf", erf, std::erf, -3, 3},
    {"erfc", erfc, std::erfc, -3, 3},
    {"abs", abs, [](double x) { return std::abs(x); }, -3, 3},
    {"negative", negative, [](double x) { return -x; }, -3, 3},
    {"floor", floor, std::floor, -3, 3},
    {"ceil", ceil, std::ceil, -3, 3},
    {"round", round, std::nearbyint, -3, 3},
    {"trunc", trunc, std::trunc, -3, 3},
    {"sigmoid", sigmoid, sigmoid_of, -9, 9},
    {"silu", silu, [](double x) { return x * sigmoid_of(x); }, -9, 9},
    {"softplus", softplus, [](double x) { return std::log1p(std::exp(x)); }, -9, 9},
    {"relu", relu, [](double x) { return std::max(x, 0.); }, -3, 3},
    {"gelu", [](const Array& x) { return gelu(x); },
     [](double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }, -4, 4},
    {"gelu_erf", [](const Array& x) { return gelu(x, {.approximate = false}); },
     [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.))); }, -4, 4},
};
Array sample(double lo, double hi, std::int64_t n, Dtype d) {
  std::mt19937 g(7);
  std::uniform_real_distribution<double> u(lo, hi);
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(u(g));
  return asarray(v).astype(d);
}
}  // namespace

TEST(Elementwise, EveryFunctionEqualsTheScalarReference) {
  for (auto& f : functions)
    for (auto d : {f32, f64, bf16}) {
      auto x = sample(f.lo, f.hi, 77, d);
      auto want = numbers(x);
      for (auto& v : want) v = f.reference(v);
      auto tolerance = d == f64 ? 1e-12 : d == f32 ? 2e-6 : 1e-2;
      EXPECT_TRUE(close(f.f(x), asarray(want).astype(d), tolerance, tolerance)) << f.name << " " << d;
    }
}
TEST(Elementwise, EveryDerivativeEqualsTheDifference) {
  for (auto& f : functions) {
    auto x = sample(f.lo, f.hi, 31, f64);
    EXPECT_TRUE(close(gradient(f.f, x), difference(f.f, x), 1e-6, 1e-6)) << f.name;
  }
}
TEST(Elementwise, FunctionsOfIntegersAreF32) {
  EXPECT_TRUE(close(exp(array({0, 1})), array({1., std::exp(1.)})));
  EXPECT_EQ(sqrt(array({true, false})).dtype(), f32);
  EXPECT_TRUE(close(floor(array({1, 2})), array({1, 2})));
  EXPECT_TRUE(close(abs(array({-1, 2})), array({1, 2})));
}
TEST(Elementwise, CornersHaveJaxDerivativesButForNan) {
  auto zero = array({0.});
  EXPECT_TRUE(close(gradient([](const Array& x) { return abs(x); }, zero), array({1.})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return relu(x); }, zero), array({0.})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return maximum(x, 0); }, zero), array({0.5})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return minimum(x, 0); }, zero), array({0.5})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return clip(x, 0, 1); }, zero), array({0.5})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return clamp(zeros_like(x), x, ones_like(x)); }, zero), array({0.})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return sqrt(x); }, zero), array({inf})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return log(x); }, zero), array({inf})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return sign(x); }, zero), array({0.})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return softplus(x); }, zero), array({0.5})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return pow(x, 2); }, zero), array({0.})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return pow(x, 0); }, zero), array({0.})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return pow(x, zeros({1}, i32)); }, zero), array({0.})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return pow(x, 0.); }, zero), array({0.})));  // JAX: NaN
  EXPECT_TRUE(close(gradient([](const Array& x) { return pow(2., x); }, zero), array({std::log(2.)})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return relu(x); }, array({nan_})), array({nan_})));  // JAX: 0
  EXPECT_TRUE(close(gradient([](const Array& x) { return where(x > 0, sqrt(x), 0); }, zero), array({nan_})));
  EXPECT_TRUE(std::isnan(relu(array(nan_)).item<double>()));
}
/// The first, second, .. derivatives of f at x, which are what JAX gives.
using Function = std::function<Array(const Array&)>;
void derivatives(Function f, const Array& x, const Arrays& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    f = [f](const Array& v) { return gradient(f, v); };
    EXPECT_TRUE(close(f(x), want[i])) << "derivative " << i + 1 << " at " << x;
  }
}
TEST(Elementwise, DerivativesAtZeroAndInfinity) {
  auto x = array({inf, 0., 2., -inf});
  auto power_of = [](int n) { return [n](const Array& v) { return pow(v, n); }; };
  derivatives(power_of(-1), x, {array({0., -inf, -0.25, 0.}), array({0., inf, 0.25, 0.})});
  derivatives(power_of(-2), x, {array({0., -inf, -0.25, 0.}), array({0., inf, 0.375, 0.})});
  derivatives(power_of(-3), x, {array({0., -inf, -0.1875, 0.}), array({0., inf, 0.375, 0.})});
  auto inverse = [](const Array& v) { return reciprocal(v); };
  derivatives(inverse, x, {array({0., -inf, -0.25, 0.}), array({0., inf, 0.25, 0.})});
  auto y = array({0., 1., 2.});
  auto whole = [](int n) { return [n](const Array& v) { return pow(v, full({3}, n)); }; };
  derivatives(whole(-1), y, {array({-inf, -1., -0.25}), array({inf, 2., 0.25})});
  derivatives(whole(0), y, {zeros({3}), zeros({3})});
  derivatives(whole(1), y, {ones({3}), zeros({3}), zeros({3})});
  derivatives(whole(3), y, {array({0., 3., 12.}), array({0., 6., 12.}), array({6., 6., 6.}), zeros({3})});
  derivatives([](const Array& v) { return cbrt(v); }, array({0., 8., -8., inf}),
              {array({inf, 1. / 12, 1. / 12, 0.}), array({-inf, -1. / 144, 1. / 144, 0.})});
  auto far = array({inf, -inf, 100., -100., 0.}), odd = array({inf, -inf, inf, -inf, 0.});
  auto even = array({inf, inf, inf, inf, 1.});
  derivatives([](const Array& v) { return sinh(v); }, far, {even, odd, even});
  derivatives([](const Array& v) { return cosh(v); }, far, {odd, even, odd});
  derivatives([](const Array& v) { return prod(v); }, array({2., 0., 3.}), {array({0., 6., 0.}), array({3., 5., 2.})});
}
TEST(Elementwise, LogaddexpAtInfinityAndTies) {
  auto a = array({0., -inf, inf, -inf, 100.}), b = array({0., -inf, inf, 3., 0.});
  EXPECT_TRUE(close(logaddexp(a, b), array({std::log(2.), -inf, inf, 3., 100.})));
  auto g = gradients([](const Arrays& x) { return logaddexp(x[0], x[1]); }, {array({1., 2.}), array({1., 5.})});
  EXPECT_TRUE(close(g[0], array({0.5, 1 / (1 + std::exp(3.))})));
  EXPECT_TRUE(close(g[1], array({0.5, 1 / (1 + std::exp(-3.))})));
  // Equal infinities: 1 each at inf (JAX), half each at -inf, and no NaN from the side not taken.
  g = gradients([](const Arrays& x) { return logaddexp(x[0], x[1]); },
                {array({inf, -inf, inf, 3., -inf, nan_}), array({inf, -inf, 3., inf, 3., 1.})});
  EXPECT_TRUE(close(g[0], array({1., 0.5, 1., 0., 0., nan_})));
  EXPECT_TRUE(close(g[1], array({1., 0.5, 0., 1., 1., nan_})));
  EXPECT_TRUE(close(gradient([](const Array& x) { return softplus(x); }, array({inf, -inf})), array({1., 0.})));
  EXPECT_TRUE(close(softplus(array({-20., 200.})), array({2.0611537e-9, 200.}), 1e-5, 0));
}
TEST(Elementwise, TailsKeepTheirDigits) {
  auto exact = [](const Array& x) { return gelu(x, {.approximate = false}); };
  EXPECT_TRUE(close(exact(array({-5.5, -10.})), array({-1.0444259e-7, -7.6198530e-23}), 1e-6, 0));
  EXPECT_TRUE(close(gelu(array({-5.5, -6.})), array({-5.9276403e-9, -8.4396467e-11}), 1e-4, 0));
  auto x = array({1e-6, 1e-8, -1e-30});
  EXPECT_TRUE(close(gradient([](const Array& v) { return cosh(v); }, x), x, 1e-6, 0));
  EXPECT_TRUE(
      close(gradient([](const Array& v) { return tanh(v); }, array({20.})), array({4 * std::exp(-40.)}), 1e-6, 0));
  EXPECT_EQ(cbrt(array({1e15}, f64)).item<double>(), 1e5);
}
TEST(Elementwise, TwoOperandsArePromoted) {
  auto i = array({1, 2}), f = array({0.5, 1.5}), b = array({true, false}), h = f.astype(bf16), u = i.astype(u8),
       w = i.astype(u32), l = i.astype(i64);
  EXPECT_EQ((i + f).dtype(), f32);
  EXPECT_EQ((i + h).dtype(), bf16);
  EXPECT_EQ((h + f).dtype(), f32);
  EXPECT_EQ((b + i).dtype(), i32);
  EXPECT_EQ((u + w).dtype(), u32);
  EXPECT_EQ((i + w).dtype(), i64);
  EXPECT_EQ((l + f).dtype(), f32);
  EXPECT_EQ((i / i).dtype(), f32);
  EXPECT_EQ((l / h).dtype(), bf16);
  EXPECT_EQ((b + b).dtype(), boolean);
  EXPECT_TRUE(close(b + b, array({true, false})));
  EXPECT_TRUE(close(b * array({true, true}), array({true, false})));
  EXPECT_TRUE(close(i / array({2, 4}), array({0.5, 0.5})));
}
TEST(Elementwise, NumbersAreWeak) {
  auto i = array({1, 2}), b = array({true, false}), h = array({1., 2.}, bf16), d = array({1., 2.}, f64),
       u = array({1, 2}, u8);
  EXPECT_EQ((h * 2.5).dtype(), bf16);
  EXPECT_EQ((d * 2.5f).dtype(), f64);
  EXPECT_EQ((i + 1).dtype(), i32);
  EXPECT_EQ((u + 1).dtype(), u8);
  EXPECT_EQ((i + 0.5).dtype(), f32);
  EXPECT_EQ((b + 1).dtype(), i32);
  EXPECT_EQ((b + 0.5).dtype(), f32);
  EXPECT_EQ((2 / i).dtype(), f32);
  EXPECT_EQ((h * i.astype(i32)).dtype(), bf16);
  EXPECT_TRUE(close(2 - i, array({1, 0})));
  EXPECT_TRUE(close(1 / array({2., 4.}), array({0.5, 0.25})));
  EXPECT_TRUE(close(i < 1.5, array({true, false})));
  EXPECT_MESSAGE(ValueError, u + 300, "the number 300 does not fit into u8");
  EXPECT_MESSAGE(ValueError, u * -1, "the number -1 does not fit into u8");
}
TEST(Elementwise, ShapesBroadcast) {
  auto x = array({{1., 2., 3.}, {4., 5., 6.}});
  EXPECT_TRUE(close(x + array({10., 20., 30.}), array({{11., 22., 33.}, {14., 25., 36.}})));
  EXPECT_TRUE(close(x * array({{1.}, {2.}}), array({{1., 2., 3.}, {8., 10., 12.}})));
  EXPECT_TRUE(close(x + array(1.), array({{2., 3., 4.}, {5., 6., 7.}})));
  EXPECT_EQ((zeros({3, 1}) + zeros({0})).shape(), (Shape{3, 0}));
  EXPECT_MESSAGE(ShapeError, x + zeros({2}), "add: shapes do not broadcast: [2, 3] and [2]");
  EXPECT_MESSAGE(ShapeError, where(x > 0, x, zeros({4})), "where: shapes do not broadcast");
}
TEST(Elementwise, ComparisonsAndLogic) {
  auto x = array({-1., 0., 1., nan_});
  EXPECT_TRUE(close(x == x, array({true, true, true, false})));
  EXPECT_TRUE(close(x != 0, array({true, false, true, true})));
  EXPECT_TRUE(close(0 <= x, array({false, true, true, false})));
  EXPECT_TRUE(close(x > -0.5 && !(x > 0.5), array({false, true, false, false})));
  EXPECT_TRUE(close(x < 0 || x > 0, array({true, false, true, false})));
  EXPECT_TRUE(close(logical_and(array({2, 0}), array({1, 1})), array({true, false})));
  EXPECT_TRUE(close(!array({2, 0}), array({false, true})));
  EXPECT_TRUE(close(isnan(x), array({false, false, false, true})));
  EXPECT_TRUE(close(isinf(array({inf, -inf, 1., nan_})), array({true, true, false, false})));
  EXPECT_TRUE(close(isfinite(array({inf, -inf, 1., nan_})), array({false, false, true, false})));
  EXPECT_TRUE(close(isfinite(array({1, 2})), array({true, true})));
  EXPECT_MESSAGE(DtypeError, 0 < x < 6, "booleans have no order");
  EXPECT_TRUE(close((x > 0) == true, array({false, false, true, false})));
}
TEST(Elementwise, BitsAndShifts) {
  auto i = array({6, -8}), u = array({6u, 8u}, u32);
  EXPECT_TRUE(close(i & 3, array({2, 0})));
  EXPECT_TRUE(close(i | 1, array({7, -7})));
  EXPECT_TRUE(close(i ^ array({1, 1}), array({7, -7})));
  EXPECT_TRUE(close(~i, array({-7, 7})));
  EXPECT_TRUE(close(i << 2, array({24, -32})));
  EXPECT_TRUE(close(i >> 1, array({3, -4})));
  EXPECT_TRUE(close((~u) >> 28, array({15, 15}, u32)));
  EXPECT_TRUE(close(array({true, false}) & array({true, true}), array({true, false})));
  EXPECT_MESSAGE(DtypeError, array({1.}) & array({2.}), "and");
  EXPECT_TRUE(close(bitcast(array({1.f}), u32), array({0x3f800000u}, u32)));
  EXPECT_MESSAGE(DtypeError, bitcast(array({1.f}), f64), "their sizes differ");
}
TEST(Elementwise, DivisionWithRemainderIsPythons) {
  auto a = array({7, -7, 7, -7}), b = array({3, 3, -3, -3});
  EXPECT_TRUE(close(floor_divide(a, b), array({2, -3, -3, 2})));
  EXPECT_TRUE(close(a % b, array({1, 2, -2, -1})));
  EXPECT_TRUE(close(fmod(a, b), array({1, -1, 1, -1})));
  auto x = array({7.5, -7.5, 7.5, -7.5}), y = array({2., 2., -2., -2.});
  EXPECT_TRUE(close(floor_divide(x, y), array({3., -4., -4., 3.})));
  EXPECT_TRUE(close(x % y, array({1.5, 0.5, -0.5, -1.5})));
  EXPECT_TRUE(close(fmod(x, y), array({1.5, -1.5, 1.5, -1.5})));
  EXPECT_TRUE(close(array({7u}, u32) % 4, array({3u}, u32)));
  EXPECT_TRUE(close(x % 2, array({1.5, 0.5, 1.5, 0.5})));
  EXPECT_TRUE(close(array({5, -5}) % 0, array({0, 0})));  // by zero: NumPy's
  EXPECT_TRUE(close(fmod(array({5, 0}, u8), zeros({2}, u8)), zeros({2}, u8)));
  EXPECT_TRUE(close(floor_divide(array({1., -1., 0.}), 0), array({inf, -inf, nan_})));
  EXPECT_TRUE(close(floor_divide(array({1., -1.}), inf), array({0., -1.})));
}
TEST(Elementwise, Powers) {
  auto x = array({-2., 0.5, 3.});
  EXPECT_TRUE(close(pow(x, 3), array({-8., 0.125, 27.})));
  EXPECT_TRUE(close(pow(x, -2), array({0.25, 4., 1. / 9})));
  EXPECT_TRUE(close(pow(array({2, 3}), 5), array({32, 243})));
  EXPECT_TRUE(close(pow(array({2., 9.}), 0.5), array({std::sqrt(2.), 3.})));
  EXPECT_TRUE(close(pow(2, array({1, 10})), array({2, 1024})));
  EXPECT_TRUE(close(pow(0.5, array({1, 3})), array({0.5, 0.125})));
  EXPECT_TRUE(close(power(array({2., 3.}), array({2, 0})), array({4., 1.})));
  EXPECT_MESSAGE(ValueError, pow(array({2}), -1), "no negative powers");
  EXPECT_TRUE(close(gradient([](const Array& v) { return pow(v, 3); }, x), array({12., 0.75, 27.})));
  EXPECT_TRUE(close(gradient([](const Array& v) { return pow(v, -1); }, x), array({-0.25, -4., -1. / 9})));
}
TEST(Elementwise, ExtremesTakeNan) {
  auto x = array({1., nan_, 3.});
  EXPECT_TRUE(close(maximum(x, 2), array({2., nan_, 3.})));
  EXPECT_TRUE(close(minimum(2, x), array({1., nan_, 2.})));
  EXPECT_TRUE(close(maximum(array({1, 5}), array({3, 2})), array({3, 5})));
  EXPECT_TRUE(close(clip(array({-1., 0.5, 7.}), 0, 1), array({0., 0.5, 1.})));
}
TEST(Elementwise, WhereForms) {
  auto c = array({true, false}), x = array({1., 2.});
  EXPECT_TRUE(close(where(c, x, 0), array({1., 0.})));
  EXPECT_TRUE(close(where(c, 0, x), array({0., 2.})));
  EXPECT_TRUE(close(where(c, 1, 0), array({1, 0})));
  EXPECT_TRUE(close(where(c, 1, 0.5), array({1., 0.5})));
  EXPECT_TRUE(close(where(array({3, 0}), x, -x), array({1., -2.})));
  EXPECT_EQ(where(array({{true}, {false}}), x, 0).shape(), (Shape{2, 2}));
  auto g = gradients([&](const Arrays& a) { return where(c, a[0], a[1]); }, {x, x + 1});
  EXPECT_TRUE(close(g[0], array({1., 0.})));
  EXPECT_TRUE(close(g[1], array({0., 1.})));
}
TEST(Elementwise, FmaRoundsOnce) {
  auto a = array({1 + 0x1p-12}), y = fma(a, a, array({-1 - 0x1p-11}));
  EXPECT_EQ(y.item<float>(), 0x1p-24f);
  auto g = gradients([](const Arrays& x) { return fma(x[0], x[1], x[2]); }, {array({2.}), array({3.}), array({4.})});
  EXPECT_EQ(g[0].item<float>(), 3);
  EXPECT_EQ(g[1].item<float>(), 2);
  EXPECT_EQ(g[2].item<float>(), 1);
}
TEST(Elementwise, CastsTruncateSaturateAndTest) {
  EXPECT_TRUE(close(array({1.9, -1.9, 3e10, nan_}).astype(i32), array({1, -1, 2147483647, 0})));
  EXPECT_TRUE(close(array({0., 0.5, nan_}).astype(boolean), array({false, true, true})));
  EXPECT_TRUE(close(array({true, false}).astype(f32), array({1., 0.})));
  EXPECT_TRUE(close(array({1., 2.}).astype(f64).astype(i64), array({1, 2}, i64)));
  auto x = array({1.});
  EXPECT_EQ(x.astype(f32).get(), x.get());
  auto g = gradient([](const Array& v) { return v.astype(f64) * 3.; }, x);
  EXPECT_TRUE(close(g, array({3.})));
}
TEST(Elementwise, InPlaceOperators) {
  auto x = array({1., 2.}), kept = x;
  x += 1;
  x *= array({2., 2.});
  x -= 1;
  x /= 3;
  EXPECT_TRUE(close(x, array({1., 5. / 3})));
  EXPECT_TRUE(close(kept, array({1., 2.})));
}
TEST(Elementwise, EmptyAndScalarArrays) {
  EXPECT_EQ((zeros({0, 3}) + 1).shape(), (Shape{0, 3}));
  EXPECT_EQ(exp(array(1.)).shape(), Shape{});
  EXPECT_MESSAGE(TraceError, Array() + 1, "an empty Array was used");
  EXPECT_FLOAT_EQ(item<float>(array(2.5) * 2), 5);
}
TEST(Elementwise, Identities) {
  auto x = array({1., 2.});
  EXPECT_TRUE(close(stop_gradient(x), x));
  EXPECT_TRUE(close(gradient([](const Array& v) { return v * stop_gradient(v); }, x), x));
  EXPECT_TRUE(close(gradient([](const Array& v) { return checkpoint_name(v, "v") * 2; }, x), array({2., 2.})));
  auto both = optimization_barrier({x, array({1, 2, 3})});
  EXPECT_TRUE(close(both[0], x));
  EXPECT_TRUE(close(both[1], array({1, 2, 3})));
  EXPECT_TRUE(close(gradient([](const Array& v) { return optimization_barrier({v, v * 2})[1]; }, x), array({2., 2.})));
}
TEST(Elementwise, PrimitivesSayWhatIsWrong) {
  auto add = [&] {
    Recorder tape;
    {
      Within w(&tape);
      (void)(array({1.}) + array({2.}));
    }
    return tape.steps.at(0).p;
  }();
  EXPECT_EQ(add->name(), "add");
  EXPECT_TRUE(add->element().has_value());
  EXPECT_MESSAGE(ShapeError, add->infer({{{2}, f32}, {{3}, f32}}), "add: shapes differ: f32[2] and f32[3]");
  EXPECT_MESSAGE(DtypeError, add->infer({{{2}, f32}, {{2}, i32}}), "add: dtypes differ: f32[2] and i32[2]");
  EXPECT_MESSAGE(DtypeError, add->infer({{{2}, Dtype::key}, {{2}, Dtype::key}}),
                 "no arithmetic is defined on random keys");
  EXPECT_MESSAGE(DtypeError, add->infer({{{2}, boolean}, {{2}, boolean}}), "add");
}
}  // namespace elementwise_test
