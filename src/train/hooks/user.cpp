#include "train/hooks.h"

namespace bora::training {
namespace {
class User final : public LoopHook {
 public:
  void after_step(Run& run, const StepReport& r) override {
    if (run.settings.membership) run.settings.membership->reached(r.step);
    for (auto& hook : run.settings.hooks) hook(r, run);
  }
};
}  // namespace
LoopHookPtr user_hooks() { return std::make_unique<User>(); }
}  // namespace bora::training
