// Training the vectors of texts on pairs: losses against their formulas in f64, the same on any number of ranks; what
// is predicted; what is learnt.
#include <gtest/gtest.h>
#include <cmath>
#include "bora/models/lm.h"
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "models/small.h"
#include "support/throws.h"

namespace text_pairs_test {
using namespace bora;
using namespace bora::models;
namespace {
using Vector = std::vector<double>;
constexpr std::int64_t kRows = 6, kPositions = 5;
constexpr double kScale = 7;
config::Choice<Model> small(const std::string& pool) {
  return test::model_of("bert", {"layers=2", "embed=16", "heads=4", "positions=5", "head=embed", "scale=7",
                                 "pool=" + pool});
}
/// The tokens of a row's text; the last row has none, as fillers of a batch.
std::vector<std::int32_t> text(std::int64_t row, std::int64_t which) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; row + 1 < kRows && i < 2 + (row + which) % 4; ++i)
    ids.push_back(static_cast<std::int32_t>((row * 5 + which * 3 + i * 7) % test::kVocabulary));
  return ids;
}
float score(std::int64_t row) { return static_cast<float>(row) / 5; }
GlobalBatch batch_of(bool scored, const Mesh& mesh) {
  data::RowShape shape{.positions = 2 * kPositions, .in_place = true,
                       .prediction = scored ? data::Prediction::similarities : data::Prediction::partners,
                       .pairs = true};
  auto mine = rows_of_rank(kRows, mesh);
  auto rows = data::Rows::zeros(mine.begin, mine.end, shape);
  for (auto r = mine.begin; r < mine.end; ++r) {
    auto row = rows.row(r);
    for (std::int64_t which : {0, 1}) {
      auto ids = text(r, which);
      std::copy(ids.begin(), ids.end(), row.tokens + which * kPositions);
      std::fill_n(row.weights + which * kPositions, ids.size(), 1.0F);
    }
    if (scored) row.values[0] = score(r);
  }
  return make_batch(rows, kRows, mesh);
}
std::unique_ptr<Trainable> training_of(const Model& model, double rate) {
  optim::AdamWConfig adamw{.lr = rate, .schedule = {.warmup = 0}};
  auto schedule = adamw.schedule.make(adamw.lr, 60);
  auto t = model.trainable({test::kVocabulary, {}, StepOptions{.optimizer = adamw.make(schedule),
                                                               .learning_rate = schedule}});
  t->init(random::key(5));
  return t;
}
/// Of length 1.
Vector vector_of(Scorer& s, const std::vector<std::int32_t>& ids, const std::string& pool) {
  auto n = static_cast<std::int64_t>(ids.size());
  training::Example e{.tokens = NamedArray(asarray(ids, Shape{1, n}), {{"batch", 1}, {"position", n}})};
  auto x = s.vectors(e).array().to_vector<double>();
  auto embed = x.size() / ids.size();
  Vector v(embed);
  for (std::size_t i = 0; i < (pool == "mean" ? ids.size() : 1); ++i)
    for (std::size_t k = 0; k < embed; ++k) v[k] += x[i * embed + k];
  double squares = 0;
  for (auto x_k : v) squares += x_k * x_k;
  for (auto& x_k : v) x_k /= std::sqrt(squares);
  return v;
}
double dot_of(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
}  // namespace

TEST(TextPairs, LossesAreTheirFormulasOnAnyNumberOfRanks) {
  for (std::string pool : {"mean", "first"}) {
    auto model = small(pool);
    std::vector<Vector> first, second;
    local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh&) {
      auto s = model->scorer({test::kVocabulary}, {}, random::split<2>(random::key(5))[0]);
      for (std::int64_t r = 0; r + 1 < kRows; ++r)
        first.push_back(vector_of(*s, text(r, 0), pool)), second.push_back(vector_of(*s, text(r, 1), pool));
    });
    for (bool scored : {true, false}) {
      double want = 0;
      std::vector<double> predicted, there;
      for (std::size_t r = 0; r < first.size(); ++r) {
        Vector all;
        for (auto& b : second) all.push_back(kScale * dot_of(first[r], b));
        auto cosine = dot_of(first[r], second[r]);
        double sum = 0;
        for (auto x : all) sum += std::exp(x);
        auto value = static_cast<double>(score(static_cast<std::int64_t>(r)));
        want += scored ? (cosine - value) * (cosine - value) : std::log(sum) - all[r];
        predicted.push_back(scored ? cosine : static_cast<double>(std::max_element(all.begin(), all.end()) -
                                                                  all.begin()));
        there.push_back(scored ? value : static_cast<double>(r));
      }
      double later = 0;  // the loss after a step
      for (int ranks : {1, 2, 3})
        local_mesh({{"data", ranks}, {"model", 1}}, [&](const Mesh& mesh) {
          UseMapping split(layout_mappings(parse_layout(ranks == 2 ? "fsdp" : "dp"), mesh.shape()).compute);
          auto t = training_of(*model, 1e-3);
          auto batch = batch_of(scored, mesh);
          auto all = t->evaluate(batch).to_vector<double>();
          auto places = static_cast<std::size_t>(2 * kPositions * kRows);
          ASSERT_EQ(all.size(), 2 + 3 * places);
          EXPECT_NEAR(all[0], want, 1e-5 * want) << pool << scored << ranks;
          EXPECT_EQ(all[1], kRows - 1);
          for (std::size_t i = 0; i < places; ++i) {
            auto r = i / (2 * kPositions);
            bool counts = i % (2 * kPositions) == 0 && r < first.size();
            EXPECT_EQ(all[2 + 2 * places + i], counts) << i;
            if (counts) { EXPECT_NEAR(all[2 + i], predicted[r], 1e-5); }
            if (counts) { EXPECT_NEAR(all[2 + places + i], there[r], 1e-6); }
          }
          EXPECT_NEAR(t->step(batch).to_vector<double>()[0], want / (kRows - 1), 1e-5);
          auto next = t->step(batch).to_vector<double>()[0];
          if (ranks == 1) later = next;
          EXPECT_NEAR(next, later, 1e-5 * later) << pool << scored << ranks;
        });
      EXPECT_LT(later, want / (kRows - 1));
    }
  }
}
TEST(TextPairs, PartnersAreLearnt) {
  local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout("dp"), mesh.shape()).compute);
    auto t = training_of(*small("mean"), 1e-2);
    auto batch = batch_of(false, mesh);
    for (int i = 0; i < 40; ++i) (void)t->step(batch);
    auto all = t->evaluate(batch).to_vector<float>();
    for (std::size_t r = 0; r + 1 < kRows; ++r) EXPECT_EQ(all[2 + r * 2 * kPositions], static_cast<float>(r)) << r;
    EXPECT_LT(all[0] / all[1], 0.3F);
  });
}
TEST(TextPairs, SayWhatTheyNeed) {
  test::says<ConfigError>([] { test::model_of("bert", {"head=embed", "scale=0"}); }, "scale");
  test::says<ConfigError>([] { test::model_of("bert", {"head=embed", "labels=[a, b]"}); }, "the head embed has none");
}
}  // namespace text_pairs_test
