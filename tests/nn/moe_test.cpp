// The layer of experts against every expert computed for every token.
#include "bora/nn/moe.h"
#include "bora/ops/contractions.h"
#include <sstream>
#include "laws/laws.h"

namespace bora::laws::moe_test {
namespace {
using nn::Moe, nn::RouterWeights;
const Axis kBatch{nn::kBatch, 4}, kPosition{nn::kPosition, 7}, kEmbed{nn::kEmbed, 6}, kHidden{nn::kMlp, 5};
Moe moe(std::int64_t experts, std::int64_t chosen, RouterWeights weights = RouterWeights::renormalized,
        int seed = 3) {
  auto m = Moe::init({nn::kExperts, experts}, kEmbed, kHidden, chosen, random::key(static_cast<std::uint32_t>(seed)),
                     {.weight = nn::Init::normal(0.6), .weights = weights});
  return tree::map([](const Array& a) { return a.astype(f64); }, m);
}
NamedArray input(int seed = 1) {
  std::vector<Axis> axes{kBatch, kPosition, kEmbed};
  return {rnd(shape_of(axes), seed), axes};
}
/// Every expert for every token, weighted by zero where it is not chosen.
NamedArray dense(const Moe& m, const NamedArray& x) {
  auto scores = m.router(x).array();
  auto chosen = top_k(scores, m.chosen).indices;
  auto mask = sum(one_hot(chosen, scores.shape(-1), f64), -2);
  auto p = softmax(scores) * mask;
  if (m.weights == RouterWeights::renormalized) p = p / sum(p, -1, {.keepdims = true});
  Array y = zeros_like(x.array());
  for (std::int64_t e = 0; e < scores.shape(-1); ++e) {
    auto of = [&](const NamedArray& w) { return view(w.array(), e); };
    auto with = [&](const Array& v, const std::optional<NamedArray>& bias) { return bias ? v + of(*bias) : v; };
    auto h = with(matmul(x.array(), of(m.gate)), m.gate_bias), u = with(matmul(x.array(), of(m.up)), m.up_bias);
    auto slope = m.clamped ? m.clamped->slope : 1;
    if (m.clamped) h = where(h > m.clamped->limit, m.clamped->limit, h);
    if (m.clamped) u = 1 + where(abs(u) > m.clamped->limit, sign(u) * m.clamped->limit, u);
    y = y + with(matmul(h * sigmoid(h * slope) * u, of(m.down)), m.down_bias) * slice_in_dim(p, -1, e, e + 1);
  }
  return {y, x.axes()};
}
using Layer = std::function<NamedArray(const Moe&, const NamedArray&)>;
Arrays with_gradients(const Moe& m, const NamedArray& x, const Layer& f) {
  auto loss = [&](const std::pair<Moe, NamedArray>& in) {
    auto y = f(in.first, in.second);
    return sum(y.array() * rnd(y.array().shape(), 9).astype(y.dtype()));
  };
  auto in = std::pair{m, x};
  return joined({f(m, x).array()}, tree::leaves(grad(loss)(in)));
}
NamedArray layer(const Moe& m, const NamedArray& x) { return m(x); }

TEST(Moe, IsTheDenseLoopOverExperts) {
  for (auto weights : {RouterWeights::renormalized, RouterWeights::probabilities})
    for (std::int64_t experts : {1, 3, 5})
      for (std::int64_t chosen = 1; chosen <= experts; ++chosen) {
        auto m = moe(experts, chosen, weights);
        close(with_gradients(m, input(), layer), with_gradients(m, input(), dense), 1e-12,
              std::to_string(chosen) + " of " + std::to_string(experts));
      }
}
/// With biases, and gates some of which reach their limit.
Moe biased(std::int64_t experts, std::int64_t chosen) {
  auto m = Moe::init({nn::kExperts, experts}, kEmbed, kHidden, chosen, random::key(4),
                     {.weight = nn::Init::normal(0.6), .use_bias = true, .clamped = nn::ClampedGate{1.2, 0.7}});
  int seed = 20;
  for (auto* b : {&m.router.bias, &m.gate_bias, &m.up_bias, &m.down_bias})
    **b = NamedArray(rnd((*b)->array().shape(), ++seed), (*b)->axes());
  return tree::map([](const Array& a) { return a.astype(f64); }, m);
}
TEST(Moe, BiasesAndTheClampedGate) {
  for (std::int64_t experts : {1, 3, 5})
    for (std::int64_t chosen = 1; chosen <= experts; ++chosen) {
      auto m = biased(experts, chosen);
      close(with_gradients(m, input(), layer), with_gradients(m, input(), dense), 1e-12,
            std::to_string(chosen) + " of " + std::to_string(experts));
    }
}
TEST(Moe, AllTokensToOneExpert) {
  auto m = moe(4, 1);
  // Scores of expert 2 are the largest: x has a first element of 1, and the router reads only that.
  auto x = input();
  x = NamedArray(concatenate({ones({4, 7, 1}, f64), slice_in_dim(x.array(), 2, 1, 6)}, 2), x.axes());
  std::vector<double> router(24, 0);
  router[2] = 5;
  m.router.weight = NamedArray(asarray(router, Shape{6, 4}), m.router.weight.axes());
  auto report = m.reported(x).second;
  EXPECT_EQ(report.load.to_vector<double>(), (std::vector<double>{0, 0, 1, 0}));
  auto got = with_gradients(m, x, layer);
  close(got, with_gradients(m, x, dense), 1e-12, "one expert");
  for (std::int64_t e : {0, 1, 3})
    for (std::size_t leaf : {2u, 3u, 4u})  // gate, up and down
      EXPECT_EQ(amax(abs(view(got[leaf], e))).item<double>(), 0) << "expert " << e << " has no tokens";
  EXPECT_GT(amax(abs(view(got[2], 2))).item<double>(), 0);
}
TEST(Moe, OfEqualScoresTheLowerExpertsAreChosen) {
  auto m = moe(5, 3);
  m.router.weight = NamedArray(zeros({6, 5}, f64), m.router.weight.axes());
  EXPECT_EQ(m.reported(input()).second.load.to_vector<double>(), (std::vector<double>{1, 1, 1, 0, 0}));
  close({m(input()).array()}, {dense(m, input()).array()}, 1e-12, "ties");
}
TEST(Moe, VmapIsALoop) {
  Axis runs{"run", 3};
  Arrays xs, each;
  for (int i = 0; i < 3; ++i) xs.push_back(input(20 + i).array());
  NamedArray all(stack(xs), {runs, kBatch, kPosition, kEmbed});
  auto m = moe(4, 2);
  for (int i = 0; i < 3; ++i) each.push_back(m(input(20 + i)).array());
  auto y = vmap([&](const NamedArray& x) { return m(x); }, runs)(all);
  close({y.array()}, {stack(each)}, 1e-12, "inputs are mapped");
  auto slopes = [](const Moe& n, const NamedArray& x) {
    return grad([&](const Moe& k) { return sum(square(k(x))).array(); })(n);
  };
  auto mapped = tree::leaves(vmap([&](const NamedArray& x) { return slopes(m, x); }, runs)(all));
  for (std::size_t leaf = 0; leaf < mapped.size(); ++leaf) {
    Arrays one;
    for (int i = 0; i < 3; ++i) one.push_back(tree::leaves(slopes(m, input(20 + i)))[leaf]);
    close({mapped[leaf]}, {stack(one)}, 1e-12, "gradients");
  }
}
TEST(Moe, ATokenAloneHasNoAxes) {
  auto m = moe(4, 2);
  auto x = input();
  auto want = m(x)[{{nn::kBatch, 1}, {nn::kPosition, 3}}];
  close({m(x[{{nn::kBatch, 1}, {nn::kPosition, 3}}]).array()}, {want.array()}, 1e-12, "one token");
}

// ---- on a mesh ------------------------------------------------------------------------------------------------------
struct Layout {
  std::string name;
  std::vector<MeshAxis> mesh;
  AxisMapping mapping;
};
std::vector<Layout> layouts() {
  Rule experts{nn::kExperts, "model"}, batch{nn::kBatch, "data"}, hidden{nn::kMlp, "model"};
  return {{"experts over 2", {{"model", 2}}, {experts}},
          {"experts over 3", {{"model", 3}}, {experts}},  // 4 experts: each is a stack of its own
          {"experts over 4", {{"model", 4}}, {experts}},
          {"experts over unequal ranks", {{"model", 2, {1, 3}}}, {experts}},
          {"experts and rows", {{"data", 2}, {"model", 2}}, {experts, batch}},
          {"experts before hidden units", {{"data", 3}, {"model", 2}}, {experts, hidden, batch}},
          {"hidden units", {{"data", 2}, {"model", 2}}, {hidden, batch}},
          {"experts over the axis of the rows", {{"data", 2}}, {{nn::kExperts, "data"}, batch}}};
}
TEST(Moe, ShardedIsLocal) {
  for (auto& m : {moe(4, 2), biased(4, 2)}) {
    auto want = with_gradients(m, input(), layer);
    auto report = tree::leaves(m.reported(input()).second);
    for (auto& layout : layouts())
      for (bool staged : {false, true})
        local_mesh(layout.mesh, [&](const Mesh& mesh) {
          UseMapping split(layout.mapping);
          auto what = layout.name + (m.clamped ? ", biases" : "") + (staged ? ", staged" : "");
          auto mine = sharded(m, layout.mapping);
          auto x = auto_sharded(input());
          auto f = [](const Moe& n, const NamedArray& v) { return with_gradients(n, v, layer); };
          auto reports = [](const Moe& n, const NamedArray& v) { return n.reported(v).second; };
          close(gathered(staged ? jit(f)(mine, x) : f(mine, x)), want, 1e-12, what);
          close(gathered(tree::leaves(staged ? jit(reports)(mine, x) : reports(mine, x))), report, 1e-12, what);
          if (!staged) return;
          auto staged_f = jit(f);
          auto program = fx::local_program(program_of(staged_f, mine, x), staged_f.inputs(mine, x));
          same_everywhere(mesh, *program, what);
        });
  }
}
TEST(Moe, ExpertsAreNeverGathered) {
  auto m = moe(4, 2);
  local_mesh({{"model", 2}}, [&](const Mesh& mesh) {
    AxisMapping mapping{{nn::kExperts, "model"}};
    UseMapping split(mapping);
    auto mine = sharded(m, mapping);
    auto x = auto_sharded(input());
    auto f = jit([](const Moe& n, const NamedArray& v) { return with_gradients(n, v, layer); });
    auto program = fx::local_program(program_of(f, mine, x), f.inputs(mine, x));
    std::ostringstream text;
    text << *program;
    if (mesh.rank() > 0) return;
    EXPECT_EQ(count(*program, "all_to_all"), 0u) << text.str();
    EXPECT_EQ(text.str().find("[4, 6, 5]"), std::string::npos) << "no rank has all experts\n" << text.str();
  });
}

// ---- losses ---------------------------------------------------------------------------------------------------------
TEST(RouterLosses, AreTheirFormulas) {
  auto m = moe(4, 2);
  auto x = input();
  auto report = m.reported(x).second;
  auto scores = reshape(m.router(x).array(), {28, 4});
  auto picks = sum(one_hot(top_k(scores, 2).indices, 4, f64), 1);
  auto want = 4 * sum(mean(picks, 0) * mean(softmax(scores), 0)).item<double>();
  EXPECT_NEAR(nn::load_balancing_loss(report).item<double>(), want, 1e-12);
  EXPECT_NEAR(nn::router_z_loss(report).item<double>(), mean(square(logsumexp(scores, 1))).item<double>(), 1e-12);
  m.router.weight = NamedArray(zeros({6, 4}, f64), m.router.weight.axes());
  EXPECT_NEAR(nn::load_balancing_loss(m.reported(x).second).item<double>(), 2, 1e-12) << "even probabilities";
}
TEST(RouterLosses, CountOnlyTokensThatCount) {
  auto m = moe(4, 2);
  auto x = input();
  NamedArray counts(array({{true, true, true, true, true, true, true},
                           {true, false, false, false, false, false, false},
                           {false, false, false, false, false, false, false},
                           {true, true, false, false, false, false, false}}),
                    {kBatch, kPosition});
  auto rows = reshape(x.array(), {28, 6});
  auto kept = take(rows, array({0, 1, 2, 3, 4, 5, 6, 7, 21, 22}));
  auto want = m.reported(NamedArray(kept, {{nn::kPosition, 10}, kEmbed})).second;
  auto got = m.reported(x, counts).second;
  close(tree::leaves(got), tree::leaves(want), 1e-12, "masked");
  for (auto& a : tree::leaves(m.reported(x, counts != counts).second))
    EXPECT_EQ(amax(abs(a)).item<double>(), 0) << "no token counts";
}
TEST(RouterLosses, TheGradientReachesTheRouterOnly) {
  auto m = moe(4, 2);
  auto g = grad([&](const Moe& n) { return nn::load_balancing_loss(n.reported(input()).second).array(); })(m);
  EXPECT_GT(amax(abs(g.router.weight.array())).item<double>(), 0);
  EXPECT_EQ(amax(abs(g.gate.array())).item<double>(), 0);
}
TEST(Moe, ErrorsSayWhatToDo) {
  auto make = [](std::int64_t chosen) { return Moe::init({nn::kExperts, 4}, kEmbed, kHidden, chosen, random::key(1)); };
  EXPECT_THROW((void)make(0), ValueError);
  EXPECT_THROW((void)make(5), ValueError);
  EXPECT_THROW((void)Moe::init({"other", 4}, kEmbed, kHidden, 2, random::key(1)), AxisError);
  EXPECT_THROW((void)make(2)(NamedArray(zeros({4}), {{"batch", 4}})), AxisError);
}
}  // namespace
}  // namespace bora::laws::moe_test
