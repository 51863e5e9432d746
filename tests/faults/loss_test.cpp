// The law: an elastic job that loses a rank exactly at a call to the system - a message, a write, a rename - while a
// checkpoint is saved or a snapshot is taken, ends with 0 and the numbers of the run that nothing happened to.
// BORA_LOSSES: how many (60), BORA_LOSSES_SEED: those of an earlier run.
#include <random>
#include "app/elastic.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace loss_test {
using namespace bora;

namespace {
struct LossTest : CommandTest {
  /// Four ranks, whose messages are calls to the system.
  std::string words = config + " steps=60 batch=8 reproducible=4 layout=dp transport.carrier=tcp"
                               " transport.heartbeat=0.5 transport.suspect=1.5 transport.dead=4"
                               " transport.join_timeout=10 transport.calibrate=off ";
  struct Window {
    std::string name, words, from;
    int calls;  // of a rank from there on, about
  };
  Result job(const std::string& out, const Window& w, const std::string& faults) const {
    return run("launch --elastic 2:4 --out " + out + " train " + words + w.words, {}, "export " + faults + ";");
  }
};
}  // namespace

TEST_F(LossTest, AtAnyCallOfASaveOrASnapshot) {
  auto calm = folder + "/calm";
  auto r = run("launch -n 4 --out " + calm + " train " + words + "checkpoint_every=20");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  const char* given = std::getenv("BORA_LOSSES");
  const char* chosen = std::getenv("BORA_LOSSES_SEED");
  auto seed = chosen ? static_cast<unsigned>(std::atoll(chosen)) : std::random_device()();
  SCOPED_TRACE("BORA_LOSSES_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<Window> windows = {
      {"a save", "checkpoint_every=20 ", ".step-20.", 120},
      {"a save beside steps", "checkpoint_every=20 checkpoint.async=on ", ".step-20.", 400},
      {"a save with the best", "checkpoint_every=20 checkpoint.best=true eval.every=20 ", ".step-20.", 300},
      {"a save with snapshots", "checkpoint_every=20 elastic.snapshot=3 ", ".step-20.", 200},
      {"a snapshot", "checkpoint_every=1000 elastic.snapshot=1 ", "metrics.jsonl", 1500},
      {"a snapshot of others", "checkpoint_every=1000 elastic.snapshot=1 ", "", 4000},
      {"a meeting", "checkpoint_every=20 ", "", 600}};
  int hit = 0;
  for (int left = given ? std::atoi(given) : 60, n = 0; left > 0 && !HasFailure(); --left, ++n) {
    auto& w = windows[random() % windows.size()];
    auto rank = w.from == "metrics.jsonl" ? 0 : static_cast<int>(random() % 4);
    auto call = 1 + static_cast<int>(random() % static_cast<unsigned>(w.calls));
    auto signal = random() % 4 == 0 ? SIGSTOP : SIGKILL;
    auto out = folder + "/hit-" + std::to_string(n), once = out + ".once";
    std::ostringstream faults;
    faults << "LD_PRELOAD=" << test::fail_nth() << " FAULT_SIGNAL=" << signal << " FAULT_RANK=" << rank
           << " FAULT_NTH=" << call << " FAULT_FROM=" << w.from << " FAULT_ONCE=" << once;
    r = job(out, w, faults.str());
    auto what = w.name + ", call " + std::to_string(call) + " of rank " + std::to_string(rank) + ", signal " +
                std::to_string(signal);
    auto was_hit = fs::exists(once);
    hit += was_hit;
    std::cout << what << (was_hit ? "" : ": not reached") << ", " << r.seconds << " s" << std::endl;
    SCOPED_TRACE(what + "\n" + r.err + r.out.substr(r.out.size() - std::min<std::size_t>(r.out.size(), 3000)));
    ASSERT_EQ(r.code, 0);
    EXPECT_EQ(losses(out), losses(calm));
    EXPECT_EQ(losses(out, "eval/loss").back(), losses(calm, "eval/loss").back());
    fs::remove_all(out);
  }
  EXPECT_GT(hit, 0);
  std::cout << hit << " of them were hit\n";
}
/// Hosts that share no folder: a rank is killed at any call of a save, and a disk may be lost with it. The run goes on
/// from the checkpoint before or from this one, on all hosts, with the same numbers.
TEST_F(LossTest, AtAnyCallOfASaveOnDisksOfHosts) {
  auto calm = folder + "/calm";
  auto settings = words + "steps=12 checkpoint_every=4 checkpoint.best=true eval.every=4 ";
  auto r = run("launch -n 4 --out " + calm + " train " + settings);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  const char *given = std::getenv("BORA_LOSSES"), *chosen = std::getenv("BORA_LOSSES_SEED");
  auto seed = chosen ? static_cast<unsigned>(std::atoll(chosen)) : std::random_device()();
  SCOPED_TRACE("BORA_LOSSES_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int hit = 0;
  for (int left = given ? std::atoi(given) : 40, n = 0; left > 0 && !HasFailure(); --left, ++n) {
    auto of = folder + "/disks-" + std::to_string(n), out = of + "/out", once = of + "/once";
    fs::create_directories(of);
    auto job = [&](const std::string& faults) {
      return run("launch -n 4 -- /bin/sh -c '" + faults + " exec " + test::command() + " train --out " + out + " " +
                 settings + "checkpoint.local=" + of + "/$BORA_RANK'");
    };
    auto rank = random() % 4, call = 1 + random() % 250, lost = random() % 8;
    auto step = random() % 2 == 0 ? "8" : "12";
    std::ostringstream faults;
    faults << "export LD_PRELOAD=" << test::fail_nth() << " FAULT_SIGNAL=" << SIGKILL << " FAULT_RANK=" << rank
           << " FAULT_NTH=" << call << " FAULT_FROM=.step-" << step << ". FAULT_ONCE=" << once << ";";
    r = job(faults.str());
    auto was_hit = fs::exists(once);
    hit += was_hit;
    auto what = "call " + std::to_string(call) + " of rank " + std::to_string(rank) + " in step " + step + ", disk " +
                std::to_string(lost);
    std::cout << what << (was_hit ? "" : ": not reached") << ", " << r.seconds << " s" << std::endl;
    SCOPED_TRACE(what + "\n" + r.err);
    EXPECT_EQ(r.code == 0, !was_hit) << r.code;
    if (lost < 4) fs::remove_all(of + "/" + std::to_string(lost));
    r = job("");
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_NE(r.out.find(was_hit ? "continuing from step " : "12"), r.out.npos) << r.out;
    EXPECT_EQ(losses(out), losses(calm));
    EXPECT_EQ(losses(out, "eval/loss").back(), losses(calm, "eval/loss").back());
    for (int disk = 0; disk < 4; ++disk)
      for (auto& e : fs::directory_iterator(of + "/" + std::to_string(disk) + "/checkpoints"))
        EXPECT_TRUE(e.path().filename().string().starts_with("step-")) << e.path();
    fs::remove_all(of);
  }
  EXPECT_GT(hit, 0);
  std::cout << hit << " of them were hit\n";
}
}  // namespace loss_test
