// Laws of language models, over their registry: the same initial bits on every mesh, one step on every layout, packed
// rows, checkpoints, one head for every vocabulary.
#include <gtest/gtest.h>
#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <map>
#include "bora/models/lm.h"
#include "bora/nn/pipeline.h"
#include "bora/optim/config.h"
#include "bora/shard/shard.h"
#include "bora/train/trainer.h"
#include "compile/api/executable.h"
#include "laws/effort.h"
#include "models/small.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace model_laws_test {
using namespace bora;
using namespace bora::models;
namespace {
using bora::test::kVocabulary;
constexpr std::int64_t kBatch = 4, kPositions = 8, kInputs = 5;
/// Calls f(model, tried): tried(i) says whether the i-th case, not the first, is tried with this model. Unless
/// BORA_LAWS=full these are all for GPT-2 and T5, one for the first model of another type, each its own, and none for
/// others.
template <class F> void each_model(F&& f) {
  std::string_view before;
  auto all = test::small_models();
  std::size_t types = 0;
  for (auto& model : all) {
    bool first = model->type() != before, every = model->type() == "gpt2" || model->type() == "t5";
    types += first;
    f(model, [&](std::size_t i, std::size_t of) {
      return laws::effort() == laws::Effort::full || (first && (every || types % (of - 1) + 1 == i));
    });
    before = model->type();
  }
}
/// Inputs of an encoder: the last ones of every other row are padding.
std::int32_t input(std::int64_t row, std::int64_t i) { return static_cast<std::int32_t>((row * kInputs + i) * 5 % 13); }
bool is_padding(std::int64_t row, std::int64_t i) { return row % 2 == 1 && i >= 3; }
data::Rows rows(const Model& model, std::int64_t begin, std::int64_t end) {
  data::RowShape shape{.positions = kPositions, .inputs = model.decoder_start() ? kInputs : 0};
  auto r = test::rows_of_tokens(begin, end, shape);
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    auto at = static_cast<std::int64_t>(i), row = begin + at / kInputs;
    r.inputs[i] = input(row, at % kInputs);
    r.input_mask[i] = !is_padding(row, at % kInputs);
  }
  return r;
}
ModelOptions options(const std::string& layout, const MeshShape& mesh) {
  optim::AdamWConfig adamw{.lr = 1e-2, .schedule = {.warmup = 0}};
  auto rate = adamw.schedule.make(adamw.lr, 10);
  return {kVocabulary,
          {},
          StepOptions{.optimizer = adamw.make(rate),
                      .learning_rate = rate,
                      .accumulate = 2,
                      .storage = layout_mappings(parse_layout(layout), mesh).storage}};
}
struct Result {
  std::string digest;
  std::vector<float> losses;
};
Result train(const Model& model, const std::string& layout, int data, int parts, std::string folder = {},
             int stages = 1, std::int64_t microbatches = 0) {
  Result r;
  local_mesh({{"stage", stages}, {"data", data}, {"model", parts}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout(layout), mesh.shape()).compute);
    auto how = options(layout, mesh.shape());
    how.microbatches = microbatches;
    auto t = model.trainable(how);
    t->init(random::key(5));
    auto digest = parameter_digest(t->parameters(), mesh);
    if (!folder.empty()) io::restore_leaves(t->state(), folder, place_of(mesh));
    auto mine = rows_of_rank(kBatch, mesh);
    for (int step = 0; step < 3; ++step) {
      auto report = t->step(make_batch(rows(model, mine.begin, mine.end), kBatch, mesh)).to_vector<float>();
      if (mesh.rank() == 0) r.losses.push_back(report[0]);
    }
    if (mesh.rank() == 0) r.digest = digest;
  });
  return r;
}
}  // namespace

TEST(ModelLaws, TheSameInitialBitsAndLossesOnEveryLayout) {
  struct Case {
    std::string layout;
    int data, parts;
  };
  const std::vector<Case> every{{"fsdp+tp", 2, 2}, {"fsdp", 3, 1}, {"dp", 2, 1}, {"fsdp", 2, 1}, {"tp", 1, 2}};
  each_model([&](auto& model, const auto& tried) {
    auto want = train(*model, "dp", 1, 1);
    EXPECT_NEAR(want.losses[0], std::log(13.0), model->type() == "t5" ? 1 : 0.4) << model->type();  // unit scores
    EXPECT_LT(want.losses[2], want.losses[0]) << model->type();
    for (std::size_t k = 0; k < every.size(); ++k) {
      if (k > 0 && !tried(k, every.size())) continue;
      auto& c = every[k];
      auto got = train(*model, c.layout, c.data, c.parts);
      auto name = std::string(model->type()) + " " + c.layout + " " + std::to_string(c.data * c.parts);
      EXPECT_EQ(got.digest, want.digest) << name;
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got.losses[i], want.losses[i], 2e-5) << name << " step " << i;
    }
  });
}
/// A small model's step in one process: its losses, its operations, and the bytes of its temporaries.
struct Step {
  std::vector<float> losses;
  double flops = 0;
  std::size_t bytes = 0;
};
Step step_of(std::string_view type, const std::string& policy) {
  Step r;
  auto model = test::model_of(type, {"layers=6", "embed=32", "heads=4", "positions=8", "checkpoint=" + policy});
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout("dp"), mesh.shape()).compute);
    auto t = model->trainable(options("dp", mesh.shape()));
    t->init(random::key(5));
    auto batch = make_batch(rows(*model, 0, kBatch), kBatch, mesh);
    auto step = executable(fx::local_program(t->step_program(batch), t->step_arguments(batch)));
    r.flops = step->info().flops, r.bytes = step->info().slab_bytes;
    for (int i = 0; i < 2; ++i) r.losses.push_back(t->step(batch).to_vector<float>()[0]);
  });
  return r;
}
TEST(ModelLaws, CheckpointPoliciesByName) {
  for (auto& row : config::rows<Model>()) {
    auto type = row.type;
    std::map<std::string, Step> of;
    for (std::string policy :
         {"nothing", "names(attn)", "names(qkv)", "names(attn_out)", "names(mlp)", "names(mlp_out)", "names(attn, mlp)",
          "everything", "everything_except(mlp)", "everything_except(attn)", "everything_except(attn, mlp)",
          "everything_except(attn_out, mlp_out)"}) {
      of[policy] = step_of(type, policy);
      EXPECT_EQ(of[policy].losses, of["nothing"].losses) << type << " " << policy;
    }
    auto more_work = [&](const std::string& a, const std::string& b) {
      EXPECT_GT(of.at(a).flops, of.at(b).flops) << type << ": " << a << " against " << b;
    };
    auto more_memory = [&](const std::string& a, const std::string& b) {
      EXPECT_GT(of.at(a).bytes, of.at(b).bytes) << type << ": " << a << " against " << b;
    };
    for (std::string kept : {"names(qkv)", "names(attn)", "names(mlp)"}) {
      more_work("nothing", kept);
      more_memory(kept, "nothing");
    }
    more_work("names(qkv)", "names(attn)");
    more_work("names(attn)", "names(attn, mlp)");
    more_work("names(mlp)", "names(attn, mlp)");
    more_memory("names(attn, mlp)", "names(attn)");
    for (std::string left : {"everything_except(mlp)", "everything_except(attn)"}) {
      more_work(left, "everything");
      more_memory("everything", left);
      more_work("everything_except(attn, mlp)", left);
      more_memory(left, "everything_except(attn, mlp)");
    }
    for (std::string wrong : {"names(atn)", "everything_except(attn, mpl)"}) {
      auto said = test::error_of<ConfigError>([&] { return step_of(type, wrong); });
      EXPECT_NE(said.find("but no value of the function has that name; there are: attn, attn_out, mlp, mlp_out, qkv"),
                said.npos)
          << type << ": " << said;
    }
  }
}
TEST(ModelLaws, StagesTrainTheSameModel) {
  struct Case {
    std::string layout;
    int data, parts;
    std::int64_t microbatches;
  };
  const std::vector<Case> every{{"dp", 1, 1, 1}, {"fsdp+tp", 1, 2, 2}, {"fsdp", 1, 1, 2}};
  each_model([&](auto& model, const auto& tried) {
    if (!model->in_stages()) return;
    bool draws = false;
    for (auto& [key, value] : model.write().members)
      draws = draws || (key.find("dropout") != key.npos && value.text != "0");
    auto want = train(*model, "dp", 1, 1);
    for (std::size_t k = 0; k < every.size(); ++k) {
      auto& c = every[k];
      if (draws && c.microbatches > 1) continue;  // each microbatch has its own
      if (!draws && k != 1 && !tried(k == 0 ? 1 : k, every.size())) continue;
      auto got = train(*model, c.layout, c.data, c.parts, {}, 2, c.microbatches);
      auto name = std::string(model->type()) + " " + c.layout + ", microbatches " + std::to_string(c.microbatches);
      EXPECT_EQ(got.digest, want.digest) << name;
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got.losses[i], want.losses[i], 2e-5) << name << " step " << i;
    }
  });
}
TEST(ModelLaws, ACheckpointContinuesBitForBit) {
  test::TempFolder temp;
  auto folder = temp / "run";
  std::string_view before;
  auto all = test::small_models();
  for (auto& model : all) {
    // The first model of a type goes on in another object, unless BORA_LAWS=full all do.
    bool another = laws::effort() == laws::Effort::full || model->type() != before;
    before = model->type();
    fs::remove_all(folder);
    std::string saved;
    std::vector<float> want;
    local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout("fsdp"), mesh.shape()).compute);
      auto t = model->trainable(options("fsdp", mesh.shape()));
      t->init(random::key(5));
      auto mine = rows_of_rank(kBatch, mesh);
      auto batch = make_batch(rows(*model, mine.begin, mine.end), kBatch, mesh);
      for (int i = 0; i < 2; ++i) (void)t->step(batch);
      Arrays keep;
      auto at = io::save_checkpoint(folder, 2, io::leaves_of(t->state(), "", keep), place_of(mesh), {}, 1, nullptr);
      if (mesh.rank() == 0) saved = at;
      for (int i = 0; i < 3; ++i) {
        auto loss = t->step(batch).to_vector<float>()[0];
        if (mesh.rank() == 0) want.push_back(loss);
      }
      if (another) return;
      t->init(random::key(6));
      io::restore_leaves(t->state(), at, place_of(mesh));
      std::vector<float> again;
      for (int i = 0; i < 3; ++i) again.push_back(t->step(batch).to_vector<float>()[0]);
      if (mesh.rank() == 0) { EXPECT_EQ(again, want) << model->type(); }
    });
    if (another) { EXPECT_EQ(train(*model, "fsdp", 2, 1, saved).losses, want) << model->type(); }
  }
}
TEST(ModelLaws, PackedDocumentsDoNotSeeEachOther) {
  for (auto& model : test::small_models()) {
    local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
      auto t = model->trainable(options("dp", mesh.shape()));
      t->init(random::key(5));
      // Two documents of four tokens in one row, and each in a row of its own.
      auto loss = [&](bool packed, bool first, bool second) {
        auto b = make_batch(rows(*model, 0, 1), 1, mesh);
        auto& e = b.example;
        Axis batch{"batch", 1}, position = e.tokens.axis("position");
        auto place = arange(position);
        auto half = (place >= 4).astype(i32);
        auto counts = (first && second ? place >= 0 : first ? place < 4 : place >= 4).astype(f32);
        e.weights = broadcast_to(counts, {batch, position});
        if (packed) {
          e.segments = broadcast_to(half, {batch, position});
          e.positions = broadcast_to(place - half * 4, {batch, position});
        } else if (second) {  // moved to the beginning
          auto moved = [&](const NamedArray& x) {
            return concatenate(Axis{"position", 8}, {x[{"position", range(4, 8)}], x[{"position", range(0, 4)}]});
          };
          e.tokens = moved(e.tokens);
          e.targets = moved(e.targets);
          e.weights = moved(e.weights);
        }
        if (!packed && !model->generates())  // whose positions see the rest of the row
          e.mask = broadcast_to((place < 4).astype(i32), {batch, position});
        return t->evaluate(b).to_vector<float>()[0];
      };
      auto whole = loss(true, true, true), alone = loss(false, true, false) + loss(false, false, true);
      EXPECT_NEAR(whole, alone, 2e-5 * alone) << model->type();
      EXPECT_GT(std::abs(loss(true, false, true) -
                         [&] {
                           auto b = make_batch(rows(*model, 0, 1), 1, mesh);
                           auto place = arange(b.example.tokens.axis("position"));
                           b.example.weights =
                               broadcast_to((place >= 4).astype(f32), {Axis{"batch", 1}, place.axes()[0]});
                           return t->evaluate(b).to_vector<float>()[0];
                         }()),
                1e-6F)
          << model->type();  // without segments the second document sees the first
    });
  }
}
namespace {
/// The loss at each position of a row, by the forward pass of the whole row.
std::vector<float> forward_losses(const Model& model, const std::string& layout, int data, int parts,
                                  const Policy& policy) {
  std::vector<float> r;
  local_mesh({{"data", data}, {"model", parts}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout(layout), mesh.shape()).compute);
    auto o = options(layout, mesh.shape());
    o.policy = policy;
    auto t = model.trainable(o);
    t->init(random::key(5));
    auto mine = rows_of_rank(data, mesh);
    for (std::int64_t at = 0; at < kPositions; ++at) {
      auto batch = make_batch(rows(model, mine.begin, mine.end), data, mesh);
      auto& w = batch.example.weights;
      auto row = broadcast_to(arange(w.axis("batch")), w.axes()),
           place = broadcast_to(arange(w.axis("position")), w.axes());
      w = (row == 0 && place == at).astype(f32);
      auto loss = t->evaluate(batch).to_vector<float>()[0];
      if (mesh.rank() == 0) r.push_back(loss);
    }
  });
  return r;
}
using Lengths = std::vector<std::int64_t>;
/// For each list, the loss after each part of the row's tokens, which are decoded in parts of its lengths.
std::vector<std::vector<float>> decoded_losses(const Model& model, const std::string& layout, int data, int parts,
                                               const Policy& policy, const std::vector<Lengths>& lists) {
  std::vector<std::vector<float>> r;
  auto row = rows(model, 0, 1);
  local_mesh({{"data", data}, {"model", parts}}, [&](const Mesh& mesh) {
    auto mapping = layout_mappings(parse_layout(layout), mesh.shape());
    UseMapping split(mapping.compute);
    auto generator = model.generator({kVocabulary, policy, {}}, mapping.storage, random::split<2>(random::key(5))[0],
                                     [](const Array& scores, const Array&) { return scores; });
    if (model.decoder_start()) {
      EXPECT_THROW((void)generator->next({0}, random::key(0)), ValueError);  // the encoder has read nothing
      EXPECT_THROW(generator->read({}), ValueError);
      generator->read(row.inputs);
    } else {
      EXPECT_THROW(generator->read({0}), ValueError);
    }
    auto decoded = [&](const Lengths& lengths) {
      std::vector<float> losses;
      auto at = row.tokens.begin();
      for (auto n : lengths) {
        auto scores = generator->next({at, at + n}, random::key(0));
        at += n;
        auto target = row.targets[static_cast<std::size_t>(at - row.tokens.begin() - 1)];
        losses.push_back(cross_entropy(scores, array(target)).item<float>());
      }
      EXPECT_THROW((void)generator->next({0}, random::key(0)), ValueError);  // all positions are taken
      generator->restart();
      return losses;
    };
    for (auto& lengths : lists) {
      auto losses = decoded(lengths);
      EXPECT_EQ(decoded(lengths), losses) << model.type();  // the second round has forgotten the first
      if (mesh.rank() == 0) r.push_back(losses);
    }
  });
  return r;
}
}  // namespace
TEST(ModelLaws, DecodingTokenByTokenIsTheForwardPass) {
  struct Case {
    std::string layout;
    int data, parts;
    std::string policy;
    float tolerance;
  };
  const std::vector<Case> every{{"tp", 1, 2, "f32", 2e-6F},
                                {"dp", 1, 1, "p=f32,c=bf16,o=f32", 2e-2F},
                                {"dp", 1, 1, "f32", 2e-6F},
                                {"fsdp", 2, 1, "f32", 2e-6F}};
  const std::vector<Lengths> lists{{8}, {3, 5}, {1, 1, 1, 1, 1, 1, 1, 1}, {5, 1, 2}};
  each_model([&](auto& model, const auto& tried) {
    if (!model->generates()) return;
    for (std::size_t k = 0; k < every.size(); ++k) {
      if (k > 0 && !tried(k, every.size())) continue;
      auto& c = every[k];
      auto policy = Policy::parse(c.policy);
      auto want = forward_losses(*model, c.layout, c.data, c.parts, policy);
      auto got = decoded_losses(*model, c.layout, c.data, c.parts, policy, lists);
      for (std::size_t n = 0; n < lists.size(); ++n) {
        std::size_t end = 0;
        for (std::size_t i = 0; i < lists[n].size(); ++i) {
          end += static_cast<std::size_t>(lists[n][i]);
          EXPECT_NEAR(got[n][i], want[end - 1], c.tolerance)
              << model->type() << " " << c.layout << " " << c.policy << " position " << end - 1;
        }
      }
    }
  });
}
}  // namespace model_laws_test
