// Everything before the first step: the folder, the checkpoint to continue, the files, the plan.
#include <unistd.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include "base/api/bytes.h"
#include "base/api/file.h"
#include "base/api/paths.h"
#include "bora/base/text.h"
#include "bora/random/random.h"
#include "bora/train/batch.h"
#include "bora/train/plan.h"
#include "bora/train/process.h"
#include "compile/api/executable.h"
#include "bora/transport/transport.h"
#include "train/api/resume.h"
#include "train/api/stores.h"
#include "run.h"
#include "train/saves/saves.h"
#include "train/api/memory_checkpoint.h"

namespace bora::training {
namespace {
/// Where ranks write their parts of checkpoints: one folder, or one of each host. The ranks that lead in one take it.
void find_folders(Run& run) {
  auto local = run.keeps_local();
  if (run.mesh.size() > 1) run.stores = find_stores(run.mesh, run.kept());
  auto& stores = run.stores;
  std::string hosts;
  for (int r = 0; r < std::ssize(stores.leader); ++r)
    if (stores.leads(r)) hosts += (hosts.empty() ? "" : ", ") + stores.hosts[static_cast<std::size_t>(r)];
  if (!local && !stores.shared())
    run.say("out: " + run.out + " is not one folder on all hosts (" + hosts + "): each keeps the blocks of its ranks " +
            "in its own, and a copy of another host's, as with checkpoint.local");
  if (local && stores.shared() && run.mesh.size() > run.mesh.context().ranks_on_host())
    run.warn("checkpoint.local: " + run.kept() + " is one folder on all hosts, so there are no second copies in it");
  auto leads = stores.leads(run.mesh.rank());
  agree<ConfigError>(run.mesh, "run: take the folders of checkpoints", [&] {
    if (!leads || (!local && run.mesh.rank() == 0)) return;
    auto job = run.settings.membership ? run.settings.membership->job() : "";
    run.local = std::make_unique<RunFolder>(run.kept(), run.met_before(), job, local ? "checkpoint.local" : "out");
  });
  for (auto& root : {run.checkpoints(), run.best_checkpoint()}) run.warn(settle_checkpoints(run.mesh, stores, root));
}
/// The folder of a run that has another `out` may hold checkpoints of the same model.
void check_whose(Run& run, const std::string& folder) {
  if (!run.keeps_local()) return;
  on_first<ConfigError>(run.mesh, "checkpoints: whose they are", [&] {
    auto notes = io::read_manifest(folder).notes;
    auto whose = notes.find("out");
    std::error_code error;
    check<ConfigError>(whose == notes.end() || whose->second == run.settings.out ||
                           !std::filesystem::exists(whose->second, error),
                       "checkpoint.local: ", run.kept(), " holds checkpoints of the run ",
                       whose == notes.end() ? "" : whose->second, "; choose another folder for this run");
  });
}
/// On the first rank. Files that an earlier run left here are kept under other names.
void begin_files(Run& run) {
  auto aside = [&](const std::string& name) {
    if (auto kept = put_aside(run.out + "/" + name); !kept.empty())
      run.say(name + " of an earlier run is kept as " + kept);
  };
  if (!run.continued && run.settings.steps > 0) {
    for (auto& row : config::rows<track::TrackerKind>())
      aside(std::string(config::Choice<track::TrackerKind>(row.type)->file()));
    for (auto name : {"loss.svg", "report.html"}) aside(name);
  }
  run.log.open(run.out);
  run.write_settings();
}
/// On the ranks that lead in a folder of checkpoints: those that are not continued get other names.
void begin_checkpoints(Run& run, const io::GoodCheckpoint& found) {
  auto first = run.mesh.rank() == 0;
  if (!run.continued && run.settings.steps > 0 && run.settings.resume == Resume::none)
    for (std::string folder : {"checkpoints", "best"})
      if (auto kept = put_aside(run.kept() + "/" + folder); !kept.empty() && first)
        run.say(folder + " of an earlier run is kept as " + kept);
  for (auto& [checkpoint, why] : found.damaged) {  // newer than the one that the run continues
    auto root = std::filesystem::path(checkpoint.folder).parent_path().string();
    auto kept = free_path(root + "/damaged-step-" + std::to_string(checkpoint.step));
    rename_folder(checkpoint.folder, kept);
    run.say("passed over, and kept as " + kept + ": " + one_line(why));
  }
  if (!first && !run.keeps_local()) run.write_settings();  // a folder of this name that the first rank does not see
}
/// Texts are not cut as they were when the run began, so the rows behind its step are others.
void tell_rows(Run& run, const Trainable::Notes& notes) {
  auto found = notes.find("rows_form");
  auto before = found == notes.end() ? "1" : found->second;
  if (before != data::rows_form && run.data.recut)
    run.warn("data: this run began with another version, which cut " + run.data.name +
             " into rows at other places; the rows from here on are others than it would have read, so some tokens "
             "come twice in this pass and some not at all. A run with another out begins anew with them");
}
/// The newest snapshot, if it is of no earlier step than the newest checkpoint.
MemoryCheckpoint::Found find_snapshot(Run& run) {
  if (!run.settings.memory) return {};
  auto found = run.settings.memory->find(run.mesh);
  if (!found.lost.empty()) run.say(found.lost);
  if (!run.stores.shared())
    return found.step >= newest_step(run.mesh, run.stores, run.checkpoints()) ? found : MemoryCheckpoint::Found{};
  auto newest = on_first(run.mesh, "run: its newest checkpoint", [&] {
    auto all = io::list_checkpoints(run.checkpoints());
    return all.empty() ? "-1" : std::to_string(all.back().step);
  });
  return found.step >= std::stoll(newest) ? found : MemoryCheckpoint::Found{};
}
/// Whether the run was lost between its last checkpoint and its last evaluation, or makes its end once more as a job
/// whose ranks have met before. All ranks.
bool has_an_end_to_make(Run& run, std::int64_t step) {
  if (run.met_before()) return true;
  auto lacks = on_first(run.mesh, "run: what it lacks", [&] {
    return run.recorded("train/loss") == step && run.recorded("eval/seconds") < step ? "its end" : "";
  });
  return !lacks.empty();
}
/// Whether patience had ended this job when a rank was lost: its ranks have met before, patience is used up, and no
/// step follows the last evaluation in the record. Then they end again instead of training on. All ranks.
bool was_out_of_patience(Run& run) {
  auto patience = run.settings.eval.patience;
  if (!run.met_before() || patience == 0 || run.best.since < patience) return false;
  auto ended = on_first(run.mesh, "run: whether it had ended", [&] {
    bool both = run.recorded("train/loss") == run.done && run.recorded("eval/seconds") == run.done;
    return both ? "out of patience" : "";
  });
  return !ended.empty();
}
}  // namespace

bool prepare(Run& run) {
  auto& s = run.settings;
  release_slabs();  // of the mesh before this one, or of what the program did before
  auto at_start = resident_bytes() - (s.memory ? s.memory->bytes() : 0);
  auto& mesh = run.mesh;
  run.watchdog.at("taking the folder " + run.out);
  on_first<ConfigError>(run.mesh, "run: take the folder", [&] {
    auto job = s.membership ? s.membership->job() : "";
    run.folder = std::make_unique<RunFolder>(run.out, run.met_before(), job);
    remove_old_signs(run.out);
  });
  find_folders(run);
  run.watch_checkpoints();
  run.watchdog.at("the initialisation of the model");
  run.model.init(random::key(s.seed));
  run.watchdog.at("the search for checkpoints in " + run.checkpoints());
  constexpr std::string_view offer = "--resume good continues from there";
  auto snapshot = find_snapshot(run);
  auto say = [&run](const std::string& line) { run.say(one_line(line)); };
  auto found = snapshot.whole() ? io::GoodCheckpoint{}
                                : find_checkpoint(mesh, run.stores, run.checkpoints(), s.resume, offer, say);
  // Of a time before checkpoint.local, imported, or gathered.
  if (!snapshot.whole() && !found.checkpoint && run.keeps_local())
    found = find_checkpoint(mesh, run.out + "/checkpoints", s.resume, offer);
  auto& stored = found.checkpoint;
  run.continued = stored || snapshot.whole();
  bool beside = tree::count_leaves(run.model.base()) > 0;  // a base, which no checkpoint has
  if (s.initial && (beside || !run.continued)) {
    run.watchdog.at("reading the initial parameters");
    for (auto& line : s.initial(beside ? run.model.base() : run.model.parameters())) run.say(line);
    if (!run.continued) run.model.begin_around_parameters();
  }
  if (s.log.digest && (!run.continued || s.steps == 0))
    run.say("init digest " + to_string(mesh.shape()) + " " + s.layout + ": " +
            parameter_digest(run.model.parameters(), mesh));
  run.base = s.reference.empty() ? base_digest(run.model.base(), mesh) : s.reference;
  constexpr std::string_view regrouped =
      "residuals of another number of ranks: each rank takes over the sum of its part of them";
  if (snapshot.whole()) {
    run.watchdog.at("reading the snapshot of step " + std::to_string(snapshot.step));
    std::string note;
    if (read_regrouped(run.model.state(), snapshot.groups,
                       [&] { note = s.memory->restore(mesh, snapshot, run.model.state()); }))
      run.say(std::string(regrouped));
    run.done = snapshot.step;
    Trainable::Notes notes;
    for (ByteReader rest(note, "a snapshot's note"); !rest.empty();) {
      auto name = rest.text();
      notes[name] = rest.text();
    }
    run.take(notes);
    run.say("continuing from step " + std::to_string(run.done) + " (a snapshot in memory)");
  } else if (s.memory) {
    s.memory->clear();
  }
  if (stored) {
    run.watchdog.at("reading " + stored->folder);
    check_whose(run, stored->folder);
    offering_older(mesh, run.checkpoints(), offer, [&] {
      check_replicas(mesh, stored->folder, run.model.state());
      check_base(mesh, stored->folder, run.base, run.has_reference());
      if (restore_state(mesh, stored->folder, run.model.state()))
        run.say(std::string(regrouped));
    });
  }
  bool ends = stored && s.steps > 0 && stored->step == s.steps && has_an_end_to_make(run, s.steps);
  if (stored && s.steps > 0 && stored->step >= s.steps && !ends) {  // nothing is written
    run.say("already at step " + std::to_string(stored->step) + ": steps=" + std::to_string(s.steps) +
            " leaves nothing to do");
    run.say("checkpoint: " + stored->folder);
    return false;
  }
  if (stored && s.steps > 0) {
    run.done = run.stored = stored->step;
    auto notes = io::read_manifest(stored->folder).notes;
    run.take(notes);
    // Replicas that met just now, in take(): the stored checkpoint is older than that.
    if (!run.model.meeting().empty()) run.stored = -1, run.moved = true;
    tell_rows(run, notes);
    run.say("continuing from step " + std::to_string(run.done) + " (" + stored->folder + ")");
  }
  if (!run.continued && !s.batch_at.empty()) run.remix();
  run.wants_stop = was_out_of_patience(run);
  // Only now: settings that do not fit must leave existing files as they were.
  agree<IoError>(run.mesh, "run: begin its checkpoints", [&] {
    if (run.stores.leads(mesh.rank())) begin_checkpoints(run, found);
  });
  on_first(run.mesh, "run: begin its files", [&] { begin_files(run); });
  run.watchdog.at("planning a step");
  auto largest = s;  // of the steps to come
  largest.batch = run.cursor.most(run.done, s.steps);
  // Before process_bytes, which counts what comes later.
  auto batch = make_batch(run.read(run.done, largest.batch), largest.batch, mesh);
  auto mine = plan_rank(run.model, batch, largest, mesh, process_bytes(at_start));
  run.flops_of_row = mine.step->info().flops / static_cast<double>(largest.batch);
  auto plan = plan_text(run.model, batch, largest, mesh, mine);
  plan.pop_back();  // its last newline
  run.say(plan);
  plan_kept_step(run, batch);
  if (!s.rules.compute.rules().empty())
    for (auto& line : placement_warnings(run.model, s.rules, mesh.shape())) run.warn(line);
  return s.steps > 0;
}
}  // namespace bora::training
