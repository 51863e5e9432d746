#include <algorithm>
#include <cstdio>
#include "bora/transport/trace.h"
#include "train/hooks.h"

namespace bora::training {
namespace {
class Trace final : public LoopHook {
 public:
  void begin(Run& run) override {
    auto& s = run.settings;
    if (s.trace.path.empty()) return;
    first_ = std::max(run.done, std::min(run.done + 2, s.steps - s.trace.steps));  // the first step compiles
  }
  void before_step(Run& run) override {
    if (run.done != first_) return;
    tracing::start();
    on_ = true;
  }
  void after_step(Run& run, const StepReport& r) override {
    if (r.step == first_ + run.settings.trace.steps || run.last()) write(run);
  }
  void end(Run& run) override { write(run); }  // a user's hook stopped the run meanwhile

 private:
  void write(Run& run) {
    if (!on_) return;
    on_ = false;
    auto& path = run.settings.trace.path;
    tracing::Totals t;
    for (auto& x : transport::write_trace(run.mesh.context(), path))
      t.steps += x.steps, t.step += x.step, t.kernel += x.kernel, t.collective += x.collective, t.wait += x.wait;
    auto ms = [&](double seconds) {
      char text[32];
      std::snprintf(text, sizeof text, "%.2f", seconds * 1e3 / static_cast<double>(t.steps));
      return std::string(text);
    };
    run.say("trace: " + path + " (a step " + ms(t.step) + " ms: kernels " + ms(t.kernel) + ", collectives under way " +
            ms(t.collective) + ", waiting " + ms(t.wait) + "; mean of the ranks)");
  }
  std::int64_t first_ = -1;  // steps before the first traced one; -1: none is
  bool on_ = false;
};
}  // namespace
LoopHookPtr trace_hook() { return std::make_unique<Trace>(); }
}  // namespace bora::training
