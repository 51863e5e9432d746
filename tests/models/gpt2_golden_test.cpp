// One GPT-2 against JAX and Optax: loss, every gradient leaf, parameters after three AdamW steps
// (tests/golden/make_gpt2.py).
#include "bora/models/gpt2.h"
#include <gtest/gtest.h>
#include <cmath>
#include <fstream>
#include "bora/bora.h"
#include "bora/optim/optim.h"
#include "support/places.h"

namespace bora::gpt2_golden_test {
namespace {
constexpr std::int64_t kBatch = 3;
const models::Gpt2Config kConfig{.layers = 2, .embed = 16, .heads = 4, .positions = 8};
struct Golden {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> grad, after;
};
Golden read_golden() {
  std::ifstream f(test::source_dir() + "/tests/golden/gpt2.txt");
  Golden g;
  std::string line;
  while (std::getline(f, line)) {
    std::istringstream in(line);
    std::string kind, name;
    in >> kind;
    if (kind == "losses") {
      for (double x; in >> x;) g.losses.push_back(x);
    } else if (kind == "grad" || kind == "after") {
      std::size_t n;
      in >> name >> n;
      auto& v = (kind == "grad" ? g.grad : g.after)[name];
      for (double x; in >> x;) v.push_back(x);
      EXPECT_EQ(v.size(), n) << name;
    }
  }
  return g;
}
/// The same formula as the script's.
models::Gpt2 formula_model() {
  auto m = models::Gpt2::init(kConfig, 19, random::key(0));
  auto paths = tree::paths(m);
  auto leaves = tree::leaves(m);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    auto& p = paths[k];
    bool norm = p.find("ln_") != std::string::npos, bias = p.ends_with("bias");
    double scale = p == "wpe" || bias || p.ends_with("mlp.up.weight") ? 0.1
                   : norm                                             ? 0.2
                                                                      : 0.3,
           offset = norm && !bias ? 1 : 0;
    std::vector<float> v(static_cast<std::size_t>(leaves[k].size()));
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<float>(scale * std::sin(static_cast<double>(k) + 0.37 * static_cast<double>(i)) + offset);
    leaves[k] = asarray(v, leaves[k].shape());
  }
  return tree::unflatten(m, leaves);
}
NamedArray tokens(int shift) {
  std::vector<std::int32_t> v;
  for (int b = 0; b < kBatch; ++b)
    for (int p = 0; p < 8; ++p) v.push_back((7 * (b * 8 + p + shift) + 3 * b) % 19);
  return named(asarray(v, Shape{kBatch, 8}), {Axis{"batch", kBatch}, kConfig.position_axis()});
}
/// Largest difference relative to the leaf's largest number.
double relative(const Array& got, const std::vector<double>& want) {
  auto v = got.to_vector<double>();
  double most = 1e-30, diff = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    most = std::max(most, std::abs(want[i]));
    diff = std::max(diff, std::abs(v[i] - want[i]));
  }
  return diff / most;
}
TEST(Gpt2Golden, LossGradientsAndThreeSteps) {
  auto golden = read_golden();
  ASSERT_EQ(golden.losses.size(), 3u);
  auto m = formula_model();
  auto x = tokens(0), y = tokens(1);
  auto loss = [&](const models::Gpt2& p) { return mean(nn::cross_entropy(p(x), "vocab", y)).array(); };
  auto paths = tree::paths(m);
  ASSERT_EQ(paths.size(), golden.grad.size());
  auto [l, g] = jit(value_and_grad(loss))(m);
  EXPECT_NEAR(l.item<double>() / golden.losses[0], 1, 1e-5);
  auto grads = tree::leaves(g);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    ASSERT_TRUE(golden.grad.count(paths[i])) << paths[i];
    if (paths[i].ends_with("attn.k.bias")) continue;  // its true gradient is zero: what is there is rounding
    EXPECT_LT(relative(grads[i], golden.grad[paths[i]]), 1e-5) << paths[i];
  }
  auto tx = optim::chain(optim::clip_by_global_norm(1.0), optim::adamw({.learning_rate = 3e-3, .weight_decay = 0.1}));
  auto state = tx.init(m);
  auto step = jit([&](const models::Gpt2& p, const optim::State& s) {
    auto [v, d] = value_and_grad(loss)(p);
    auto [u, next] = tx.update(d, s, p);
    return std::tuple{optim::apply_updates(p, u), next, v};
  });
  for (int i = 0; i < 3; ++i) {
    auto r = step(std::move(m), std::move(state));
    m = std::move(std::get<0>(r));
    state = std::move(std::get<1>(r));
    EXPECT_NEAR(std::get<2>(r).item<double>() / golden.losses[static_cast<std::size_t>(i)], 1, 1e-5) << "step " << i;
  }
  auto after = tree::leaves(m);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].ends_with("attn.k.bias")) continue;
    EXPECT_LT(relative(after[i], golden.after[paths[i]]), 1e-5) << paths[i];
  }
}
}  // namespace
}  // namespace bora::gpt2_golden_test
