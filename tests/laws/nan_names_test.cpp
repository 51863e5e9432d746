// The law of NaN for special functions, distributions and activations, from their cases with golden numbers: NaN in
// each argument in turn, also beside the ends of a support and outside of it.
#include <map>
#include "bora/ops/complex.h"
#include "laws/names_driver.h"

namespace bora::laws::nan_names_test {
namespace {
bool begins(const std::string& name, const std::string& with) { return name.substr(0, with.size()) == with; }
/// "name argument" of a case whose value for NaN is a number, or whose slope is (`values` false), and the reason.
struct Exception {
  bool values;
  std::string reason;
};
const std::map<std::string, Exception>& exceptions() {
  static const std::map<std::string, Exception> r{
      {"nn::softmax 0", {true, "0 where the mask does not hold"}},
      {"nn::log_softmax 0", {true, "-inf where the mask does not hold"}},
      {"nn::standardize 0", {false, "with a mean and a variance given it is linear"}},
      {"nn::standardize 1", {false, "linear in the mean"}},
      {"special::logsumexp 0", {false, "of b = 0 nothing counts (/none)"}},
      {"special::xlogy 0", {false, "linear"}},
      {"special::xlog1py 0", {false, "linear"}},
      {"special::gammasgn 0", {false, "a step"}},
      {"special::expn 0", {false, "a whole number has no derivative"}},
      {"special::polygamma 0", {false, "a whole number has no derivative"}}};
  return r;
}
Array total(const Arrays& out) {
  auto t = array(0., f64);
  for (auto& y : out)
    if (floating(y)) t = t + sum(real(y)) + (is_complex(y.dtype()) ? sum(imag(y)) : array(0., f64));
  return t;
}
bool lists_samples(const std::string& name) {
  for (auto* other : {"stats::mode", "stats::rankdata", "stats::gaussian_kde", "special::bernoulli"})
    if (begins(name, other)) return true;
  return false;
}
/// Functions that leave NaN out, and those whose golden input is a condition, of which NaN is true.
bool skips_nan(const std::string& name) {
  auto plain = name.substr(0, name.find('/'));
  for (auto* other : {"fmax", "fmin", "nan_to_num", "select", "extract", "piecewise"})
    if (plain == other) return true;
  return begins(plain, "nan");
}
void try_argument(const std::string& name, const NamedFunction& f, Arrays in, std::size_t k) {
  auto found = exceptions().find(name.substr(0, name.find('/')) + " " + std::to_string(k));
  bool is_exception = found != exceptions().end();
  if (is_exception && found->second.values) return;
  in[k] = full_like(in[k], NAN);
  auto say = name + ", argument " + std::to_string(k) + " in " + std::string(info(in[k].dtype()).name);
  for (auto& y : f(in)) EXPECT_TRUE(!floating(y) || all(isnan(y)).item<bool>()) << say << to_string(y);
  if (is_exception || names_driver().takes(name) == Takes::values) return;
  try {
    auto value = [&](const Array& x) {
      auto moved = in;
      moved[k] = x;
      return total(f(moved));
    };
    auto g = grad(value)(in[k]);
    EXPECT_TRUE(all(isnan(g)).item<bool>()) << say << ": the derivative " << to_string(g);
    bool plain = name.find('/') == name.npos && in[k].dtype() == f32;
    EXPECT_TRUE(!plain || all(isnan(jit(grad(value))(in[k]))).item<bool>()) << say << ", staged";
  } catch (const TraceError&) {  // it has none by this argument
  }
}
TEST(NanNames, GiveNan) {
  int tried = 0;
  names_driver().each(Takes::values, [&](auto& name, auto& f, auto& g) {
    if (!(begins(name, "special::") || begins(name, "stats::") || begins(name, "nn::")) || lists_samples(name)) return;
    bool plain = name.find('/') == name.npos;
    for (auto dtype : {f64, f32, bf16, f16}) {
      if (dtype != f64 && (!plain || effort() == Effort::thin)) continue;
      auto in = g.in;
      for (auto& x : in)
        if (floating(x) && !is_complex(x.dtype())) x = x.astype(dtype);
      for (std::size_t k = 0; k < in.size(); ++k)
        if (floating(in[k]) && in[k].size() > 0 && !is_complex(in[k].dtype())) try_argument(name, f, in, k), ++tried;
    }
  });
  EXPECT_GT(tried, 500);
}
/// Of all functions: an element on which the result depends makes NaN of some of it.
TEST(NanNames, WhatMattersGivesNan) {
  int tried = 0;
  names_driver().each(Takes::smooth, [&](auto& name, auto& f, auto& g) {
    if (skips_nan(name)) return;
    for (std::size_t k = 0; k < g.in.size(); ++k) {
      if (!floating(g.in[k]) || is_complex(g.in[k].dtype()) || g.in[k].size() == 0) continue;
      auto of = [&](const Array& x) {
        auto in = g.in;
        in[k] = x;
        return f(in);
      };
      auto slope = ravel(grad([&](const Array& x) {
        auto t = array(0., f64);
        int i = 1;
        for (auto& y : of(x))
          if (floating(y)) t = t + sum(real(y) * rnd(y.shape(), i++));
        return t;
      })(g.in[k]));
      auto at = argmax(abs(slope));
      if (index_in_dim(abs(slope), 0, at.template item<std::int32_t>()).template item<double>() == 0) continue;
      auto spoiled = where(reshape(iota({slope.size()}, 0) == at, g.in[k].shape()), NAN, g.in[k]);
      bool any_nan = false;
      for (auto& y : of(spoiled)) any_nan = any_nan || (floating(y) && any(isnan(y)).template item<bool>());
      EXPECT_TRUE(any_nan) << name << ", argument " << k;
      ++tried;
    }
  });
  EXPECT_GT(tried, 300);
}
/// Numbers beside Arrays, and what lies outside of a support.
TEST(NanNames, NumbersAreArgumentsToo) {
  auto nan = [](const Array& y) { return all(isnan(y)).item<bool>(); };
  auto x = array({-1., 0., 0.5, 3.}, f64);
  EXPECT_TRUE(nan(stats::uniform::pdf(NAN)));
  EXPECT_TRUE(nan(stats::uniform::pdf(x, NAN)));
  EXPECT_TRUE(nan(stats::uniform::pdf(x, 0, NAN)));
  EXPECT_TRUE(nan(stats::poisson::pmf(NAN, 2.)));
  EXPECT_TRUE(nan(stats::poisson::pmf(x, NAN)));
  EXPECT_TRUE(nan(stats::binom::pmf(NAN, 3, 0.5)));
  EXPECT_TRUE(nan(stats::betabinom::pmf(NAN, 3, 0.5, 0.5)));
  EXPECT_TRUE(nan(stats::betabinom::pmf(x, 3, 0.5, NAN)));
  EXPECT_TRUE(nan(stats::gamma::logpdf(x, NAN)));
  EXPECT_TRUE(nan(stats::dirichlet::logpdf(array({NAN, 0.5, 0.5}), ones({3}))));
  EXPECT_TRUE(nan(stats::dirichlet::logpdf(array({0.2, 0.2, 0.2}), array({1., NAN, 1.}))));
  EXPECT_TRUE(nan(stats::multinomial::logpmf(array({1, 1}), array(3), array({NAN, 0.5}))));
}
/// Where NumPy defines a number for NaN.
TEST(NanNames, NumPysNumbers) {
  auto nan = array(NAN, f64), two = array(2., f64), inf = array(INFINITY, f64);
  auto is = [](const Array& y, double want) { EXPECT_EQ(y.astype(f64).item<double>(), want); };
  is(pow(nan, array(0., f64)), 1);
  is(pow(array(1., f64), nan), 1);
  is(pow(nan, 0), 1);
  is(float_power(nan, array(0., f64)), 1);
  is(hypot(inf, nan), INFINITY);
  is(hypot(nan, -inf), INFINITY);
  is(fmax(nan, two), 2);
  is(fmax(two, nan), 2);
  is(fmin(nan, two), 2);
  is(fmin(two, nan), 2);
  is(heaviside(two, nan), 1);
  is(copysign(two, abs(nan)), 2);
  is(nan_to_num(nan), 0);
  // and the derivatives: of the number that is taken 1, of the other one 0
  is(grad([&](const Array& x) { return fmax(x, nan); })(two), 1);
  is(grad([&](const Array& x) { return fmax(x, two); })(nan), 0);
  is(grad([&](const Array& x) { return fmin(x, nan); })(two), 1);
  is(grad([&](const Array& x) { return fmin(nan, x); })(two), 1);
  is(grad([](const Array& x) { return nan_to_num(x); })(nan), 0);
}
}  // namespace
}  // namespace bora::laws::nan_names_test
