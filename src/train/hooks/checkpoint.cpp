#include <utility>
#include "bora/train/process.h"
#include "io/api/retention.h"
#include "shard/api/agree.h"
#include "train/hooks.h"
#include "train/retention.h"
#include "train/saves/saves.h"

namespace bora::training {
namespace {
/// Whether this step's evaluation is one of the best that keep.best keeps. All ranks.
bool is_to_keep(Run& run) {
  auto& best = run.settings.checkpoint.keep.best;
  if (best.n == 0 || run.numbers_of != run.done || !run.numbers.contains(best.metric)) return false;
  auto value = run.numbers[best.metric];
  return !on_first(run.mesh, "checkpoint: look at the best ones", [&] {
            return run.retention->among_best(value) ? "yes" : "";
          }).empty();
}
class Checkpoint final : public LoopHook {
 public:
  void begin(Run& run) override {
    if (run.settings.checkpoint.keep.last < io::kLeast)
      run.say("checkpoint.keep.last: 1 is taken as 2: the newest checkpoint may turn out to be damaged");
    run.saved = {.at = Clock::now(), .asked = 0};
    run.saves = std::make_shared<Saves>(run);
    run.saves->look_at_space();
    if (run.is_best && run.settings.checkpoint.best) write_best(run);
  }
  /// A signal's save waits for one that is under way: by then the state is newer.
  void before_step(Run& run) override {
    auto minutes = run.settings.checkpoint.minutes;
    bool late = run.mesh.rank() == 0 && minutes > 0 && seconds_since(run.saved.at) >= 60 * minutes;
    bool asked = StopSignals::saves() != run.saved.asked, busy = run.saves->busy();
    if (late && busy && !std::exchange(late_, true)) run.saves->skip("it is time");
    late_ = late_ && busy;
    run.tells.save = (late || asked) && !busy;
    run.saves->before_step();
  }
  void after_step(Run& run, const StepReport& r) override {
    auto& s = run.settings.checkpoint;
    run.saves->after_step();
    bool due = s.every > 0 && r.step % s.every == 0, best = run.is_best && s.best;
    if (run.last()) return best ? write_best(run) : void();
    bool wanted = run.wants_save || is_to_keep(run);
    if (due && !wanted && !best && run.saves->busy()) return run.saves->skip("it is due");
    if (due || wanted || best) run.saves->save({.checkpoint = due || wanted, .best = best});
  }
  void end(Run& run) override {
    run.saves->finish();
    if (run.done != run.stored) write_checkpoint(run);
    if (!run.retention) return;
    run.retention->wait();
    run.warn(run.retention->problem());
  }

 private:
  bool late_ = false;  // it is so, and was said
};
}  // namespace

void write_checkpoint(Run& run) { run.saves->write(state_now(run), {.checkpoint = true}); }
void write_best(Run& run) { run.saves->write(state_now(run), {.best = true}); }
void rescue_checkpoint(Run& run) {
  look_after_folder(run);
  if (run.out != run.settings.out) write_checkpoint(run);
}
LoopHookPtr checkpoint_hook() { return std::make_unique<Checkpoint>(); }
}  // namespace bora::training
