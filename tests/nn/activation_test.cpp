// Words of activations: each names its formula, and settings and config.json read them from the same table.
#include "bora/nn/activation.h"
#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include <set>
#include "bora/bora.h"
#include "bora/config/config.h"
#include "support/throws.h"

namespace bora::activation_test {
namespace {
using nn::Activation;
using Formula = std::function<double(double)>;
double sigma(double x) { return 1 / (1 + std::exp(-x)); }
double tanh_form(double x) { return x / 2 * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }
double exact_form(double x) { return x / 2 * std::erfc(-x * 0.70710678118654752440); }
double soft_plus(double x) { return std::log1p(std::exp(x)); }
double unit(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }
double part(double x) { return std::clamp(x / 6 + 0.5, 0., 1.); }
const std::map<std::string, Formula> kFormulas{
    {"relu", [](double x) { return std::max(x, 0.); }},
    {"gelu", exact_form},
    {"gelu_exact", exact_form},
    {"gelu_new", tanh_form},
    {"gelu_fast", tanh_form},
    {"gelu_pytorch_tanh", tanh_form},
    {"silu", [](double x) { return x * sigma(x); }},
    {"swish", [](double x) { return x * sigma(x); }},
    {"identity", [](double x) { return x; }},
    {"linear", [](double x) { return x; }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sigmoid", sigma},
    {"logistic", sigma},
    {"elu", [](double x) { return unit(x, 1); }},
    {"celu", [](double x) { return unit(x, 1); }},
    {"selu", [](double x) { return 1.0507009873554804934 * unit(x, 1.6732632423543772848); }},
    {"leaky_relu", [](double x) { return x > 0 ? x : 0.01 * x; }},
    {"relu6", [](double x) { return std::clamp(x, 0., 6.); }},
    {"relu_squared", [](double x) { return x > 0 ? x * x : 0; }},
    {"relu2", [](double x) { return x > 0 ? x * x : 0; }},
    {"softplus", soft_plus},
    {"soft_sign", [](double x) { return x / (1 + std::abs(x)); }},
    {"softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"squareplus", [](double x) { return (x + std::sqrt(x * x + 4)) / 2; }},
    {"mish", [](double x) { return x * std::tanh(soft_plus(x)); }},
    {"quick_gelu", [](double x) { return x * sigma(1.702 * x); }},
    {"hard_tanh", [](double x) { return std::clamp(x, -1., 1.); }},
    {"hard_sigmoid", part},
    {"hard_silu", [](double x) { return x * part(x); }},
    {"hard_swish", [](double x) { return x * part(x); }},
    {"log_sigmoid", [](double x) { return -soft_plus(-x); }},
    {"sparse_plus", [](double x) { return x <= -1 ? 0 : x >= 1 ? x : (x + 1) * (x + 1) / 4; }},
    {"sparse_sigmoid", [](double x) { return std::clamp((x + 1) / 2, 0., 1.); }},
};
const Axis kAll{"n", 97};
/// From -8 to 8, with 0 and the corners of the functions.
NamedArray numbers() { return arange(kAll).astype(f64) / 6 - 8; }
struct Settings {
  Activation activation = Activation::relu;
  static constexpr config::Meaning meanings[] = {{"activation", "of the layer"}};
};
Settings read(const std::string& yaml) {
  Settings s;
  config::read(config::parse_yaml(yaml, "a.yaml"), s, "", config::schema(s));
  return s;
}

TEST(Activation, EveryWordIsItsFormula) {
  auto x = numbers();
  auto at = x.to_vector<double>();
  std::set<std::string> seen;
  for (auto& row : nn::words_of()) {
    std::string word(row.word);
    EXPECT_TRUE(seen.insert(word).second) << word << " stands twice";
    EXPECT_EQ(nn::activation(word), row.value) << word;
    ASSERT_TRUE(kFormulas.contains(word)) << word;
    auto got = nn::activate(nn::activation(word), x);
    EXPECT_EQ(got.dtype(), f64) << word;
    auto y = got.to_vector<double>();
    for (std::size_t i = 0; i < at.size(); ++i) {
      auto want = kFormulas.at(word)(at[i]);
      EXPECT_NEAR(y[i], want, 1e-13 * std::max(1., std::abs(want))) << word << " of " << at[i];
    }
  }
  EXPECT_EQ(seen.size(), kFormulas.size());
}
TEST(Activation, TheFirstRowsAreTheNamesInTheOrderOfTheEnum) {
  auto rows = nn::words_of();
  int n = 0;
  for (; static_cast<std::size_t>(n) < rows.size() && rows[static_cast<std::size_t>(n)].call; ++n) {
    EXPECT_EQ(rows[static_cast<std::size_t>(n)].value, static_cast<Activation>(n));
    EXPECT_EQ(nn::to_string(static_cast<Activation>(n)), rows[static_cast<std::size_t>(n)].word);
  }
  EXPECT_EQ(n, 1 + static_cast<int>(Activation::sparse_sigmoid));
  for (auto& row : rows) EXPECT_LT(static_cast<int>(row.value), n) << row.word;
  test::says<ValueError>([] { return nn::activation("tan"); }, "activation: no function 'tan'; there are relu, gelu, ");
  test::says<ValueError>([] { return nn::activate(static_cast<Activation>(99), numbers()); }, "no function 99");
}
TEST(Activation, TheWordGeluIsExactAndTheFunctionTheTanhForm) {
  auto x = numbers();
  auto exact = gelu(x, {.approximate = false}), tanh_form = gelu(x);
  EXPECT_GT(amax(abs(exact - tanh_form)).item<double>(), 1e-4);
  for (auto word : {"gelu", "gelu_exact"})
    EXPECT_TRUE(array_equal(nn::activate(nn::activation(word), x).array(), exact.array())) << word;
  for (auto word : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"})
    EXPECT_TRUE(array_equal(nn::activate(nn::activation(word), x).array(), tanh_form.array())) << word;
  EXPECT_EQ(nn::Mlp{}.activation, Activation::gelu_new);
}
TEST(Activation, LayersTakeAllOfThem) {
  Axis embed{"embed", 3}, hidden{"mlp", 4};
  auto x = random::normal(random::key(1), {Axis{"batch", 2}, embed});
  for (auto& row : nn::words_of()) {
    auto f = row.value;
    auto mlp = nn::Mlp::init(embed, hidden, random::key(0), {}, {}, f);
    EXPECT_TRUE(array_equal(mlp(x).array(), mlp.down(nn::activate(f, mlp.up(x))).array())) << row.word;
    auto gated = nn::Mlp::gated(embed, hidden, random::key(0), {}, {}, f);
    EXPECT_TRUE(array_equal(gated(x).array(), gated.down(nn::activate(f, (*gated.gate)(x)) * gated.up(x)).array()))
        << row.word;
    auto deep = nn::DeepMlp::init(embed, hidden, {"width", 5}, 1, random::key(0), {.activation = f});
    EXPECT_TRUE(array_equal(deep(x).array(), deep.layers[1](nn::activate(f, deep.layers[0](x))).array())) << row.word;
  }
}
TEST(Activation, SettingsReadEveryWordAndWriteTheName) {
  for (auto& row : nn::words_of()) {
    auto s = read("activation: " + std::string(row.word));
    EXPECT_EQ(s.activation, row.value) << row.word;
    EXPECT_EQ(config::to_yaml(config::write(s)), "activation: " + std::string(nn::to_string(row.value)) + "\n");
  }
  // Words that runs of version 0.1 have written.
  EXPECT_EQ(read("activation: relu").activation, Activation::relu);
  EXPECT_EQ(read("activation: gelu").activation, Activation::gelu);
  EXPECT_EQ(read("activation: gelu_new").activation, Activation::gelu_new);
  EXPECT_EQ(read("activation: silu").activation, Activation::silu);
  test::says<ConfigError>([] { return read("activation: geluu"); },
                          "a.yaml:1: activation: expected one of relu, gelu, gelu_new, silu, identity, ");
}
}  // namespace
}  // namespace bora::activation_test
