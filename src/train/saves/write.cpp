// Saves between two steps, and what saves beside the steps have in common with them: names, the commit, retention.
#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>
#include "base/api/bytes.h"
#include "base/api/file.h"
#include "bora/base/text.h"
#include "bora/io/tree.h"
#include "bora/train/process.h"
#include "io/api/retention.h"
#include "io/api/stores.h"
#include "train/hooks.h"
#include "train/retention.h"
#include "train/saves/saves.h"

namespace bora::training {
using io::saving::Target;
io::FolderOwner look_after_folder(Run& run) {
  run.check_folder();
  on_first(run.mesh, "run: look after its folder", [&] {
    if (run.folder->there()) return;
    run.retention.reset();  // it asks this folder's owner
    run.out = free_path(run.settings.out + ".rescued");
    run.folder = std::make_unique<RunFolder>(run.out);
    run.log.open(run.out);
    run.write_settings();
    run.watch_checkpoints();
  });
  // Another folder than the settings say, if there is one: theirs need not have one name on all hosts.
  auto moved = run.out == run.settings.out ? std::string() : run.out;
  auto said = ByteWriter().text(moved).text(run.folder ? run.folder->id() : "").take();
  auto texts = run.mesh.exchange(said, "run: its folder");
  ByteReader first(texts[0]);
  if (auto now = first.text(); !now.empty()) run.out = now;
  if (!run.settings.membership) return {};  // nobody takes it over
  return {.name = first.text(), .check = [&run] { run.check_folder(); }};
}
std::vector<Target> Saves::targets_of(std::int64_t step, Names names, const io::FolderOwner& owner) const {
  std::vector<Target> all;
  if (names.checkpoint) all.push_back({run_.checkpoints(), step, owner});
  if (names.best) all.push_back({run_.best_checkpoint(), step, owner});
  return all;
}
std::string remove_others(const Target& t) {
  auto problem = error_of([&] {  // also those of later steps, if the run was set back
    auto all = io::list_checkpoints(t.root);
    // This rank may have slept since the checkpoint was whole: of ranks that have gone on without it, none is removed.
    if (t.owner.check) t.owner.check();
    for (auto& other : all)
      if (other.step != t.step) io::remove_checkpoint(t.root, other.step);
  });
  return problem.empty() ? problem : "an old best checkpoint stays: " + problem;
}
namespace {
void join(std::string& all, const std::string& more) {
  if (!more.empty()) all += (all.empty() ? "" : "; ") + more;
}
}  // namespace
std::string commit_all(const std::vector<Target>& targets, const MeshShape& mesh,
                       const std::map<std::string, std::string>& notes, const std::vector<std::string>& parts,
                       Names names) {
  std::string warning;
  auto& first = targets[0];
  io::saving::commit(first, mesh, notes, parts);
  join(warning, io::saving::retain(first, 0));
  if (names.checkpoint && names.best) {
    auto& best = targets[1];
    auto problem = error_of([&] {
      io::saving::begin(best);
      io::saving::link({first.step, first.folder()}, best);
      io::saving::commit(best, mesh, {}, {});
    });
    if (!problem.empty()) io::saving::drop(best), join(warning, "the best checkpoint is that of before: " + problem);
  }
  if (names.best && warning.empty()) join(warning, remove_others(targets.back()));
  return warning;
}
void Saves::write(const HeldState& state, Names names) {
  finish();
  auto& s = run_.settings;
  auto asked = StopSignals::saves();
  auto begin = Clock::now();
  for (bool best : {false, true}) {
    if (!(best ? names.best : names.checkpoint)) continue;
    std::string folder, warning;
    Room room;
    for (bool again = true; again;) {
      auto owner = look_after_folder(run_);
      auto target = targets_of(state.step, {.checkpoint = !best, .best = best}, owner)[0];
      run_.watchdog.at("writing the checkpoint of step " + std::to_string(state.step) + " into " + target.root);
      std::int64_t keep = best ? 1 : 0;  // of the others `retention` removes old ones
      bool linked = run_.saved.step == state.step && run_.saved.folder.starts_with(run_.kept() + "/");
      try {
        // Of a step that was saved under another root already the files get a second name, unless it was moved since.
        folder = linked ? io::link_checkpoint({state.step, run_.saved.folder}, target.root, run_.place(), keep,
                                              &warning, owner)
                        : io::save_checkpoint(target.root, state.step, state.leaves, run_.place(), state.notes,
                                              keep, &warning, owner);
        again = false;
      } catch (const IoError& e) {
        if (!run_.last()) throw;
        auto bytes = io::bytes_of_store(state.leaves, run_.place());
        if (!room.made(run_, target, bytes, e.text())) throw IoError(e.text() + room.missing());
        continue;
      }
      if (!linked) run_.saved = {state.step, folder, begin, asked, seconds_since(begin)};
      good_ = begin;
      if (!best && run_.retention) run_.retention->committed(state.step);
      if (best && leads()) join(warning, remove_others(target));
    }
    run_.say((best ? "best: " : "checkpoint: ") + folder);
    if (!best && !run_.last()) write_plot(run_);  // the end draws it
    run_.warn(warning);
    if (run_.retention) run_.warn(run_.retention->problem());
    check<IoError>(best || run_.out == s.out, "out: ", s.out,
                   " was moved or removed while this run wrote into it; step ", state.step, " is saved as ", folder,
                   " (--out ", run_.out, " continues from there)");
  }
}
void Saves::look_at_space() {
  if (run_.settings.steps == 0) return;
  for (auto& problem : agree<IoError>(run_.mesh, "checkpoint: room on the disks", [&] { return lack_of_space(); }))
    run_.warn(problem);
}
std::string Saves::lack_of_space() const {
  if (!leads()) return {};
  std::error_code error;
  std::int64_t there = 0;  // which newer ones replace
  for (std::filesystem::recursive_directory_iterator it(run_.checkpoints(), error), end; !error && it != end;
       it.increment(error))
    if (auto size = it->is_regular_file(error) ? it->file_size(error) : 0; !error)
      there += static_cast<std::int64_t>(size);
  auto& s = run_.settings.checkpoint;
  Arrays memory;
  auto one = io::bytes_of_store(io::leaves_of(run_.model.state(), "", memory), run_.place());
  auto n = s.most(run_.settings.steps).first, free = free_bytes(run_.kept());
  if (free < 0 || free + there >= n * one) return {};
  auto host = run_.stores.shared() ? "" : run_.stores.hosts[static_cast<std::size_t>(run_.mesh.rank())] + ": ";
  return (run_.keeps_local() ? "checkpoint.local: " : "out: ") + host + run_.kept() + " has " + bytes_text(free) +
         " free, but the checkpoints that this run keeps, and one that is being written, take " + bytes_text(n * one) +
         ": " + bytes_text(n * one - free - there) + " are missing";
}
bool Room::made(Run& run, const Target& t, std::int64_t bytes, const std::string& problem) {
  if (!io::saving::lacks_space(problem)) return false;
  run.check_folder();
  bool leads = run.stores.leads(run.mesh.rank());
  if (!std::exchange(removed_, true)) {
    std::string gone;
    for (auto& of_rank : agree<IoError>(run.mesh, "checkpoint: make room", [&] {
      std::string names;
      if (!leads) return names;
      for (auto& folder : run.retention->make_room(t.step)) names += (names.empty() ? "" : ", ") + folder;
      return names;
    }))
      join(gone, of_rank);
    if (!gone.empty()) {
      run.say("no room for the checkpoint of step " + std::to_string(t.step) + ": " + gone +
              " goes before it is there");
      return true;
    }
  }
  auto limit = run.settings.checkpoint.wait;
  using namespace std::chrono_literals;
  bool first = until_ == Clock::time_point{};
  if (first)
    until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit.seconds));
  run.watchdog.at("the wait for room for the checkpoint of step " + std::to_string(t.step));
  auto lack = [&] { return std::max<std::int64_t>(0, bytes - std::max<std::int64_t>(0, free_bytes(t.root))); };
  // What is missing is of the file system; a quota may be full where nothing is.
  auto text = [&] { return lack() > 0 ? bytes_text(lack()) + " are missing" : std::string("a quota may be full"); };
  missing_ = {};
  for (auto& end : agree<IoError>(run.mesh, "checkpoint: wait for room", [&]() -> std::string {
    if (!leads) return {};
    auto begin = Clock::now();
    if (first && limit.seconds > 0)
      run.say("no room for the checkpoint of step " + std::to_string(t.step) + ", " + bytes_text(bytes) + ", in " +
              t.root + ": " + text() + "; waiting up to " + to_string(limit) + " for it (checkpoint.wait)");
    for (;; std::this_thread::sleep_for(100ms)) {
      auto waited = Clock::now() - begin;
      if (Clock::now() >= until_) return "; " + text() + " after " + to_string(limit) + " (checkpoint.wait)";
      if (waited > (lack() == 0 ? 1s : 20s)) return {};
    }
  }))
    if (missing_.empty()) missing_ = end;
  return missing_.empty();
}
}  // namespace bora::training
