// The training loss of each source: that of its rows alone, on every mesh and in any number of parts.
#include "bigram.h"

namespace by_source_test {
using namespace bora;
namespace {
constexpr std::int64_t kBatch = 12, kSources = 3;
data::Rows rows(std::int64_t begin, std::int64_t end, std::int64_t only = -1) {
  auto r = data::Rows::zeros(begin, end, {kPositions});
  r.filled_by_part.resize(kSources);
  for (auto k = begin; k < end; ++k) {
    auto row = r.row(k);
    auto source = (k * k) % kSources;  // 0 and 1: the last one has no row
    for (std::int64_t i = 0; i < kPositions; ++i) {
      row.tokens[i] = static_cast<std::int32_t>((17 * k + i) % 256);
      row.targets[i] = static_cast<std::int32_t>((source == 0 ? 5 * k + i : 9) % 256);
      row.weights[i] = only >= 0 && only != source ? 0.0F : i % 3 == 0 ? 0.5F : 1.0F;
    }
    r.parts[static_cast<std::size_t>(k - begin)] = static_cast<std::int32_t>(source);
    r.filled_by_part[static_cast<std::size_t>(source)] += kPositions;
  }
  return r;
}
struct Seen {
  std::vector<double> means = {}, weights = {};
  float loss = 0, norm = 0;
};
Seen step(int ranks, const std::string& layout, std::int64_t accumulate, bool by_row, bool scaled, bool norms = false) {
  Seen seen;
  local_mesh({{"data", ranks}, {"model", 1}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout(layout), mesh.shape());
    UseMapping split(mappings.compute);
    auto task = bigram();
    task.by_row = by_row;
    auto optimizer = optim::sgd({.learning_rate = 1});
    auto model = trainable(task, {.optimizer = scaled ? optim::loss_scale(optimizer, {.initial = 8}) : optimizer,
                                  .learning_rate = 1,
                                  .accumulate = accumulate,
                                  .storage = mappings.storage,
                                  .leaf_norms = norms});
    model->init(random::key(2));
    auto mine = rows_of_rank(kBatch, mesh);
    auto numbers = model->step(make_batch(rows(mine.begin, mine.end), kBatch, mesh)).to_vector<float>();
    Seen own{.loss = numbers[0], .norm = numbers[1]};
    EXPECT_EQ(numbers.size(), 8U + kSources);
    EXPECT_EQ(model->leaf_norms().size(), norms ? 4U : 0U);
    for (auto& [loss, weight] : model->losses_by_source())
      own.means.push_back(weight > 0 ? loss / weight : 0), own.weights.push_back(weight);
    if (mesh.rank() == 0) seen = own;
  });
  return seen;
}
TEST(LossBySource, IsThatOfItsRowsAlone) {
  std::vector<double> want, weights;
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    for (std::int64_t s = 0; s < kSources; ++s) {
      auto model = trainable(bigram(), {.optimizer = optim::sgd({.learning_rate = 1}), .learning_rate = 1});
      model->init(random::key(2));
      auto sums = model->evaluate(make_batch(rows(0, kBatch, s), kBatch, mesh)).to_vector<double>();
      want.push_back(sums[1] > 0 ? sums[0] / sums[1] : 0), weights.push_back(sums[1]);
    }
  });
  ASSERT_EQ(weights[2], 0);
  auto off = step(1, "dp", 1, false, false);
  EXPECT_TRUE(off.means.empty());
  for (bool scaled : {false, true})
    for (auto& [ranks, layout, accumulate] :
         std::vector<std::tuple<int, std::string, std::int64_t>>{{1, "dp", 1}, {1, "dp", 3}, {2, "dp", 1},
                                                                 {2, "fsdp", 2}, {3, "dp", 2}}) {
      auto seen = step(ranks, layout, accumulate, true, scaled, accumulate == 3);
      EXPECT_NEAR(seen.loss, off.loss, 1e-5);
      EXPECT_NEAR(seen.norm, off.norm, 1e-4);
      ASSERT_EQ(seen.means.size(), 3U);
      for (std::size_t s = 0; s < 3; ++s) {
        EXPECT_NEAR(seen.means[s], want[s], 1e-5) << s << " " << ranks << layout << accumulate;
        EXPECT_EQ(seen.weights[s], weights[s]);
      }
    }
}
struct SourcesOfARun : TrainerTest {};
TEST_F(SourcesOfARun, AreInItsNumbers) {
  std::vector<data::Part> parts{{data.train.parts()[0].rows, "a", {}}, {data.train.parts()[0].rows, "b", {}}};
  data.train = data::TrainingRows(parts, data::Mix::of({1, 2}));
  settings.layout = "dp";
  std::filesystem::create_directories(settings.out);
  testing::internal::CaptureStdout();
  local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings({}, mesh.shape()).compute);
    auto task = bigram();
    task.by_row = true;
    auto model = trainable(task, {.optimizer = optim::sgd({.learning_rate = 1}), .learning_rate = 1});
    EXPECT_EQ(run_training(*model, data, settings, mesh), 0);
  });
  (void)testing::internal::GetCapturedStdout();
  auto a = losses(settings.out, "train/loss/a"), b = losses(settings.out, "train/loss/b"), all = losses(settings.out),
       tokens = losses(settings.out, "data/tokens/a");
  ASSERT_EQ(a.size(), 6U);
  ASSERT_EQ(b.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    auto part = tokens[i] / static_cast<double>(settings.batch * kPositions);
    EXPECT_NEAR(part * a[i] + (1 - part) * b[i], all[i], 1e-4) << i;
  }
}
}  // namespace
}  // namespace by_source_test
