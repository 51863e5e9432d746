// The loop of an elastic job alone, without a launcher: threads are its processes, and each follows a script.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include "bigram.h"
#include "bora/transport/transport.h"
#include "scripted_membership.h"
#include "train/api/memory_checkpoint.h"

namespace membership_test {
using namespace bora;
using bora::training::kDrained;
using bora::training::kNextGeneration;

namespace {
constexpr int kLost = 86;  // the exit code of a process that ends with RankLost
struct MembershipTest : TrainerTest {
  /// A generation: its processes in the order of their ranks, and the heirs if it is one of handing over.
  struct Generation {
    std::vector<int> processes;
    std::vector<int> heirs = {};
  };
  struct Process {
    test::ScriptedMembership script = {};
    std::int64_t dies_after = -1;  // a step of generation 0
    int code = -1;
  };
  std::vector<Process> run_job(const std::vector<Generation>& job,
                               const std::function<void(std::vector<Process>&)>& plan) {
    std::filesystem::create_directories(settings.out);
    int count = 0;
    for (auto& g : job) count = std::max(count, 1 + *std::max_element(g.processes.begin(), g.processes.end()));
    std::vector<Process> processes(static_cast<std::size_t>(count));
    plan(processes);
    std::vector<std::vector<transport::ContextPtr>> contexts;
    for (auto& g : job) {
      auto some = transport::local(static_cast<int>(g.processes.size()));
      contexts.emplace_back(std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    testing::internal::CaptureStdout();
    std::atomic<std::int64_t> newest{0};  // generation that a process has come to
    std::vector<std::thread> threads;
    for (int p = 0; p < count; ++p)
      threads.emplace_back([&, p] {
        auto& mine = processes[static_cast<std::size_t>(p)];
        auto rank_in = [&, p](std::int64_t g) {
          auto& all = job[static_cast<std::size_t>(g)].processes;
          auto found = std::find(all.begin(), all.end(), p);
          return found == all.end() ? -1 : static_cast<int>(found - all.begin());
        };
        mine.script.has_rank = [&](std::int64_t g) {
          bool has = g < static_cast<std::int64_t>(job.size()) && rank_in(g) >= 0;
          if (has) mine.script.survivors = job[static_cast<std::size_t>(g)].heirs, newest = g;
          return has;
        };
        while (rank_in(mine.script.now) < 0) ++mine.script.now;
        while (newest < mine.script.now) std::this_thread::yield();  // it is started beside others
        training::MemoryCheckpoint memory;
        try {
          mine.code = training::run_generations(&mine.script, [&] {
            auto g = static_cast<std::size_t>(mine.script.now);
            auto context = contexts[g][static_cast<std::size_t>(rank_in(mine.script.now))];
            return one_generation(mine, memory, context);
          });
        } catch (const transport::RankLost&) { mine.code = kLost; }
      });
    for (auto& t : threads) t.join();
    printed = testing::internal::GetCapturedStdout();
    return processes;
  }
  int one_generation(Process& mine, training::MemoryCheckpoint& memory, const transport::ContextPtr& context) {
    auto mesh = Mesh::over(context, {{"data", context->size()}, {"model", 1}});
    UseMesh on(mesh);
    UseMapping split(layout_mappings(parse_layout(settings.layout), mesh.shape()).compute);
    int code = kNextGeneration;
    if (mine.script.survivors.empty()) {
      auto model = bigram_trainable(settings, mesh.shape());
      LoopSettings loop = settings;
      loop.membership = &mine.script;
      if (snapshots) loop.memory = &memory, loop.snapshot_every = 1;
      loop.hooks = {[&](const StepReport& r, RunView&) {
        if (mine.script.now > 0 || r.step != mine.dies_after) return;
        mesh.context().abort("it dies");
        throw transport::RankLost("it dies", mesh.rank());
      }};
      code = run_training(*model, data, loop, mesh);
    } else {
      memory.hand_over(mesh, mine.script.survivors);
    }
    mesh.leave();
    return code;
  }
  bool says(const std::string& text) const { return printed.find(text) != printed.npos; }
  bool snapshots = true;
};
}  // namespace

TEST_F(MembershipTest, AfterALossAnotherProcessTakesTheRank) {
  settings.checkpoint.every = 2;
  auto whole = run(settings, 2);
  for (bool in_memory : {true, false})
    for (int dies : {0, 1}) {
      SCOPED_TRACE(std::to_string(dies) + (in_memory ? " with snapshots" : ""));
      snapshots = in_memory;
      settings.out = folder + "/" + std::to_string(dies) + (in_memory ? "m" : "c");
      auto next = dies == 0 ? std::vector{2, 1} : std::vector{0, 2};
      auto all = run_job({{{0, 1}}, {next}}, [&](auto& p) { p[static_cast<std::size_t>(dies)].dies_after = 4; });
      auto &lost = all[static_cast<std::size_t>(dies)], &other = all[static_cast<std::size_t>(1 - dies)];
      EXPECT_EQ(lost.code, kLost);
      EXPECT_EQ(other.code, 0);
      EXPECT_EQ(all[2].code, 0);
      ASSERT_EQ(other.script.reasons.size(), 1U);
      EXPECT_NE(other.script.reasons[0].first, "");
      EXPECT_TRUE(all[2].script.reasons.empty());
      auto from = in_memory ? "continuing from step 3 (a snapshot in memory)" : "continuing from step 2 (";
      EXPECT_TRUE(says(from)) << printed;
      EXPECT_EQ(losses(settings.out), whole);
    }
}
TEST_F(MembershipTest, RanksLeaveInOrderWhenOneOfThemIsAskedTo) {
  auto whole = run(settings, 2);
  settings.out = folder + "/left";
  auto all = run_job({{{0, 1}}, {{1, 0}}}, [](auto& p) { p[1].script.leave_after = 2; });
  for (auto& p : all) {
    EXPECT_EQ(p.code, 0);
    EXPECT_EQ(p.script.reasons, (std::vector<std::pair<std::string, int>>{{"", -1}}));
    EXPECT_EQ(p.script.made, 6);
  }
  EXPECT_TRUE(says("step 3 of 6: the ranks meet again, with others")) << printed;
  EXPECT_EQ(losses(settings.out), whole);
}
TEST_F(MembershipTest, ADrainedProcessEndsAndTheOthersGoOn) {
  for (std::size_t drained : {0U, 1U}) {
    settings.out = folder + "/" + std::to_string(drained);
    auto left = static_cast<int>(1 - drained);
    auto all = run_job({{{0, 1}}, {{left}}}, [&](auto& p) { p[drained].script.drain_after = 2; });
    EXPECT_EQ(all[drained].code, kDrained);
    EXPECT_TRUE(all[drained].script.reasons.empty());
    EXPECT_EQ(all[1 - drained].code, 0);
    EXPECT_EQ(losses(settings.out).size(), 6U);
    EXPECT_TRUE(says("step 3 of 6: the ranks meet again, with others")) << printed;
  }
}
TEST_F(MembershipTest, IfAllAreDrainedItIsAStop) {
  auto whole = run(settings, 2);
  settings.out = folder + "/stopped";
  auto all = run_job({{{0, 1}}}, [](auto& some) {
    for (auto& p : some) p.script.drain_after = 2;
  });
  for (auto& p : all) {
    EXPECT_EQ(p.code, 130);
    EXPECT_TRUE(p.script.reasons.empty());
  }
  EXPECT_TRUE(says("stopped after step 3 of 6; the same command continues")) << printed;
  EXPECT_EQ(run(settings, 2), whole);
}
/// The process that was lost held a part, and one that gets no rank in the last generation the only copy of it.
TEST_F(MembershipTest, ProcessesWithoutARankHandOverWhatTheyHold) {
  for (bool hands_over : {false, true}) {
    settings.out = folder + "/" + std::to_string(hands_over);
    std::vector<Generation> job{{{0, 1, 2}}, {{0}}};
    if (hands_over) job.insert(job.begin() + 1, Generation{{0, 1}, {0}});
    auto all = run_job(job, [](auto& p) { p[2].dies_after = 4; });
    EXPECT_EQ(all[0].code, 0);
    EXPECT_EQ(all[1].code, hands_over ? 130 : kLost);  // a launcher ends it while it waits
    EXPECT_EQ(all[2].code, kLost);
    EXPECT_EQ(says("continuing from step 3 (a snapshot in memory)"), hands_over) << printed;
    EXPECT_EQ(says("is not whole: the blocks of rank 1 of 3 were lost with their copies"), !hands_over) << printed;
    EXPECT_EQ(losses(settings.out).size(), 6U);
  }
}
TEST(Generations, ErrorsOtherThanALossEndThemAll) {
  test::ScriptedMembership script;
  script.has_rank = [](std::int64_t g) { return g < 3; };
  int calls = 0;
  EXPECT_THROW(training::run_generations(&script, [&]() -> int {
    if (++calls < 3) return kNextGeneration;
    throw ValueError("no more");
  }), ValueError);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(script.reasons.size(), 2U);
  EXPECT_EQ(training::run_generations(nullptr, [] { return 7; }), 7);
  EXPECT_THROW(training::run_generations(nullptr, []() -> int { throw transport::RankLost("gone", 1); }),
               transport::RankLost);
}
}  // namespace membership_test
