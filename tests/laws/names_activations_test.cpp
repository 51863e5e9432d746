// Cases of jax.nn.
#include "laws/names_table.h"
#include "support/throws.h"

namespace bora::laws::names_activations_test {
using namespace nn;
namespace {
/// The rows of softmax's cases that take part.
Array mask() { return array({{true, false, true, true}, {true, true, true, true}, {false, false, true, false}}); }
}  // namespace
void add_activations(NamedCases& cases) {
  using One = Array (*)(const Array&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, One>>{{"selu", selu},
                                                                           {"relu6", relu6},
                                                                           {"hard_sigmoid", hard_sigmoid},
                                                                           {"hard_silu", hard_silu},
                                                                           {"hard_swish", hard_swish},
                                                                           {"hard_tanh", hard_tanh},
                                                                           {"log_sigmoid", log_sigmoid},
                                                                           {"mish", mish},
                                                                           {"swish", swish},
                                                                           {"soft_sign", soft_sign},
                                                                           {"sparse_plus", sparse_plus},
                                                                           {"sparse_sigmoid", sparse_sigmoid},
                                                                           {"log1mexp", log1mexp}}) {
    auto g = f;
    BORA_CASE(smooth, "nn::" + name, g(a));
    BORA_CASE(steps, "nn::" + name + "/odd", g(a));
  }
  for (std::string rest : {"", "/odd"}) {
    auto kind = rest.empty() ? Takes::smooth : Takes::steps;
    cases["nn::celu" + rest] = {kind, [](const Arrays& in) { return Arrays{celu(in[0])}; }};
    cases["nn::elu" + rest] = {kind, [](const Arrays& in) { return Arrays{elu(in[0])}; }};
    cases["nn::leaky_relu" + rest] = {kind, [](const Arrays& in) { return Arrays{leaky_relu(in[0])}; }};
    cases["nn::squareplus" + rest] = {kind, [](const Arrays& in) { return Arrays{squareplus(in[0])}; }};
  }
  BORA_CASE(smooth, "nn::celu/alpha", celu(a, 0.5));
  BORA_CASE(smooth, "nn::elu/alpha", elu(a, 0.5));
  BORA_CASE(smooth, "nn::leaky_relu/slope", leaky_relu(a, 0.3));
  BORA_CASE(smooth, "nn::squareplus/b", squareplus(a, 0.5));
  BORA_CASE(smooth, "nn::glu", glu(a));
  BORA_CASE(smooth, "nn::glu/axis", glu(a, 0));
  BORA_CASE(smooth, "nn::logmeanexp", logmeanexp(a, 1));
  BORA_CASE(smooth, "nn::logmeanexp/keep", logmeanexp(a, none, {.keepdims = true}));
  BORA_CASE(smooth, "nn::standardize", standardize(a));
  BORA_CASE(smooth, "nn::standardize/given", standardize(a, 0, {.mean = b, .variance = c, .epsilon = 1e-3}));
  BORA_CASE(smooth, "nn::softmax", softmax(a, -1, mask()));
  BORA_CASE(steps, "nn::log_softmax", log_softmax(a, -1, mask()));
  BORA_CASE(steps, "nn::log_softmax/axis", log_softmax(a, 0, mask()));
}
namespace {
TEST(Activations, SlopesAtTheCorners) {
  auto slope = [](auto&& f, double x) { return grad(f)(array(x, f64)).template item<double>(); };
  for (double x : {0., 6.}) EXPECT_EQ(slope(relu6, x), 0) << x;
  EXPECT_EQ(slope([](const Array& x) { return elu(x); }, 800), 1);
  EXPECT_EQ(slope(selu, 800), 1.0507009873554804934);
  EXPECT_TRUE(std::isnan(relu6(array(NAN)).item<float>()));
  EXPECT_EQ(squareplus(array(-1e9, f64)).item<double>(), 1e-9) << "the sum of x and the root would cancel";
}
TEST(Activations, MistakesAreNamed) {
  test::says([] { return glu(ones({2, 3})); }, "glu: dimension 1 of [2, 3] has no two halves");
  test::says([] { return celu(ones({2}), 0); }, "celu: alpha must not be 0");
  test::says([] { return squareplus(ones({2}), -1); }, "squareplus: b = -1 must not be negative");
}
TEST(Activations, Bf16IsRoundedOnce) {
  auto x = rnd({3, 4}, 4).astype(bf16), w = x.astype(f32);
  const std::function<Array(const Array&)> all_of_them[] = {
      [](const Array& a) { return mish(a); },
      [](const Array& a) { return hard_silu(a); },
      [](const Array& a) { return glu(a); },
      [](const Array& a) { return selu(a); },
      [](const Array& a) { return squareplus(a); },
      [](const Array& a) { return special::gammaln(a); },
      [](const Array& a) { return stats::norm::logpdf(a, 0.5, 2); }};
  int i = 0;
  for (auto& f : all_of_them) EXPECT_EQ(worst(f(x), f(w).astype(bf16)), 0) << "function " << i++;
}
}  // namespace
}  // namespace bora::laws::names_activations_test
