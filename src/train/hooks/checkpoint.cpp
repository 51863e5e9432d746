#include "bora/base/text.h"
#include "train/hooks.h"

namespace bora::training {
namespace {
/// If the run's folder is gone, makes a new one beside it. All ranks.
void look_after_folder(Run& run) {
  run.on_first_rank("run: look after its folder", [&] {
    if (run.folder->there()) return;
    run.out = free_path(run.settings.out + ".rescued");
    run.folder = std::make_unique<RunFolder>(run.out);
    run.write_settings();
  });
  run.out = run.mesh.exchange(run.out, "run: its folder")[0];
}
class Checkpoint final : public LoopHook {
 public:
  void after_step(Run& run, const StepReport& r) override {
    auto every = run.settings.checkpoint.every;
    bool due = every > 0 && r.step % every == 0;
    if ((due || run.wants_save) && !run.last()) write_checkpoint(run);
  }
  void end(Run& run) override { write_checkpoint(run); }
};
}  // namespace

void write_checkpoint(Run& run) {
  look_after_folder(run);
  auto& s = run.settings;
  run.watchdog.at("writing the checkpoint of step " + std::to_string(run.done) + " into " + run.checkpoints());
  Arrays keep;
  std::string warning;
  auto leaves = io::leaves_of(run.model.state(), "", keep);
  auto folder =
      io::save_checkpoint(run.checkpoints(), run.done, leaves, place_of(run.mesh),
                          {{"seed", std::to_string(s.seed)}, {"settings", s.settings}}, s.checkpoint.keep, &warning);
  run.say("checkpoint: " + folder);
  run.warn(warning);
  check<IoError>(run.out == s.out, "out: ", s.out, " was moved or removed while this run wrote into it; step ",
                 run.done, " is saved as ", folder, " (--out ", run.out, " continues from there)");
}
void rescue_checkpoint(Run& run) {
  look_after_folder(run);
  if (run.out != run.settings.out) write_checkpoint(run);
}
LoopHookPtr checkpoint_hook() { return std::make_unique<Checkpoint>(); }
}  // namespace bora::training
