// Laws of gradient transformations: every sample of every registered one, and the optimizers made of them, give Optax's
// numbers (tests/golden/make_optim.py), the same bits under jit and after a checkpoint, and the same numbers on a mesh.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <regex>
#include <set>
#include "bora/bora.h"
#include "bora/optim/config.h"
#include "bora/optim/optim.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace bora::law_test {
namespace {
constexpr int kSteps = 4;
struct Params {
  nn::LayerNorm norm;
  nn::Linear up;
  Array plain;
  NamedArray stack;
  Array number;
};
/// The script's formula.
Params formula(double seed, double scale) {
  Axis in{"in", 6}, out{"out", 4}, layers{"layers", 2}, embed{"embed", 6}, heads{"heads", 2}, size{"head_size", 3};
  auto key = random::key(0);
  Params p{nn::LayerNorm::init(in), nn::Linear::init(in, out, key), zeros({5, 3}),
           named(zeros({2, 6, 2, 3}), {layers, embed, heads, size}), zeros({})};
  auto leaves = tree::leaves(p);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    std::vector<float> v(static_cast<std::size_t>(leaves[k].size()));
    for (std::size_t i = 0; i < v.size(); ++i) {
      auto n = static_cast<double>(i);
      v[i] = static_cast<float>(scale * std::sin(seed + static_cast<double>(k) + 0.37 * n + 0.05 * n * n));
    }
    leaves[k] = from_bytes({leaves[k].shape(), f32}, v.data());
  }
  return tree::unflatten(p, leaves);
}
Params gradients(int step) { return formula(10.0 + 5 * step, 0.4); }

struct Subject {
  std::string name;
  optim::Transform transform;
};
std::vector<Subject> subjects() {
  std::vector<Subject> r;
  for (auto& entry : optim::registry()) {
    auto samples = entry.samples();
    EXPECT_FALSE(samples.empty()) << entry.name << " has no samples(): the laws have nothing to try";
    for (std::size_t i = 0; i < samples.size(); ++i)
      r.push_back({std::string(entry.name) + "." + std::to_string(i), samples[i]});
  }
  auto ramp = optim::linear_schedule(0, 0.1, 3);
  r.push_back({"adamw", optim::AdamWConfig{}.make(ramp)});
  r.push_back({"adam", optim::adam({.learning_rate = 0.01})});
  r.push_back({"amsgrad", optim::amsgrad({.learning_rate = 0.01})});
  r.push_back({"adabelief", optim::adabelief({.learning_rate = 0.01, .moments = {.eps = 1e-3}})});
  r.push_back({"yogi", optim::yogi({.learning_rate = 0.01})});
  r.push_back({"radam", optim::radam({.learning_rate = 0.01})});
  r.push_back({"adan", optim::adan({.learning_rate = 0.1, .weight_decay = 0.1, .mask = optim::by_layer})});
  r.push_back({"adadelta",
               optim::adadelta({.learning_rate = 0.5, .weight_decay = 0.1, .mask = optim::by_layer})});
  r.push_back({"sign_sgd", optim::sign_sgd({.learning_rate = 0.01})});
  r.push_back({"lars", optim::lars({.learning_rate = 0.1,
                                    .weight_decay = 0.1,
                                    .weight_decay_mask = optim::by_layer,
                                    .trust_ratio_mask = optim::by_layer,
                                    .nesterov = true})});
  r.push_back({"sgd", optim::sgd({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true})});
  r.push_back({"lion", optim::LionConfig{}.make(ramp)});
  auto down = optim::linear_schedule(0.1, 0, 8);
  r.push_back({"adafactor",
               optim::adafactor(
                   {.learning_rate = 0.1, .min_dim_size_to_factor = 3, .momentum = 0.9, .weight_decay_rate = 0.01})});
  r.push_back({"adafactor_settings", optim::AdafactorConfig{.min_dim_size_to_factor = 3}.make(down)});
  r.push_back({"adafactor_t5x", optim::adafactor({.learning_rate = down,
                                                  .weight_decay_rate_lr_exponent = 2,
                                                  .rules = optim::standard_factor_rules()})});
  r.push_back(
      {"rmsprop",
       optim::rmsprop(
           {.learning_rate = 0.01, .rms = {.eps = 1e-3}, .centered = true, .momentum = 0.9, .nesterov = true})});
  r.push_back({"adagrad", optim::adagrad({.learning_rate = 0.1})});
  r.push_back({"adamax", optim::adamax({.learning_rate = 0.01})});
  r.push_back({"nadamw",
               optim::adamw({.learning_rate = 0.01, .weight_decay = 0.1, .mask = optim::by_layer, .nesterov = true})});
  r.push_back({"lamb", optim::lamb({.learning_rate = 0.1, .weight_decay = 0.1, .mask = optim::by_layer})});
  r.push_back({"muon", optim::muon({.learning_rate = 0.1, .weight_decay = 0.1, .adam_weight_decay = 0.05})});
  for (auto& row : config::rows<optim::Kind>()) {  // every word of the settings, with the script's numbers
    config::Choice<optim::Kind> kind(row.type);
    auto given = config::parse_yaml("{lr: 0.1, clip: 1, schedule: {shape: constant, warmup: 3}}", "law");
    kind.edit().read_fields(given, "", {});
    r.push_back({"settings_" + std::string(row.type), kind->build(kSteps).transform});
  }
  return r;
}

struct Training {
  Params params;
  optim::State state;
};
using Place = std::function<Params(const Params&)>;
const Place as_it_is = [](const Params& p) { return p; };
Params split(const Params& p) {
  return tree::map([](const Array& a) { return a.ndim() == 0 ? a : with_sharding_constraint(a, Spec{"data"}); }, p);
}
Training begin(const optim::Transform& tx, const Place& place = as_it_is) {
  auto p = place(formula(0.3, 1));
  return {p, tx.init(p)};
}
Training step(const optim::Transform& tx, const Training& r, const Params& g) {
  auto [updates, next] = tx.update(g, r.state, r.params);
  return {optim::apply_updates(r.params, updates), next};
}
Training steps(const optim::Transform& tx, Training r, int from, int to, const Place& place = as_it_is) {
  for (int i = from; i < to; ++i) r = step(tx, r, place(gradients(i)));
  return r;
}
/// tolerance: relative to a leaf's largest number, since a parameter near 0 is a difference of larger ones.
void expect_same(const Training& a, const Training& b, double tolerance) {
  ASSERT_EQ(tree::paths(a), tree::paths(b));
  auto x = tree::leaves(a), y = tree::leaves(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].type(), y[i].type());
    auto u = x[i].to_vector<double>(), v = y[i].to_vector<double>();
    double largest = 0;
    for (auto number : v) largest = std::max(largest, std::abs(number));
    for (std::size_t k = 0; k < u.size(); ++k)
      ASSERT_NEAR(u[k], v[k], tolerance * largest) << tree::paths(a)[i] << " [" << k << "]";
  }
}

TEST(OptimLaws, EveryTransformationGivesOptaxsNumbers) {
  std::ifstream file(test::source_dir() + "/tests/golden/optim.txt");
  std::map<std::string, std::vector<double>> golden;
  for (std::string line, name, number, path; std::getline(file, line);) {
    std::istringstream in(line);
    in >> name >> number >> path;
    for (double x; in >> x;) golden[name + " " + number + " " + path].push_back(x);
  }
  for (auto& [name, tx] : subjects()) {
    auto r = begin(tx);
    for (int i = 0; i < kSteps; ++i) {
      auto [updates, next] = tx.update(gradients(i), r.state, r.params);
      r = {optim::apply_updates(r.params, updates), next};
      tree::for_each(
          [&, i = i, name = name](const std::string& path, const Array& u) {
            auto entry = name + " " + std::to_string(i) + " " + path;
            ASSERT_TRUE(golden.contains(entry)) << entry << ": add the case to tests/golden/make_optim.py";
            auto got = u.to_vector<double>(), want = golden.at(entry);
            ASSERT_EQ(got.size(), want.size()) << entry;
            for (std::size_t k = 0; k < got.size(); ++k)
              ASSERT_NEAR(got[k], want[k], 1e-6 + 4e-6 * std::abs(want[k])) << entry << " [" << k << "]";
          },
          updates);
    }
  }
}
TEST(OptimLaws, JitIsEager) {
  for (auto& [name, tx] : subjects()) {
    SCOPED_TRACE(name);
    auto staged = jit([tx = tx](const Training& r, const Params& g) { return step(tx, r, g); });
    auto r = begin(tx);
    for (int i = 0; i < kSteps; ++i) r = staged(r, gradients(i));
    EXPECT_EQ(staged.traces(), 1);
    expect_same(r, steps(tx, begin(tx), 0, kSteps), 0);
  }
}
TEST(OptimLaws, AMeshGivesTheSameNumbersAndKeepsPlaces) {
  for (auto& [name, tx] : subjects()) {
    auto alone = steps(tx, begin(tx), 0, kSteps);
    local_mesh({{"data", 2}}, [&, name = name, tx = tx](const Mesh&) {
      SCOPED_TRACE(name);
      auto begun = begin(tx, split);
      for (auto& place : {Place(split), as_it_is}) {  // gradients may be split in another way than parameters
        auto r = steps(tx, begun, 0, kSteps, place);
        expect_same(r, alone, 2e-6);
        auto before = tree::leaves(begun), after = tree::leaves(r);
        for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].spec(), before[i].spec());
      }
    });
  }
}
TEST(OptimLaws, ACheckpointContinues) {
  test::TempFolder temp;
  auto folder = temp / "tree";
  for (auto& [name, tx] : subjects()) {
    SCOPED_TRACE(name);
    save_tree(folder, steps(tx, begin(tx), 0, 2));
    auto back = load_tree(folder, begin(tx));
    expect_same(steps(tx, back, 2, kSteps), steps(tx, begin(tx), 0, kSteps), 0);
  }
}
TEST(OptimLaws, ParametersOfBf16HaveAStateOfF32) {
  auto narrow = [](const Params& p) { return tree::map([](const Array& a) { return a.astype(bf16); }, p); };
  auto wide = [](const Params& p) { return tree::map([](const Array& a) { return a.astype(f32); }, p); };
  for (auto& [name, tx] : subjects()) {
    SCOPED_TRACE(name);
    auto p = narrow(formula(0.3, 1));
    Training r{p, tx.init(p)}, same{wide(p), tx.init(wide(p))};
    for (int i = 0; i < kSteps; ++i) {
      auto g = narrow(gradients(i));
      auto [updates, next] = tx.update(g, r.state, r.params);
      auto [exact, also] = tx.update(wide(g), same.state, same.params);
      r = {optim::apply_updates(r.params, updates), next};
      for (auto& [entry, value] : next.entries) EXPECT_NE(value.dtype(), Dtype::bf16) << entry;
      expect_same({wide(r.params), next}, {wide(narrow(optim::apply_updates(same.params, exact))), also}, 0);
      same = {wide(r.params), also};
    }
    for (auto& x : tree::leaves(r.params)) EXPECT_EQ(x.dtype(), Dtype::bf16);
  }
}
TEST(OptimLaws, MomentsMayBeStoredInBf16) {
  for (auto& [name, tx] : subjects()) {
    SCOPED_TRACE(name);
    auto stored = tx.storing(Dtype::bf16, {"mu", "trace"});
    auto r = begin(stored);
    auto s = begin(tx);
    double rounded = 0;  // Yogi's means begin with 1e-6, which is rounded
    for (auto& [entry, value] : r.state.entries) {
      auto moment = entry.find("mu.") != entry.npos || entry.find("trace.trace") != entry.npos;
      if (moment && any(value != 0).item<bool>()) rounded = 1e-6;
      EXPECT_EQ(value.dtype() == Dtype::bf16, moment) << entry;
    }
    auto first = step(stored, r, gradients(0));  // made from moments that are not rounded
    expect_same({first.params, {}}, {step(tx, s, gradients(0)).params, {}}, rounded);
    auto more = steps(stored, first, 1, kSteps);
    EXPECT_EQ(more.state.entries.size(), s.state.entries.size());
    for (auto& [entry, value] : more.state.entries) EXPECT_EQ(value.dtype(), r.state.entries.at(entry).dtype());
  }
}
TEST(OptimLaws, NamesAreWordsThatNoOtherHas) {
  std::set<std::string_view> names;
  for (auto& entry : optim::registry()) {
    EXPECT_TRUE(std::regex_match(std::string(entry.name), std::regex("[a-z_]+"))) << entry.name;  // digits count twins
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
  }
  EXPECT_GE(names.size(), 26U);
}
}  // namespace
}  // namespace bora::law_test
