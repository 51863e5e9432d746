#include "bora/base/bytes.h"
#include "train/hooks.h"
#include "train/snapshots.h"

namespace bora::training {
namespace {
class Snapshot final : public LoopHook {
 public:
  /// Also at the start, so that a rank that joined after a loss holds its part at once.
  void begin(Run& run) override { take(run); }
  void after_step(Run& run, const StepReport& r) override {
    if (!run.last() && UseSnapshots::current() && r.step % UseSnapshots::every() == 0) take(run);
  }

 private:
  static void take(Run& run) {
    auto* snapshots = UseSnapshots::current();
    if (!snapshots) return;
    run.watchdog.at("the snapshot of step " + std::to_string(run.done));
    ByteWriter note;
    for (auto& [name, text] : run.notes()) note.text(name).text(text);
    snapshots->take(run.mesh, run.done, run.model.state(), note.take());
  }
};
}  // namespace
LoopHookPtr snapshot_hook() { return std::make_unique<Snapshot>(); }
}  // namespace bora::training
