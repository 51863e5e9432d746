// A run that continues with another batch, on other ranks or in other parts, reads each row of the order once.
#include "bigram.h"
#include "bora/data/text.h"
#include "support/throws.h"
#include "train/row_cursor.h"

namespace fs = std::filesystem;
namespace batch_change_test {
using namespace bora;
namespace {
/// Rows that write down who reads them: {part, pass, index} of each, by the number of the row in the order.
struct Numbered final : data::Dataset {
  explicit Numbered(std::int64_t n) : n(n) {}
  const std::int64_t n;
  std::int64_t size() const override { return n; }
  std::int64_t filled() const override { return n * kPositions; }
  void at(const data::Place& p, const data::Row& row) const override {
    for (std::int64_t i = 0; i < kPositions; ++i) {
      row.tokens[i] = static_cast<std::int32_t>((p.index + i) % 256);
      row.targets[i] = static_cast<std::int32_t>((p.part * 100 + p.pass * 31 + p.index) % 256);
      row.weights[i] = 1;
    }
    *row.filled = kPositions;
  }
};
using Seen = std::vector<std::pair<std::int32_t, std::int32_t>>;  // first token and target of each row
}  // namespace

struct BatchChange : TrainerTest {
  /// The rows that the steps of a run read, in order; each part of the run has its batch, ranks and parts of a batch.
  struct Leg {
    std::int64_t until, batch;
    int ranks = 1;
    std::int64_t accumulate = 1;
    std::vector<training::BatchAt> at = {};
  };
  /// A model whose loss tells nothing: what it is given is written down.
  Seen seen;
  void leg(const Leg& l) {
    auto s = settings;
    s.steps = l.until, s.batch = l.batch, s.batch_at = l.at, s.accumulate = l.accumulate;
    std::mutex mutex;
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int32_t, std::int32_t>> rows;  // step, row
    fs::create_directories(s.out);
    testing::internal::CaptureStdout();
    local_mesh({{"data", l.ranks}, {"model", 1}}, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout(s.layout), mesh.shape()).compute);
      auto model = bigram_trainable(s, mesh.shape());
      struct Listening final : Trainable {
        Listening(Trainable& m, std::function<void(const GlobalBatch&)> h) : of(m), hears(std::move(h)) {}
        Trainable& of;
        std::function<void(const GlobalBatch&)> hears;
        void init(const Array& key) override { of.init(key); }
        tree::Node state() override { return of.state(); }
        tree::Node parameters() override { return of.parameters(); }
        bool trains(const std::string& path) const override { return of.trains(path); }
        tree::Node base() override { return of.base(); }
        tree::Node optimizer_state() override { return of.optimizer_state(); }
        Array step(const GlobalBatch& b) override { return hears(b), of.step(b); }
        Array evaluate(const GlobalBatch& b) override { return of.evaluate(b); }
        ProgramPtr step_program(const GlobalBatch& b) override { return of.step_program(b); }
        Arrays step_arguments(const GlobalBatch& b) override { return of.step_arguments(b); }
        void begin_around_parameters() override { of.begin_around_parameters(); }
      };
      std::int64_t step = 0;
      Listening heard(*model, [&](const GlobalBatch& b) {
        ++step;
        auto tokens = gather(b.example.tokens.array()).to_vector<std::int32_t>(),
             targets = gather(b.example.targets.array()).to_vector<std::int32_t>();
        if (mesh.rank() != 0) return;
        for (std::int64_t r = 0; r < b.example.tokens.axis("batch").size; ++r)
          rows[{step, r}] = {tokens[static_cast<std::size_t>(r * kPositions)],
                             targets[static_cast<std::size_t>(r * kPositions)]};
      });
      EXPECT_EQ(run_training(heard, data, s, mesh), 0);
    });
    printed = testing::internal::GetCapturedStdout();
    for (auto& [place, row] : rows) seen.push_back(row);
  }
  Seen order(std::int64_t rows, const data::TrainingRows& of) {
    Seen r;
    auto all = data::training_rows(of, data.shape, 0, rows, 0, rows, settings.seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      auto row = all.row(i);
      r.emplace_back(row.tokens[0], row.targets[0]);
    }
    return r;
  }
  void expect_in_order(const std::vector<Leg>& legs) {
    fs::remove_all(settings.out);
    seen.clear();
    std::int64_t rows = 0, before = 0;
    for (auto& l : legs) {
      leg(l);
      rows += (l.until - before) * l.batch;
      before = l.until;
      EXPECT_EQ(static_cast<std::int64_t>(losses(settings.out, "throughput/total_tokens").back()), rows * kPositions);
    }
    EXPECT_EQ(seen, order(rows, data.train));
  }
};

TEST_F(BatchChange, EveryRowOfTheOrderIsReadOnce) {
  settings.layout = "dp";
  data.train = data::TrainingRows(std::make_shared<Numbered>(37));  // several passes, each in another order
  data.held_out = nullptr;
  expect_in_order({{3, 8}, {6, 12}});
  EXPECT_NE(printed.find("batch: it was 8 and is 12; the rows go on behind the 24 that were read"), printed.npos)
      << printed;
  EXPECT_EQ(printed.find("left out"), printed.npos);
  expect_in_order({{3, 12}, {7, 8}, {8, 1}, {9, 12}});          // to a smaller batch and back
  expect_in_order({{2, 6, 1}, {4, 12, 3}, {7, 5, 2}});          // on other ranks
  expect_in_order({{2, 12, 2, 3}, {4, 8, 1, 4}, {6, 12, 3}});   // in other parts
  expect_in_order({{2, 8}, {4, 8}});
}
TEST_F(BatchChange, AtGivenStepsOfARun) {
  settings.layout = "dp";
  data.train = data::TrainingRows(std::make_shared<Numbered>(37));
  data.held_out = nullptr;
  std::vector<training::BatchAt> at{{2, 8}, {5, 12}};
  leg({7, 4, 1, 2, at});
  EXPECT_NE(printed.find("batch 12 x 8 tokens"), printed.npos) << printed;  // the plan is of the largest
  auto whole = seen;
  EXPECT_EQ(whole, order(2 * 4 + 3 * 8 + 2 * 12, data.train));
  EXPECT_EQ(static_cast<std::int64_t>(losses(settings.out, "throughput/total_tokens").back()), 56 * kPositions);
  auto once = losses(settings.out);
  for (std::int64_t stop : {1, 2, 4, 6}) {  // a run that continues has the same batches
    fs::remove_all(settings.out);
    seen.clear();
    leg({stop, 4, 2, 2, at}), leg({7, 4, 1, 2, at});
    EXPECT_EQ(printed.find("batch: it was"), printed.npos) << printed;
    EXPECT_EQ(seen, whole) << stop;
  }
  fs::remove_all(settings.out);
  seen.clear();
  leg({6, 4, 1, 2, at}), leg({8, 4, 1, 2, {{2, 8}, {7, 2}}});  // and others, where its settings changed
  EXPECT_NE(printed.find("batch: it was 12 and is 8; the rows go on behind the 44 that were read"), printed.npos)
      << printed;
  EXPECT_EQ(seen, order(44 + 8 + 2, data.train));
}
TEST_F(BatchChange, OfAMixtureWhoseWeightsChangeWithSteps) {
  settings.layout = "dp";
  std::vector<data::Part> parts{{std::make_shared<Numbered>(11), "a", {}}, {std::make_shared<Numbered>(29), "b", {}}};
  auto mix = [](const std::function<std::int64_t(std::int64_t)>& rows_before) {
    return data::Mix({{0, {1, 1}}, {rows_before(2), {1, 4}}, {rows_before(5), {3, 1}}});
  };
  data.train = data::TrainingRows(parts, mix([](std::int64_t step) { return step * 8; }));
  data.held_out = nullptr;
  data.mix = mix;
  for (auto& l : std::vector<Leg>{{3, 8}, {7, 12, 2}}) leg(l);
  // 3 steps of 8 rows, 4 of 12; the third weights begin before step 5, behind 24 + 2 * 12 rows.
  EXPECT_EQ(seen, order(24 + 48, data::TrainingRows(parts, data::Mix({{0, {1, 1}}, {16, {1, 4}}, {48, {3, 1}}}))));
}
TEST_F(BatchChange, OfACheckpointThatCountsSteps) {
  settings.layout = "dp";
  data.train = data::TrainingRows(std::make_shared<Numbered>(37));
  data.held_out = nullptr;
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {  // as it was written before the note "rows"
    UseMapping split(layout_mappings({}, mesh.shape()).compute);
    auto model = bigram_trainable(settings, mesh.shape());
    model->init(random::key(0));
    for (auto& slot : tree::slots(model->state()))
      if (slot.path == "step") slot.leaf.set(full_of({{}, i32}, 3));
    Arrays keep;
    io::save_checkpoint(settings.out + "/checkpoints", 3, io::leaves_of(model->state(), "", keep), place_of(mesh),
                        {{"batch", "8"}});
  });
  leg({5, 12});
  auto want = order(24 + 24, data.train);
  want.erase(want.begin(), want.begin() + 24);
  EXPECT_EQ(seen, want);
}
TEST_F(BatchChange, ItsNote) {
  using training::RowCursor;
  RowCursor c(8);
  EXPECT_EQ(c.before(5), 40);
  c.change(5, 12);
  c.change(5, 6);  // no step was made with 12
  EXPECT_EQ(c.before(5), 40);
  EXPECT_EQ(c.before(7), 52);
  EXPECT_EQ(c.before(3), 24);
  c.change(9, 1);
  EXPECT_EQ(c.note(), "0 0 8, 5 40 6, 9 64 1");
  EXPECT_EQ(RowCursor::of_note(c.note()).note(), c.note());
  EXPECT_EQ(RowCursor::of_note(c.note()).before(11), 66);
  RowCursor planned(4, {{3, 8}, {10, 16}});
  EXPECT_EQ(planned.note(), "0 0 4, 3 12 8, 10 68 16");
  EXPECT_EQ(planned.most(0, 10), 8);
  EXPECT_EQ(planned.most(0, 11), 16);
  EXPECT_EQ(planned.batch_of(3), 8);
  planned.follow(5, RowCursor(8, {{7, 2}}));
  EXPECT_EQ(planned.note(), "0 0 4, 3 12 8, 7 44 2");
  for (auto bad : {"", "8", "0 0", "0 0 8,", "0 0 8, 5 41 6", "1 8 8", "0 0 0", "0 0 8, 5 40 x", "0 0 8 5 40 6"})
    EXPECT_THROW(RowCursor::of_note(bad), CheckpointError) << bad;
}
}  // namespace batch_change_test
