// The law: an elastic job that loses a rank exactly at a call to the system - a message, a write, a rename - while a
// checkpoint is saved or a snapshot is taken, ends with 0 and the numbers of the run that nothing happened to.
// BORA_LOSSES: how many (60), BORA_LOSSES_SEED: those of an earlier run.
#include <random>
#include "app/elastic.h"

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
    faults << "LD_PRELOAD=" FAIL_NTH " FAULT_SIGNAL=" << signal << " FAULT_RANK=" << rank << " FAULT_NTH=" << call
           << " FAULT_FROM=" << w.from << " FAULT_ONCE=" << once;
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
}  // namespace loss_test
