#include "train/monitor/monitor.h"

namespace bora::training {
namespace {
class Hook final : public LoopHook {
 public:
  void begin(Run& run) override { run.monitor = std::make_shared<Monitor>(run); }
  void before_step(Run& run) override { run.monitor->before_step(); }
  void after_step(Run& run, const StepReport& r) override { run.monitored = run.monitor->after_step(r); }
  void end(Run& run) override { run.monitor->end(); }
};
}  // namespace
LoopHookPtr monitor_hook() { return std::make_unique<Hook>(); }
}  // namespace bora::training
