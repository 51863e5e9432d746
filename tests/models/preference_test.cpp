// Training on preferences: losses and gradients by their formulas in f64, the reference model in every layout, and
// adapters, whose base is the reference.
#include "bora/models/preference.h"
#include <gtest/gtest.h>
#include <cmath>
#include "bora/models/gpt2.h"
#include "bora/train/trainer.h"
#include "models/small.h"
#include "support/throws.h"

namespace preference_test {
using namespace bora;
using namespace bora::models;
namespace {
using test::kVocabulary;
constexpr std::int64_t kPairs = 4, kPositions = 8;  // positions of each answer

double log_sigmoid(double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }
struct Numbers {  // of a pair
  double chosen, rejected, chosen_tokens, rejected_tokens, reference_chosen, reference_rejected;
};
/// TRL's definitions (DPOTrainer and ORPOTrainer 0.23), in f64.
double loss_of(const PreferenceSettings& s, const Numbers& n) {
  auto c = n.chosen - n.reference_chosen, r = n.rejected - n.reference_rejected;
  switch (s.loss) {
    case PreferenceLoss::dpo:
      return -log_sigmoid(s.beta * (c - r)) * (1 - s.label_smoothing) -
             log_sigmoid(-s.beta * (c - r)) * s.label_smoothing;
    case PreferenceLoss::ipo:
      return std::pow(c / n.chosen_tokens - r / n.rejected_tokens - 1 / (2 * s.beta), 2);
    case PreferenceLoss::hinge: return std::max(0.0, 1 - s.beta * (c - r));
    case PreferenceLoss::orpo: break;
  }
  auto p = n.chosen / n.chosen_tokens, q = n.rejected / n.rejected_tokens;
  auto odds = (p - q) - (std::log1p(-std::exp(p)) - std::log1p(-std::exp(q)));
  return -p - s.beta * log_sigmoid(odds);
}
const std::vector<PreferenceSettings> kLosses{{},
                                              {.beta = 0.5, .label_smoothing = 0.1},
                                              {.loss = PreferenceLoss::ipo, .beta = 0.2},
                                              {.loss = PreferenceLoss::hinge, .beta = 0.3},
                                              {.loss = PreferenceLoss::orpo, .beta = 0.4}};
const std::vector<Numbers> kNumbers{{-3, -5, 3, 4, -4, -4.5}, {-9, -2, 5, 2, -8.5, -2.25}, {-0.5, -30, 1, 7, -1, -20}};

TEST(Preference, LossesAndTheirGradientsAreTheFormulas) {
  Axis batch{nn::kBatch, std::ssize(kNumbers)};
  auto column = [&](double Numbers::*field) {
    std::vector<float> v;
    for (auto& n : kNumbers) v.push_back(static_cast<float>(n.*field));
    return NamedArray(asarray(v), {batch});
  };
  for (auto& s : kLosses) {
    s.check();
    auto of = [&](const NamedArray& chosen, const NamedArray& rejected) {
      AnswerScores model{chosen, rejected, column(&Numbers::chosen_tokens), column(&Numbers::rejected_tokens)};
      AnswerScores reference;
      if (s.has_reference())
        reference = {column(&Numbers::reference_chosen), column(&Numbers::reference_rejected), model.chosen_tokens,
                     model.rejected_tokens};
      return preference_losses(s, model, reference);
    };
    auto chosen = column(&Numbers::chosen), rejected = column(&Numbers::rejected);
    auto found = of(chosen, rejected).array().to_vector<double>();
    auto slopes = [](const auto& f, const NamedArray& at) { return grad(f)(at).array().template to_vector<double>(); };
    auto by_chosen = slopes([&](const NamedArray& c) { return sum(of(c, rejected)); }, chosen);
    auto by_rejected = slopes([&](const NamedArray& r) { return sum(of(chosen, r)); }, rejected);
    for (std::size_t i = 0; i < kNumbers.size(); ++i) {
      auto& n = kNumbers[i];
      auto slope = [&](double Numbers::*field) {
        auto up = n, down = n;
        up.*field += 1e-5, down.*field -= 1e-5;
        return (loss_of(s, up) - loss_of(s, down)) / 2e-5;
      };
      auto near = [](double x) { return 1e-5 + 2e-5 * std::abs(x); };
      EXPECT_NEAR(found[i], loss_of(s, n), near(found[i])) << i;
      EXPECT_NEAR(by_chosen[i], slope(&Numbers::chosen), near(by_chosen[i])) << i;
      EXPECT_NEAR(by_rejected[i], slope(&Numbers::rejected), near(by_rejected[i])) << i;
    }
  }
}

/// Rows of pairs: prompts of two tokens, answers of several lengths; the last pair fills the batch.
data::Rows rows(std::int64_t begin, std::int64_t end, const std::vector<float>& reference = {}) {
  auto r = data::Rows::zeros(begin, end,
                             {.positions = 2 * kPositions, .pairs = true, .reference = !reference.empty()});
  for (auto k = begin; k < std::min(end, kPairs - 1); ++k) {
    auto row = r.row(k);
    for (std::int64_t half : {0, 1}) {
      if (!reference.empty())  // [2, batch]
        row.values[half * kPositions] = reference[static_cast<std::size_t>(half * kPairs + k)];
      auto n = 4 + (k + half) % 3;
      auto id = [&](std::int64_t i) {
        return static_cast<std::int32_t>((i < 2 ? 5 * k + i : 3 * k + 2 * i + 7 * half) % kVocabulary);
      };
      for (std::int64_t i = 0; i < n; ++i) {
        auto at = half * kPositions + i;
        row.tokens[at] = id(i), row.targets[at] = id(i + 1), row.weights[at] = i >= 1 ? 1.0F : 0.0F;
      }
    }
  }
  return r;
}
struct Run {
  std::vector<float> losses, evaluation;
  std::map<std::string, std::vector<float>> parameters;
};
Run train(const PreferenceSettings& s, const std::string& layout, int data, int parts, std::int64_t accumulate,
          const Tuning& tuning = {}, int steps = 3) {
  Run run;
  auto model = test::model_of("gpt2", {"layers=2", "embed=16", "heads=4", "positions=8"});
  local_mesh({{"data", data}, {"model", parts}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout(layout), mesh.shape());
    UseMapping split(mappings.compute);
    StepOptions step{.optimizer = optim::adam({.learning_rate = 1e-2}),
                     .learning_rate = 1e-2,
                     .accumulate = accumulate,
                     .storage = mappings.storage};
    models::ModelOptions options{.vocabulary = kVocabulary, .step = step, .tuning = tuning, .preference = s};
    auto mine = rows_of_rank(kPairs, mesh);
    std::vector<float> reference;
    if (s.ahead) {
      auto asked = options;
      asked.is_reference = true;
      asked.step->trains = [](const std::string&) { return false; };
      auto first = model->trainable(asked);
      first->init(random::key(5));
      reference = first->evaluate(make_batch(rows(mine.begin, mine.end), kPairs, mesh)).to_vector<float>();
      EXPECT_EQ(reference[1], 3);  // pairs
      reference.erase(reference.begin(), reference.begin() + 2);
    }
    auto t = model->trainable(options);
    EXPECT_EQ(t->holds_reference(), s.has_reference() && !s.ahead && !tuning.lora);
    t->init(random::key(5));
    auto batch = make_batch(rows(mine.begin, mine.end, reference), kPairs, mesh);
    Run own;
    for (int i = 0; i < steps; ++i) own.losses.push_back(t->step(batch).to_vector<float>()[0]);
    own.evaluation = t->evaluate(batch).to_vector<float>();
    for (auto& slot : tree::slots(t->parameters()))
      if (slot.leaf.defined()) own.parameters[slot.path] = gather(slot.leaf.get()).to_vector<float>();
    if (mesh.rank() == 0) run = own;
  });
  return run;
}
void expect_near(const Run& a, const Run& b, double far) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) EXPECT_NEAR(a.losses[i], b.losses[i], far) << i;
  ASSERT_EQ(a.evaluation.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(a.evaluation[i], b.evaluation[i], 20 * far) << i;
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
}
TEST(Preference, BeginsAtTheReferenceAndMovesAwayFromIt) {
  auto run = train({}, "dp", 1, 1, 1, {}, 8);
  EXPECT_NEAR(run.losses[0], std::log(2.0F), 1e-6);  // the model is its own reference
  EXPECT_LT(run.losses.back(), run.losses[0] - 0.05F);
  EXPECT_EQ(run.evaluation[1], 3);  // pairs
  EXPECT_EQ(run.evaluation[2], 3);  // all of them are right
  EXPECT_GT(run.evaluation[3], 0);
  EXPECT_LT(run.evaluation[0] / run.evaluation[1], run.losses.back());
}
TEST(Preference, IsTheSameOnEveryMesh) {
  for (auto& s : {kLosses[0], kLosses[4]}) {
    auto one = train(s, "dp", 1, 1, 1);
    expect_near(train(s, "dp", 2, 1, 1), one, 2e-5);
    expect_near(train(s, "fsdp", 2, 1, 2), one, 2e-5);
    expect_near(train(s, "fsdp+tp", 2, 2, 1), one, 2e-5);
  }
}
TEST(Preference, TheBaseOfAdaptersIsTheReference) {
  Tuning lora{.lora = {.rank = 2}};
  auto one = train({}, "dp", 1, 1, 1, lora, 8);
  EXPECT_NEAR(one.losses[0], std::log(2.0F), 1e-6);
  EXPECT_LT(one.losses.back(), one.losses[0] - 0.01F);
  for (auto& [path, x] : one.parameters) EXPECT_NE(path.find(".lora."), path.npos) << path;
  expect_near(train({}, "fsdp", 2, 1, 1, lora, 8), one, 2e-5);
}
TEST(Preference, AReferenceThatIsAskedAheadGivesTheSameLosses) {
  PreferenceSettings beside, ahead{.ahead = true};
  for (auto& tuning : {Tuning{}, Tuning{.lora = {.rank = 2}}, Tuning{.neftune = 1}}) {
    auto want = train(beside, "dp", 1, 1, 1, tuning);
    expect_near(train(ahead, "dp", 1, 1, 1, tuning), want, 1e-6);
    expect_near(train(ahead, "fsdp+tp", 2, 2, 1, tuning), want, 2e-5);
    if (tuning.neftune == 0) expect_near(train(ahead, "fsdp", 2, 1, 2, tuning), want, 2e-5);  // noise is of each part
  }
  PreferenceSettings none{.loss = PreferenceLoss::orpo, .ahead = true};
  test::says<ConfigError>([&] { none.check(); }, "orpo has no reference model");
}
TEST(Preference, LogProbabilitiesInBlocksAreThoseAtOnce) {
  Axis batch{nn::kBatch, 3}, position{nn::kPosition, 7}, embed{nn::kEmbed, 4}, vocab{nn::kVocab, 11};
  auto x = random::normal(random::key(0), {batch, position, embed});
  auto weight = random::normal(random::key(1), {vocab, embed});
  auto targets = random::randint(random::key(2), {batch, position}, 0, 11);
  auto times = random::normal(random::key(3), {batch, position});
  auto of = [&](const NamedArray& w, const NamedArray& x, std::int64_t bytes) {
    nn::Head head{.weight = w};
    return nn::linear_log_probabilities(head, x, targets, {.block_bytes = bytes});
  };
  auto whole = of(weight, x, 1 << 20), blocks = of(weight, x, 3 * 11 * 4 * 2);  // two positions, and one is left
  EXPECT_EQ(whole.axes(), blocks.axes());
  auto a = whole.array().to_vector<double>(), b = blocks.array().to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
  auto direct = -nn::cross_entropy(dot(x, weight, nn::kEmbed), nn::kVocab, targets).array();
  EXPECT_NEAR(direct.to_vector<double>()[5], a[5], 1e-6);
  for (std::int64_t bytes : {std::int64_t{1} << 20, std::int64_t{3 * 11 * 4 * 2}}) {
    auto g = grad([&](const NamedArray& w) { return sum(of(w, x, bytes) * times); })(weight).array();
    auto want = grad([&](const NamedArray& w) {
                  return -sum(nn::cross_entropy(dot(x, w, nn::kEmbed), nn::kVocab, targets) * times);
                })(weight).array();
    auto u = g.to_vector<double>(), v = want.to_vector<double>();
    for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(u[i], v[i], 1e-5);
  }
}
}  // namespace
}  // namespace preference_test
