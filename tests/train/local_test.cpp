// Laws of local steps: the number of ranks under the replicas changes no bit, and replicas that do not meet send
// nothing.
#include "bora/ops/contractions.h"
#include "bora/train/local.h"
#include <gtest/gtest.h>
#include <cstring>
#include "bora/bora.h"
#include "compile/api/executable.h"
#include "bora/train/trainer.h"
#include "laws/effort.h"
#include "support/bits.h"
#include "train/steps.h"

namespace local_test {
using namespace bora;

namespace {
constexpr std::int64_t kRows = 16, kPositions = 5, kTokens = 11, kWidth = 6, kHidden = 10;
const Axis kVocab{"vocab", 601}, kEmbed{"embed", kWidth}, kMlp{"mlp", kHidden}, kLayers{"layers", 3};
struct Model {
  NamedArray table;
  nn::LayerNorm norm;
  NamedArray up, bias, out, layered;
};
TrainTask<Model> task() {
  return {[](const Array& key) {
            auto k = random::split<3>(key);
            return Model{random::normal(k[0], {kVocab, kEmbed}), nn::LayerNorm::init(kEmbed),
                         random::normal(k[1], {kEmbed, kMlp}) * 0.3, zeros({kMlp}),
                         random::normal(k[2], {kMlp, Axis{"next", kTokens}}) * 0.3, zeros({kLayers, kMlp})};
          },
          [](const Model& m, const training::Example& e, const std::optional<Array>& key) {
            auto x = auto_sharded(take(auto_sharded(m.table), "vocab", e.tokens));
            auto h = tanh(dot(m.norm(x), auto_sharded(m.up), "embed") + auto_sharded(m.bias));
            h = h * (1.0 + sum(auto_sharded(m.layered) * (1.0 + arange(kLayers).astype(f32)), "layers"));
            if (key) h = h * (random::uniform(*key, h.axes()) + 0.5);
            auto scores = dot(auto_sharded(h), auto_sharded(m.out), "mlp");
            return sum(nn::cross_entropy(scores, "next", e.targets) * e.weights);
          }};
}
StepOptions options(bool fsdp = false, bool dropout = true) {
  auto rate = optim::warmup_cosine_decay_schedule(0.01, 0.1, 2, 9);
  return {.optimizer = optim::chain(optim::clip_by_global_norm(0.5), optim::adamw({.learning_rate = rate})),
          .learning_rate = rate,
          .dropout = dropout,
          .storage = fsdp ? AxisMapping{{"embed", "data"}} : AxisMapping{}};
}
GlobalBatch batch_of(std::int64_t step, const Mesh& mesh) {
  return test::batch_of(step, mesh, kRows, kPositions, [](std::int64_t i) {
    return test::Place{static_cast<std::int32_t>(i * 7 % 5 + i % 7), static_cast<std::int32_t>(i * 5 % 7 + i % 5),
                       i % 9 == 0 ? 0.0F : 1.0F};
  });
}
const AxisMapping kCompute{{"batch", {"replica", "data"}}};
std::vector<float> trained(const StepOptions& o, const std::vector<MeshAxis>& axes, std::int64_t steps = 5) {
  std::vector<float> numbers;
  local_mesh(axes, [&](const Mesh& mesh) {
    UseMapping split(kCompute);
    auto model = trainable(task(), o);
    model->init(random::key(3));
    std::vector<float> mine;
    for (std::int64_t s = 0; s < steps; ++s) {
      auto report = model->step(batch_of(s, mesh)).to_vector<float>();
      mine.insert(mine.end(), report.begin(), report.begin() + 3);
      for (auto& [name, x] : model->meeting()) mine.push_back(static_cast<float>(x));
    }
    for (float x : model->evaluate(batch_of(steps, mesh)).to_vector<float>()) mine.push_back(x);
    auto state = test::numbers_of(model->state());
    mine.insert(mine.end(), state.begin(), state.end());
    if (mesh.rank() == 0) numbers = mine;
  });
  return numbers;
}
using test::same_bits;
void near(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5 * (1 + std::abs(b[i]))) << what << " " << i;
}
std::vector<MeshAxis> mesh_of(int replica, int data = 1) { return {{"replica", replica}, {"data", data}}; }
StepOptions local_options(local::Kind kind, std::int64_t replicas, bool fsdp = false) {
  auto o = options(fsdp);
  o.replicas = replicas;
  o.local = {.kind = kind, .every = 2, .last = 5};
  if (kind == local::Kind::slowmo)
    o.local.outer = optim::sgd({.learning_rate = 0.9, .momentum = 0.5}), o.local.rate = o.learning_rate;
  if (kind == local::Kind::average) o.local.outer = optim::identity();
  return o;
}
/// Two fragments of the layers, one of the rest, in rounds of 4 steps.
StepOptions streaming_options(std::int64_t replicas, std::int64_t delay, double mix, bool fsdp = false) {
  auto o = local_options(local::Kind::diloco, replicas, fsdp);
  o.local.every = 4, o.local.last = 9, o.local.fragments = 2, o.local.delay = delay, o.local.mix = mix;
  return o;
}
}  // namespace

TEST(LocalSteps, ReplicasOnRanksHaveTheBitsOfReplicasInOneProcess) {
  for (auto kind : {local::Kind::average, local::Kind::slowmo, local::Kind::diloco}) {
    auto o = local_options(kind, 4);
    auto one = trained(o, mesh_of(1));
    EXPECT_TRUE(same_bits(trained(o, mesh_of(4)), one)) << "4 ranks";
    EXPECT_TRUE(same_bits(trained(o, mesh_of(2)), one)) << "2 ranks with two each";
    if (laws::tried(kind == local::Kind::diloco ? 0 : 1, 2)) {
      EXPECT_TRUE(same_bits(trained(o, {{"data", 1}}), one)) << "no mesh axis";
    }
  }
  for (std::int64_t delay : {0, 1, 3}) {
    auto o = streaming_options(4, delay, 0.5);
    if (delay > 0) o.local.wire = delay == 3 ? Wire::int4() : Wire::bf16();
    auto one = trained(o, mesh_of(1), 9);
    if (laws::tried(delay == 0 ? 1 : 0, 2)) {
      EXPECT_TRUE(same_bits(trained(o, mesh_of(4), 9), one)) << "fragments on 4 ranks";
    }
    EXPECT_TRUE(same_bits(trained(o, mesh_of(2), 9), one)) << "fragments on 2 ranks with two replicas each";
  }
  auto o = local_options(local::Kind::diloco, 3);  // 16 rows cannot be cut
  EXPECT_THROW(trained(o, mesh_of(3)), Error);
}
TEST(LocalSteps, OneReplicaThatIsAveragedTrainsSynchronously) {
  auto o = local_options(local::Kind::average, 1);
  auto with = trained(o, mesh_of(1));
  auto synchronous = o;
  synchronous.replicas = 0;
  auto without = trained(synchronous, mesh_of(1));
  std::vector<float> a, b;  // loss, norm and rate of each step; a meeting has two numbers more
  for (std::size_t s = 0, at = 0; s < 5; ++s) {
    for (std::size_t k = 0; k < 3; ++k) a.push_back(with[at + k]), b.push_back(without[3 * s + k]);
    at += s % 2 == 1 || s == 4 ? 5 : 3;
  }
  EXPECT_TRUE(same_bits(a, b)) << "reports";
}
TEST(LocalSteps, AnyLayoutInsideOfAReplica) {
  for (auto kind : {local::Kind::average, local::Kind::diloco}) {
    auto one = trained(local_options(kind, 2), mesh_of(1));
    near(trained(local_options(kind, 2, true), mesh_of(2, 2)), one, "fsdp");
    near(trained(local_options(kind, 2), mesh_of(2, 2)), one, "dp");
    near(trained(local_options(kind, 2, true), mesh_of(1, 3)), one, "two replicas on three ranks");
    near(trained(local_options(kind, 4, true), mesh_of(2, 2)), trained(local_options(kind, 4), mesh_of(1)), "4 on 2x2");
  }
}
TEST(LocalSteps, FragmentsAndShortSumsInAnyLayout) {
  auto one = trained(streaming_options(2, 2, 0.25), mesh_of(1), 9);
  near(trained(streaming_options(2, 2, 0.25, true), mesh_of(2, 2), 9), one, "fsdp");
  auto o = local_options(local::Kind::diloco, 4);
  auto whole = trained(o, mesh_of(1));
  for (auto wire : {Wire::bf16(), Wire::int8(), Wire::int4()}) {
    o.local.wire = wire;
    auto rounded = trained(o, mesh_of(1));
    ASSERT_EQ(whole.size(), rounded.size());
    EXPECT_NE(whole, rounded);
    double most = wire.codec == Codec::int4 ? 0.5 : 0.1;
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], rounded[i], most * (1 + std::abs(whole[i])));
    EXPECT_TRUE(same_bits(trained(o, mesh_of(2)), rounded)) << std::string(word(wire));
  }
}
TEST(LocalSteps, ReplicasThatDoNotMeetSendNothingToEachOther) {
  for (bool fsdp : {false, true})
    for (std::int64_t replicas : {2, 4})
      local_mesh(mesh_of(2, 2), [&](const Mesh& mesh) {
        UseMapping split(kCompute);
        auto o = local_options(local::Kind::diloco, replicas, fsdp);
        Axis replica{"replica", replicas};
        auto how = training::local_options(o);
        auto t = task();
        auto one = [&](const TrainState<Model>& s, const training::Example& e) {
          auto [next, r] = training::step(t, o, s, e);
          return std::pair{next, r.loss};
        };
        auto steps = local::diloco(one, replica, how);
        using S = local::State<TrainState<Model>>;
        auto born = named_jit(
            [&](const Array& key) {
              auto first = training::first_state(t, o, key);
              auto make = [&](const Model& m) {
                return TrainState<Model>{m, o.optimizer.init(m), first.step, first.key};
              };
              return steps.begin(first.params, make);
            },
            {.out = training::with_replicas(o.storage)})(random::key(1));
        auto inner = jit([&](const S& s, const training::Example& e) {
          return steps.inner(s, training::of_each(e, replica));
        });
        auto uses = [&](const auto& f, const auto&... arguments) {
          auto program = fx::local_program(program_of(f, arguments...), f.inputs(arguments...));
          std::vector<std::string> r;
          for (auto& c : executable(program)->info().collective_uses) r.push_back(c.what);
          return r;
        };
        auto state = born;
        auto example = batch_of(0, mesh).example;
        for (int s = 0; s < 3; ++s) {  // the layout of a state stays
          for (auto& what : uses(inner, state, example)) EXPECT_EQ(what.find("replica"), what.npos) << what;
          auto before = tree::leaves(state);
          state = inner(state, example).first;
          auto after = tree::leaves(state);
          for (std::size_t i = 0; i < before.size(); ++i)
            EXPECT_EQ(to_string(before[i].spec()), to_string(after[i].spec())) << tree::paths(state)[i];
        }
        auto meet = jit([&](const S& s) { return steps.meet(s); });
        std::size_t moved = 0;
        for (auto& what : uses(meet, state)) moved += what.find("replica") != what.npos;
        EXPECT_GE(moved, replicas == 4 ? 2U : 1U);  // the table of two replicas is small: gathered as a whole
        // The whole step is one function too, in which meetings are a branch.
        auto whole = jit([&](const S& s, const training::Example& e) {
          return steps(s, training::of_each(e, replica));
        });
        auto a = born;
        for (int s = 0; s < 2; ++s) a = whole(a, example).first;
        auto b = inner(inner(born, example).first, example).first;
        b = meet(b).first;
        auto x = tree::leaves(a), y = tree::leaves(b);
        for (std::size_t i = 0; i < x.size(); ++i)
          if (x[i].dtype() != Dtype::key) {
            EXPECT_TRUE(same_bits(x[i].astype(f32).to_vector<float>(), y[i].astype(f32).to_vector<float>()))
                << tree::paths(a)[i];
          }
      });
}
TEST(LocalSteps, TheTrainerMakesTheStepsOfThePureFunction) {
  for (std::int64_t delay : {0, 1, 2})
    local_mesh({{"data", 1}}, [&](const Mesh& mesh) {
      auto o = streaming_options(2, delay, 0.5);
      Axis replica{"replica", 2};
      auto t = task();
      auto model = trainable(t, o);
      model->init(random::key(3));
      auto one = [&](const TrainState<Model>& s, const training::Example& e) {
        auto [next, r] = training::step(t, o, s, e);
        return std::pair{next, r.loss};
      };
      auto steps = local::diloco(one, replica, training::local_options(o));
      auto first = training::first_state(t, o, random::key(3));
      auto make = [&](const Model& m) { return TrainState<Model>{m, o.optimizer.init(m), first.step, first.key}; };
      auto state = steps.begin(first.params, make);
      state.replicas.key = training::key_of_each(first.key, replica);
      EXPECT_EQ(steps.fragments(first.params), 3);
      auto whole = jit([&](const local::State<TrainState<Model>>& s, const training::Example& e) {
        return steps(s, training::of_each(e, replica));
      });
      for (std::int64_t s = 0; s < 9; ++s) {
        auto batch = batch_of(s, mesh);
        (void)model->step(batch);
        state = whole(state, batch.example).first;
      }
      auto mine = tree::leaves(state);
      std::size_t i = 0;
      for (auto& slot : tree::slots(model->state())) {
        if (!slot.leaf.defined()) continue;
        auto& theirs = mine.at(i++);
        if (theirs.dtype() == Dtype::key) continue;
        EXPECT_TRUE(same_bits(slot.leaf.get().astype(f32).to_vector<float>(), theirs.astype(f32).to_vector<float>()))
            << slot.path;
      }
    });
}
/// Parameters that are set from outside (init_from) are where everything begins, as if the run had drawn them.
TEST(LocalSteps, BeginAroundParametersFromOutside) {
  auto moved = [](const Array& x) { return x * 0.5 + 0.25; };
  auto other = task();
  other.init = [init = other.init, moved](const Array& key) { return tree::map(moved, init(key)); };
  std::vector<std::pair<std::string, optim::Transform>> optimizers{
      {"adamw", options().optimizer},
      {"params_ema", optim::chain(optim::sgd({.learning_rate = 0.1}), optim::params_ema(0.9))},
      {"lookahead", optim::lookahead(optim::sgd({.learning_rate = 0.1}))},
      {"schedule_free", optim::schedule_free(optim::sgd({.learning_rate = 0.1}), optim::constant_schedule(0.1))}};
  for (auto& [name, optimizer] : optimizers)
    for (std::int64_t replicas : {0, 2})
      for (int ranks : {1, 2}) {
        SCOPED_TRACE(name + ", " + std::to_string(replicas) + " replicas, " + std::to_string(ranks) + " ranks");
        auto o = replicas > 0 ? streaming_options(replicas, 1, 0.5) : options(true);
        o.optimizer = optimizer;
        local_mesh({{replicas > 0 ? "replica" : "data", ranks}}, [&](const Mesh& mesh) {
          UseMapping split(kCompute);
          auto set = trainable(task(), o), drawn = trainable(other, o);
          set->init(random::key(3)), drawn->init(random::key(3));
          for (auto& slot : tree::slots(set->parameters())) slot.leaf.set(moved(slot.leaf.get()));
          set->begin_around_parameters();
          EXPECT_TRUE(same_bits(test::numbers_of(set->state()), test::numbers_of(drawn->state()))) << "the first state";
          for (std::int64_t s = 0; s < 4; ++s) {
            auto mine = set->step(batch_of(s, mesh)), theirs = drawn->step(batch_of(s, mesh));
            EXPECT_TRUE(same_bits(mine.to_vector<float>(), theirs.to_vector<float>())) << "step " + std::to_string(s);
          }
          EXPECT_TRUE(same_bits(test::numbers_of(set->state()), test::numbers_of(drawn->state()))) << "the last state";
        });
      }
}
}  // namespace local_test
