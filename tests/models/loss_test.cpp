// The normalising factors of T5X's loss, and the settings of a loss in training.
#include "bora/models/loss.h"
#include <gtest/gtest.h>
#include <cmath>
#include "bora/models/lm.h"
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "laws/effort.h"
#include "models/small.h"
#include "support/golden.h"

namespace loss_test {
using namespace bora;
using namespace bora::models;
namespace {
double golden(const std::string& name) { return test::golden_numbers("losses.txt", name).at(0); }
template <class T> NamedArray of(std::vector<T> v) {
  return named(asarray(v, Shape{2, 6}), {Axis{"batch", 2}, Axis{"position", 6}});
}
training::Example golden_example() {
  std::vector<std::int32_t> targets(12);
  std::vector<float> weights(12);
  for (std::size_t i = 0; i < 12; ++i) {
    targets[i] = static_cast<std::int32_t>((5 * (i % 6) + 3 * (i / 6)) % 7);
    weights[i] = (i / 6 + i % 6) % 4 == 3 ? 0 : static_cast<float>(1 + 0.5 * std::sin(i));
  }
  return {of(targets), of(targets), of(weights)};
}
constexpr Normalize kAll[] = {Normalize::real_target_tokens, Normalize::total_target_tokens,
                              Normalize::average_per_sequence};
}  // namespace

TEST(LossSettings, NormalisingFactorsAreThoseOfT5X) {  // tests/golden/make_losses.py
  std::vector<float> scores(84);
  for (std::size_t i = 0; i < 84; ++i) scores[i] = static_cast<float>(3 * std::sin(0.37 * static_cast<double>(i)));
  auto x = named(asarray(scores, Shape{2, 6, 7}), {Axis{"batch", 2}, Axis{"position", 6}, Axis{"vocab", 7}});
  auto total = [&](const training::Example& e, Normalize how) {
    auto each = nn::cross_entropy(x, "vocab", e.targets, {.z_loss = 0.02, .label_smoothing = 0.3});
    return (sum(each * loss_weights(e, how)) / sum(loss_divisor(e, how))).item<float>();
  };
  auto e = golden_example();
  for (auto how : kAll)
    EXPECT_NEAR(total(e, how), golden(config::print_value(how) + ".loss"), 1e-6) << config::print_value(how);
  e.segments = of(std::vector<std::int32_t>{1, 1, 1, 2, 2, 0, 1, 1, 2, 2, 2, 3});
  EXPECT_NEAR(total(e, Normalize::average_per_sequence), golden("average_per_sequence.packed.loss"), 1e-6);
  e.weights = e.weights * 0;  // nothing to learn is no loss, and no division by zero
  for (auto w : loss_weights(e, Normalize::average_per_sequence).to_vector<float>()) EXPECT_EQ(w, 0);
}

namespace {
using test::kVocabulary;
constexpr std::int64_t kBatch = 12, kPositions = 8;
/// Packed rows whose documents and weights differ from row to row.
data::Rows rows(std::int64_t begin, std::int64_t end) {
  data::RowShape shape{.positions = kPositions, .segments = true, .restart_positions = true};
  auto r = data::Rows::zeros(begin, end, shape);
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    auto at = begin * kPositions + static_cast<std::int64_t>(i);
    auto row = at / kPositions, p = at % kPositions, cut = 2 + row % 5;
    r.tokens[i] = static_cast<std::int32_t>(at * 7 % kVocabulary);
    r.targets[i] = static_cast<std::int32_t>((at + 1) * 7 % kVocabulary);
    r.weights[i] = at % 5 == 4 || row == 3 ? 0 : 1;
    r.segments[i] = p < cut ? 1 : 2;
    r.positions[i] = static_cast<std::int32_t>(p < cut ? p : p - cut);
  }
  return r;
}
struct Numbers {
  std::vector<float> reports, evaluation;
};
Numbers train(const LossSettings& loss, std::int64_t accumulate, const std::string& layout, int data, int parts) {
  Numbers n;
  optim::AdamWConfig adamw{.lr = 1e-2, .schedule = {.warmup = 0}};
  auto rate = adamw.schedule.make(adamw.lr, 10);
  auto model = test::model_of("gpt2", {"layers=1", "embed=8", "heads=2", "positions=8"});
  local_mesh({{"data", data}, {"model", parts}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout(layout), mesh.shape());
    UseMapping split(mappings.compute);
    StepOptions step{
        .optimizer = adamw.make(rate), .learning_rate = rate, .accumulate = accumulate, .storage = mappings.storage};
    auto t = model->trainable({.vocabulary = kVocabulary, .step = step, .loss = loss});
    t->init(random::key(5));
    auto mine = rows_of_rank(kBatch, mesh);
    auto batch = make_batch(rows(mine.begin, mine.end), kBatch, mesh);
    Numbers own;
    own.evaluation = t->evaluate(batch).to_vector<float>();
    for (int i = 0; i < 3; ++i) {
      auto r = t->step(batch).to_vector<float>();
      own.reports.insert(own.reports.end(), r.begin(), r.begin() + 2);  // loss, norm of the gradient
    }
    if (mesh.rank() == 0) n = own;
  });
  return n;
}
}  // namespace
TEST(LossSettings, ExactForEverySplitOfTheBatchAndEveryLayout) {
  std::size_t turn = 0;
  for (auto how : kAll) {
    LossSettings loss{.z_loss = 0.01, .label_smoothing = 0.1, .normalize = how};
    auto want = train(loss, 1, "dp", 1, 1);
    struct Case {
      std::int64_t accumulate;
      std::string layout;
      int data, parts;
    };
    for (auto& c : {Case{2, "dp", 1, 1},
                    {3, "dp", 1, 1},
                    {12, "dp", 1, 1},
                    {1, "fsdp", 2, 1},
                    {2, "fsdp", 3, 1},
                    {4, "dp", 3, 1},
                    {1, "tp", 1, 2},
                    {3, "fsdp+tp", 2, 2}}) {
      if (!laws::tried(turn++, 3)) continue;  // 8 cases: each comes with one normalisation or more
      auto got = train(loss, c.accumulate, c.layout, c.data, c.parts);
      auto name = config::print_value(how) + " " + c.layout + " " + std::to_string(c.accumulate);
      for (std::size_t i = 0; i < want.reports.size(); ++i)
        EXPECT_NEAR(got.reports[i], want.reports[i], 1e-5 * want.reports[i]) << name << " " << i;
      EXPECT_NEAR(got.evaluation[0], want.evaluation[0], 1e-5 * want.evaluation[0]) << name;
    }
  }
}
TEST(LossSettings, EvaluationsHaveThePlainCrossEntropy) {
  auto plain = train({}, 1, "dp", 1, 1);
  for (auto how : kAll) {
    auto other = train({.z_loss = 0.5, .label_smoothing = 0.2, .normalize = how}, 1, "dp", 1, 1);
    EXPECT_EQ(other.evaluation, plain.evaluation);
    EXPECT_GT(std::abs(other.reports[0] - plain.reports[0]), 0.1);
  }
}
}  // namespace loss_test
