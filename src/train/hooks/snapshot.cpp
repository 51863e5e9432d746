#include "base/api/bytes.h"
#include "train/hooks.h"
#include "train/api/memory_checkpoint.h"
#include "bora/ops/indexing.h"

namespace bora::training {
namespace {
class Snapshot final : public LoopHook {
 public:
  /// Also at the start, so that a rank that joined after a loss holds its part at once.
  void begin(Run& run) override { take(run); }
  void after_step(Run& run, const StepReport& r) override {
    if (auto every = run.settings.snapshot_every; every > 0 && !run.last() && r.step % every == 0) take(run);
  }

 private:
  static void take(Run& run) {
    if (!run.settings.memory) return;
    run.watchdog.at("the snapshot of step " + std::to_string(run.done));
    ByteWriter note;
    for (auto& [name, text] : run.notes()) note.text(name).text(text);
    run.settings.memory->take(run.mesh, run.done, run.model.state(), note.take());
  }
};
}  // namespace
LoopHookPtr snapshot_hook() { return std::make_unique<Snapshot>(); }
}  // namespace bora::training
