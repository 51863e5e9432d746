#include "bora/optim/optim.h"
#include <gtest/gtest.h>
#include <cmath>
#include <complex>
#include "bora/bora.h"

namespace bora::optim_test {
namespace {
struct Params {
  Array weight, bias;
};
Params params() { return {array({1., -2., 3.}), array({0.5})}; }
Params grads() { return {array({0.1, 0.2, -0.3}), array({4.})}; }

TEST(Optim, AdamWFollowsOptax) {
  // optax.adamw(1e-1, weight_decay=0.1), three updates with constant gradients, in closed form: with a constant
  // gradient m_hat = g and v_hat = g^2, so each update is -lr * (g / (|g| + eps) + wd * p).
  auto tx = optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1});
  auto p = params();
  auto state = tx.init(p);
  std::vector<double> want{1, -2, 3}, g{0.1, 0.2, -0.3};
  for (int i = 0; i < 3; ++i) {
    auto [u, next] = tx.update(grads(), state, p);
    p = optim::apply_updates(p, u);
    state = next;
    for (std::size_t k = 0; k < 3; ++k) want[k] -= 0.1 * (g[k] / (std::abs(g[k]) + 1e-8) + 0.1 * want[k]);
  }
  auto got = p.weight.to_vector<double>();
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(got[k], want[k], 1e-5);
  EXPECT_EQ(state.entries.at("adam.count").item<int>(), 3);
  EXPECT_TRUE(state.entries.contains("adam.mu.weight"));
}
TEST(Optim, MomentsOfComplexNumbersTakeTheirSize) {  // as optax: |g|^2, so that a step has the direction of g
  Params p{array({std::complex<double>(1, 1), std::complex<double>(0, -2)}), array({0.5})};
  Params g{array({std::complex<double>(0, 2), std::complex<double>(3, 4)}), array({4.})};
  for (const auto& tx : {optim::scale_by_adam(), optim::scale_by_rms({.decay = 0, .eps = 1e-12})}) {
    auto u = tx.update(g, tx.init(p), p).updates.weight.to_vector<std::complex<double>>();
    EXPECT_NEAR(std::abs(u[0] - std::complex<double>(0, 1)), 0, 1e-5) << u[0];
    EXPECT_NEAR(std::abs(u[1] - std::complex<double>(0.6, 0.8)), 0, 1e-5) << u[1];
  }
}
TEST(Optim, NormsOfComplexNumbersTakeTheirSize) {
  using Number = std::complex<double>;
  Params p{array({Number(1, 1), Number(0, -2)}), array({0.5})};
  Params g{array({Number(0, 2), Number(3, 4)}), array({4.})};
  auto norm = std::sqrt(4 + 25 + 16.);
  EXPECT_NEAR(optim::global_norm(g).item<double>(), norm, 1e-5);
  struct Case {
    optim::Transform tx;
    double factor;  // of the weight's gradient
  };
  for (auto& [tx, factor] : {Case{optim::clip_by_global_norm(1), 1 / norm},
                             Case{optim::clip_by_block_rms(1), std::sqrt(2 / 29.)},
                             Case{optim::scale_by_param_block_rms(), std::sqrt(6 / 2.)},
                             Case{optim::scale_by_trust_ratio(), std::sqrt(6 / 29.)}}) {
    auto u = tx.update(g, tx.init(p), p).updates.weight.to_vector<Number>();
    EXPECT_NEAR(std::abs(u[1] - factor * Number(3, 4)), 0, 1e-5) << u[1];
  }
}
TEST(Optim, MaskSaysWhatDecays) {
  auto tx = optim::add_decayed_weights(0.5, [](const std::string& path, const Array&) { return path == "weight"; });
  auto zero = tree::map([](const Array& a) { return zeros_like(a); }, params());
  auto u = tx.update(zero, tx.init(params()), params()).updates;
  EXPECT_EQ(u.weight.to_vector<float>(), (std::vector<float>{0.5f, -1, 1.5f}));
  EXPECT_EQ(u.bias.item<float>(), 0);
}
TEST(Optim, ClipByGlobalNorm) {
  auto norm = optim::global_norm(grads()).item<double>();
  EXPECT_NEAR(norm, std::sqrt(0.01 + 0.04 + 0.09 + 16), 1e-6);
  auto clip = optim::clip_by_global_norm(1);
  auto u = clip.update(grads(), clip.init(params()), params()).updates;
  EXPECT_NEAR(optim::global_norm(u).item<double>(), 1, 1e-6);
  auto loose = optim::clip_by_global_norm(100);
  EXPECT_EQ(loose.update(grads(), {}, params()).updates.bias.item<float>(), 4);
  EXPECT_THROW((void)optim::clip_by_global_norm(0), ValueError);
}
TEST(Optim, SchedulesFollowOptax) {
  auto at = [](const optim::Schedule& s, int step) { return s(array(step)).item<double>(); };
  auto s = optim::warmup_cosine_decay_schedule(0, 1, 10, 110, 0.1);
  EXPECT_NEAR(at(s, 0), 0, 1e-7);
  EXPECT_NEAR(at(s, 5), 0.5, 1e-6);
  EXPECT_NEAR(at(s, 10), 1, 1e-6);
  EXPECT_NEAR(at(s, 60), 0.55, 1e-6);
  EXPECT_NEAR(at(s, 110), 0.1, 1e-6);
  EXPECT_NEAR(at(s, 500), 0.1, 1e-6);
  EXPECT_NEAR(at(optim::linear_schedule(1, 3, 4), 2), 2, 1e-6);
  EXPECT_THROW((void)optim::warmup_cosine_decay_schedule(0, 1, 10, 10), ValueError);
}
TEST(Optim, ChainPassesStateAndStagesOnce) {
  auto tx = optim::chain(optim::clip_by_global_norm(1),
                         optim::adamw({.learning_rate = optim::warmup_cosine_decay_schedule(0, 0.1, 2, 10)}));
  auto step = jit([&](const Params& p, const optim::State& s, const Params& g) {
    auto [u, next] = tx.update(g, s, p);
    return std::pair{optim::apply_updates(p, u), next};
  });
  auto p = params();
  auto s = tx.init(p);
  for (int i = 0; i < 3; ++i) std::tie(p, s) = step(std::move(p), std::move(s), grads());
  EXPECT_EQ(step.traces(), 1);
  EXPECT_EQ(s.entries.at("learning_rate.count").item<int>(), 3);
}
TEST(Optim, AStateOfOtherParametersIsAnError) {
  auto tx = optim::scale_by_adam();
  EXPECT_THROW((void)tx.update(params(), optim::State{}, params()), ValueError);
}
}  // namespace
}  // namespace bora::optim_test
