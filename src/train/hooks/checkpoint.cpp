#include <filesystem>
#include "base/api/bytes.h"
#include "bora/base/text.h"
#include "train/hooks.h"
#include "bora/io/checkpoint.h"
#include "bora/io/tree.h"
#include "bora/train/process.h"

namespace bora::training {
namespace {
/// If the run's folder is gone, makes a new one beside it. Returns whose it is. All ranks.
io::FolderOwner look_after_folder(Run& run) {
  run.check_folder();
  on_first(run.mesh, "run: look after its folder", [&] {
    if (run.folder->there()) return;
    run.out = free_path(run.settings.out + ".rescued");
    run.folder = std::make_unique<RunFolder>(run.out);
    run.write_settings();
  });
  auto said = ByteWriter().text(run.out).text(run.folder ? run.folder->id() : "").take();
  auto texts = run.mesh.exchange(said, "run: its folder");
  ByteReader first(texts[0]);
  run.out = first.text();
  if (!run.settings.membership) return {};  // nobody takes it over
  return {.name = first.text(), .check = [&run] { run.check_folder(); }};
}
class Checkpoint final : public LoopHook {
 public:
  void begin(Run& run) override {
    run.saved = {.at = Clock::now(), .asked = 0};
    if (run.is_best && run.settings.checkpoint.best) write_best(run);
  }
  void before_step(Run& run) override {
    auto minutes = run.settings.checkpoint.minutes;
    bool late = run.mesh.rank() == 0 && minutes > 0 && seconds_since(run.saved.at) >= 60 * minutes;
    run.asks_for_save = late || StopSignals::saves() != run.saved.asked;
  }
  void after_step(Run& run, const StepReport& r) override {
    auto& s = run.settings.checkpoint;
    bool due = s.every > 0 && r.step % s.every == 0;
    if ((due || run.wants_save) && !run.last()) write_checkpoint(run);
    if (run.is_best && s.best) write_best(run);
  }
  void end(Run& run) override {
    if (run.done != run.stored) write_checkpoint(run);
  }
};
/// Of a step that was saved under another root already the files get a second name, unless the folder was moved since.
std::string save(Run& run, const io::FolderOwner& owner, const std::string& root, std::int64_t keep,
                 std::string& warning) {
  auto& s = run.settings;
  run.watchdog.at("writing the checkpoint of step " + std::to_string(run.done) + " into " + root);
  auto asked = StopSignals::saves();  // before the state is read
  if (run.saved.step == run.done && run.saved.folder.starts_with(run.out + "/"))
    return io::link_checkpoint({run.done, run.saved.folder}, root, place_of(run.mesh), keep, &warning, owner);
  Arrays keep_alive;
  auto leaves = io::leaves_of(run.model.state(), "", keep_alive);
  auto notes = run.notes();
  notes["seed"] = std::to_string(s.seed);
  notes["settings"] = s.settings;
  if (!run.base.empty()) notes["base"] = run.base;
  notes["batch"] = std::to_string(s.batch);
  notes["rows_form"] = data::rows_form;
  auto folder = io::save_checkpoint(root, run.done, leaves, place_of(run.mesh), notes, keep, &warning, owner);
  run.saved = {run.done, folder, Clock::now(), asked};
  return folder;
}
}  // namespace

void write_checkpoint(Run& run) {
  auto owner = look_after_folder(run);
  auto& s = run.settings;
  std::string warning;
  auto folder = save(run, owner, run.checkpoints(), s.checkpoint.keep, warning);
  run.say("checkpoint: " + folder);
  if (!run.last()) write_plot(run);  // the end draws it
  run.warn(warning);
  check<IoError>(run.out == s.out, "out: ", s.out, " was moved or removed while this run wrote into it; step ",
                 run.done, " is saved as ", folder, " (--out ", run.out, " continues from there)");
}
void write_best(Run& run) {
  auto owner = look_after_folder(run);
  std::string warning;
  auto folder = save(run, owner, run.best_checkpoint(), 1, warning);
  on_first(run.mesh, "checkpoint: remove the best one before", [&] {  // of a later step, if the run was set back
    auto all = io::list_checkpoints(run.best_checkpoint());
    // This rank may have slept since the checkpoint was whole: of ranks that have gone on without it, none is removed.
    if (!run.folder->mine()) return;
    for (auto& other : all) {
      if (other.step == run.done) continue;
      // Renamed first: a half-removed one is no checkpoint.
      auto gone = run.best_checkpoint() + "/.step-" + std::to_string(other.step) + ".tmp.gone";
      std::error_code error;
      std::filesystem::remove_all(gone, error);
      std::filesystem::rename(other.folder, gone, error);
      if (!error) std::filesystem::remove_all(gone, error);
      if (error) run.warn("an old best checkpoint stays: " + other.folder + ": " + error.message());
    }
  });
  run.say("best: " + folder);
  run.warn(warning);
}
void rescue_checkpoint(Run& run) {
  look_after_folder(run);
  if (run.out != run.settings.out) write_checkpoint(run);
}
LoopHookPtr checkpoint_hook() { return std::make_unique<Checkpoint>(); }
}  // namespace bora::training
