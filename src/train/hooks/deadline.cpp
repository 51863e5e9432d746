// A stop in time: before a step that would not fit in front of the end of the job.
#include "bora/train/deadline.h"
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>
#include "train/hooks.h"
#include "train/saves/saves.h"

namespace bora::training {
namespace {
/// The least of the slowest tenth of the last steps.
class StepTimes {
 public:
  void add(double seconds) {
    if (last_.size() < kKept) last_.push_back(seconds);
    else last_[next_++ % kKept] = seconds;
    slowest_ = std::max(slowest_, seconds);
  }
  double slowest() const { return slowest_; }  // of all
  double slowest_tenth() const {
    if (last_.empty()) return 0;
    auto sorted = last_;
    auto at = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 9 / 10);
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
  }

 private:
  static constexpr std::size_t kKept = 1000;
  std::vector<double> last_ = {};
  std::size_t next_ = 0;
  double slowest_ = 0;
};
class InTime final : public LoopHook {
 public:
  void begin(Run& run) override {
    if (run.settings.deadline.kind() == Deadline::Kind::off) return;
    auto over = on_first<ConfigError>(run.mesh, "run: its deadline", [&] {
      std::string problem;
      end_ = end_of_job(run.settings.deadline, problem);
      run.warn(problem);
      if (!end_) return "";
      // Until one is measured: as the plan says it.
      write_ = static_cast<double>(checkpoint_bytes(run.model.state())) / 100e6;
      auto left = end_->seconds_left();
      run.say("deadline: " + end_->text() + " (" + end_->said_by + "), in " + seconds_text(left));
      if (left >= needs(0)) return "";
      run.say("deadline: no step fits before it");
      return "over";
    });
    run.stopped = run.stopped || !over.empty();
  }
  /// A wish of this step's batch is heard at the step's end: so the step after it must fit.
  void before_step(Run& run) override {
    if (!end_) return;
    if (run.saved.seconds > 0) write_ = run.saved.seconds;
    run.late_from = (end_->at - std::chrono::milliseconds(std::llround(1e3 * needs(0)))).time_since_epoch();
    if (std::exchange(evaluated_, false)) between_ = std::max(between_, seconds_since(ended_));
    if (run.asked_to_stop || run.done + 1 == run.settings.steps) return;
    auto& eval = run.settings.eval;
    auto due = [&](std::int64_t step) { return eval.every > 0 && step % eval.every == 0; };
    auto rest = due(run.done + 1) || due(run.done + 2) ? between_ : 0;
    auto left = end_->seconds_left() - rest;
    if (left >= times_.slowest() + needs(times_.slowest())) return;
    auto step = times_.slowest_tenth();
    if (left >= step + needs(step)) return;
    run.asked_to_stop = true;
    run.say("deadline: this step is the last one: another would not fit before " + end_->text() + " (in " +
            seconds_text(end_->seconds_left()) + "; the slowest tenth of steps takes " + seconds_text(step) +
            " or more, a checkpoint " + seconds_text(write_) + ")");
  }
  void after_step(Run& run, const StepReport& r) override {
    if (!end_) return;
    times_.add(r.seconds + r.data_wait);
    auto every = run.settings.eval.every;
    evaluated_ = every > 0 && r.step % every == 0;
    ended_ = Clock::now();
  }

 private:
  double needs(double step) const { return 1.2 * step + 3 * write_ + 30; }
  std::optional<EndOfJob> end_ = {};  // on the first rank
  StepTimes times_ = {};
  double write_ = 0, between_ = 0;    // seconds: of a checkpoint; of an evaluation, and what else comes with it
  bool evaluated_ = false;            // after the last step, which ended at ended_
  Clock::time_point ended_ = {};
};
}  // namespace
LoopHookPtr deadline_hook() { return std::make_unique<InTime>(); }
}  // namespace bora::training
