#include "at_once.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include "base/api/cores.h"
#include "base/api/json.h"
#include "base/api/threads.h"
#include "bora/base/text.h"
#include "bora/shard/abstract.h"
#include "bora/train/process.h"
#include "run.h"

namespace bora::training {
namespace {
using namespace std::chrono_literals;
constexpr auto kLook = 50ms, kAskAgain = 500ms;
constexpr double kLongStep = 10;     // seconds from which auto keeps the state before a step
constexpr double kRoom = 1.2;        // of the state's bytes must be free for that
constexpr std::size_t kStepsSeen = 3;
}  // namespace

std::shared_ptr<AtOnce> AtOnce::of(Run& run) {
  auto* halts = transport::halts(run.mesh.context());
  if (!halts || run.settings.checkpoint.at_once == Switch::off) return nullptr;
  return std::shared_ptr<AtOnce>(new AtOnce(run, *halts));
}
AtOnce::AtOnce(Run& run, transport::Halts& halts) : run_(run), halts_(halts), done_(2 * run.done) {
  watcher_ = start_thread("a watch for stops", [this] { watch(); });
}
AtOnce::~AtOnce() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  end_.notify_all();
  watcher_.join();
}
/// In an elastic job SIGTERM comes to single ranks, or to all not quite at once.
bool AtOnce::must_stop() const {
  if (run_.is_late()) return true;
  if (!StopSignals::requested()) return false;
  auto* job = run_.settings.membership;
  return !job || !job->drained({}) || job->drained(kSigtermForAll);
}
void AtOnce::watch() {
  Clock::time_point asked = {};
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, kLook, [this] { return ends_; })) {
    if (!must_stop() || Clock::now() - asked < kAskAgain) continue;
    asked = Clock::now();
    try {
      halts_.ask_to_halt();
    } catch (const Error&) { return; }  // the job is lost, and the training thread learns it
  }
}
bool AtOnce::keeps() {
  if (run_.settings.checkpoint.at_once == Switch::on || keeping_) return true;
  if (seconds_.size() < kStepsSeen || *std::min_element(seconds_.begin(), seconds_.end()) < kLongStep) return false;
  double bytes = 0;
  for (auto& slot : tree::slots(run_.model.state()))
    if (slot.leaf.defined()) bytes += static_cast<double>(local_type(slot.leaf.get()).nbytes());
  if (static_cast<double>(free_memory().bytes) < kRoom * bytes) return false;
  run_.say("steps take more than " + number_text(kLongStep) + " s: from now on a stop does not wait for the running "
           "one, for which each rank keeps the state before it (" + bytes_text(std::llround(bytes)) +
           "; checkpoint.at_once)");
  return keeping_ = true;
}
void AtOnce::begin_step() {
  bool keep = keeps();
  if (keep)
    for (auto& slot : tree::slots(run_.model.state()))
      kept_.push_back(slot.leaf.defined() ? slot.leaf.get() : Array());
  halts_.begin_work(done_, keep);
  if (keep) run_.model.keep_state();
  begun_ = Clock::now();
}
void AtOnce::end_step() {
  auto now = 2 * (run_.done + 1);
  halts_.end_work(now);
  done_ = now;
  kept_.clear();
  if (seconds_.size() == kStepsSeen) seconds_.erase(seconds_.begin());
  seconds_.push_back(std::chrono::duration<double>(Clock::now() - begun_).count());
}
void AtOnce::begin_evaluation() { halts_.begin_work(done_, true); }
void AtOnce::end_evaluation() {
  auto now = 2 * run_.done + 1;
  halts_.end_work(now);
  done_ = now;
}
void AtOnce::go_back(const transport::Halted& at) {
  std::size_t i = 0;
  if (!kept_.empty())
    for (auto& slot : tree::slots(run_.model.state())) {
      if (auto& before = kept_[i++]; before.defined()) slot.leaf.set(before);
    }
  kept_.clear();
  auto every = run_.settings.eval.every;
  if (at.done == 2 * run_.done && run_.done > 0 && every > 0 && run_.done % every == 0) run_.unevaluated = true;
  if (run_.is_late() && run_.mesh.rank() == 0)
    run_.say("deadline: what runs is given up, since a checkpoint must be written before it");
  run_.stopped = true;
  run_.asked_to_stop = run_.is_late() || (StopSignals::requested() && !run_.is_drained());
}
}  // namespace bora::training
