#include "bora/train/process.h"
#include "train/hooks.h"

namespace bora::training {
namespace {
class Stop final : public LoopHook {
 public:
  void before_step(Run& run) override {
    bool requested = StopSignals::requested();  // before the other: SIGTERM in between is for the next step
    bool others_go_on = run.is_drained();
    run.asked_to_stop = (requested && !others_go_on) || (run.folder && !run.folder->there());
  }
  void end(Run& run) override {
    // SIGTERM may have come after the ranks said why they leave, while the checkpoint was written.
    if (run.leaves() && run.is_drained()) run.leaving = Leaving::for_good;
    if (run.leaves())
      run.say("step " + std::to_string(run.done) + " of " + std::to_string(run.settings.steps) +
              ": the ranks meet again, with others");
    else if (run.interrupted())
      run.say("stopped after step " + std::to_string(run.done) + " of " + std::to_string(run.settings.steps) +
              "; the same command continues");
    rescue_checkpoint(run);
  }

 private:
  StopSignals signals_;
};
}  // namespace
LoopHookPtr stop_hook() { return std::make_unique<Stop>(); }
}  // namespace bora::training
