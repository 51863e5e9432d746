#include "train/saves/saves.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include "base/api/bytes.h"
#include "base/api/cores.h"
#include "bora/base/text.h"
#include "bora/io/tree.h"
#include "bora/shard/shard.h"
#include "bora/train/process.h"
#include "bora/transport/transport.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "io/api/stores.h"
#include "io/api/parts.h"
#include "kernels/api/memory.h"
#include "train/hooks.h"
#include "train/retention.h"

namespace bora::training {
namespace {
constexpr double kRoom = 1.2;  // of the memory for a second state

/// The same on all ranks.
bool may_save_beside(Run& run) {
  return run.settings.checkpoint.beside(checkpoint_bytes(run.model.state()) / run.mesh.size());
}
}  // namespace

std::string seconds_text(double s) {
  char text[32];
  std::snprintf(text, sizeof text, s < 10 ? "%.2g s" : "%.0f s", s);
  return text;
}
std::int64_t checkpoint_bytes(tree::Node state) {
  std::int64_t n = 0;
  for (auto& slot : tree::slots(state))
    if (slot.leaf.defined()) n += static_cast<std::int64_t>(slot.leaf.get().type().nbytes());
  return n;
}
void plan_kept_step(Run& run, const GlobalBatch& batch) {
  if (run.settings.steps == 0 || !may_save_beside(run)) return;
  auto program = fx::local_program(run.model.step_program(batch), run.model.step_arguments(batch));
  exec::reserve_slab(executable(program, Mask(program->in.size(), false))->info().slab_bytes);
}

Saves::~Saves() {
  stop_touching_ = progress_.given_up = true;
  if (!thread_) return;
  thread_->wait();
  // Only its leader: another rank may wake when others write a folder of this name.
  if (busy() && leads() && !now_.counts)
    for (auto& t : now_.targets) io::saving::drop(t);
}
void Saves::before_step() {
  auto& tells = run_.tells;
  tells.written = tells.failed = 0;
  bool mine = phase_ == Phase::writing || (phase_ == Phase::committing && leads());
  if (!mine || !thread_->done()) return;
  (result_.problem.empty() && !result_.fatal ? tells.written : tells.failed) = 1;
}
void Saves::after_step() {
  if (!std::exchange(decided_, true)) decide();
  if (!busy()) return;
  auto begin = Clock::now();
  auto& heard = run_.heard;
  if (heard.failed > 0) progress_.given_up = true;  // the others need not go on
  auto jobs = phase_ == Phase::writing ? run_.mesh.size() : run_.stores.folders();
  if (std::lround(heard.written + heard.failed) < jobs) return;
  if (phase_ == Phase::writing) gather();
  else conclude();
  now_.stall += seconds_since(begin);
}
void Saves::finish() {
  if (!busy()) return;
  auto begin = Clock::now();
  run_.watchdog.at("the end of the checkpoint of step " + std::to_string(now_.step) + ", which is being written");
  if (phase_ == Phase::writing) {
    thread_->wait();
    gather();
  }
  now_.stall += seconds_since(begin);
  while (phase_ == Phase::committing) {
    if (leads()) thread_->wait();
    conclude();
  }
}

void Saves::decide() {
  if (!may_save_beside(run_)) return;
  std::int64_t mine = 0;
  {
    Arrays memory;
    auto leaves = io::leaves_of(run_.model.state(), "", memory);
    for (auto& block : memory) mine += static_cast<std::int64_t>(kernels::block_footprint(block.nbytes()));
    auto place = run_.place();
    auto at_hand = io::copies_at_hand(leaves, place);
    for (int r = 0; r < std::ssize(place.stores.copier); ++r) {  // a copy that is received is kept until it is written
      bool mine_to_keep = place.stores.copier[static_cast<std::size_t>(r)] == place.rank && r != place.rank;
      if (mine_to_keep && !std::count(at_hand.begin(), at_hand.end(), r)) mine += io::part_bytes(leaves, place.mesh, r);
    }
  }
  auto free = free_memory();
  auto needed = run_.mesh.context().ranks_on_host() * mine;
  std::string reason = error_of([&] { thread_ = std::make_unique<Background>(); });
  if (reason.empty() && run_.settings.checkpoint.async == Switch::automatic &&
      static_cast<double>(free.bytes) < kRoom * static_cast<double>(needed))
    reason = free.of + " has " + bytes_text(free.bytes) + " of free memory, and a second state takes " +
             bytes_text(needed);
  for (auto& text : run_.mesh.exchange(reason, "checkpoint: whether there is memory for saves beside the steps"))
    if (!text.empty()) {
      thread_.reset();
      return run_.say("checkpoints are written between the steps: " + one_line(text));
    }
  beside_ = true;
  touch_memory();
}
/// The first touch of memory takes a hundred times as long as a step's writing to it, so it happens here, and the pool
/// keeps the memory.
void Saves::touch_memory() {
  std::vector<std::size_t> sizes;
  {
    Arrays memory;
    (void)io::leaves_of(run_.model.state(), "", memory);
    for (auto& block : memory) sizes.push_back(block.nbytes());
  }
  thread_->start([this, sizes] {
    constexpr std::size_t page = 4096;
    std::vector<std::shared_ptr<void>> blocks;
    (void)error_of([&] {  // without memory the step that needs it says so
      for (auto size : sizes) {
        blocks.push_back(kernels::allocate(size));
        auto* bytes = static_cast<volatile char*>(blocks.back().get());
        for (std::size_t at = 0; at < size && !stop_touching_; at += page) bytes[at] = 0;
      }
    });
  });
}

void Saves::save(Names names) {
  finish();
  run_.saved.at = Clock::now();
  run_.saved.asked = StopSignals::saves();
  if (beside_) start(names);
  else between(names);
}
void Saves::between(Names names) {
  auto step = run_.done;
  auto begin = Clock::now();
  try {
    write(state_now(run_), names);
  } catch (const IoError& e) {
    if (run_.last() || run_.out != run_.settings.out) throw;
    return failed(step, e.text());
  }
  auto seconds = seconds_since(begin);
  report({{"checkpoint/stall", seconds},
          {"checkpoint/write", seconds},
          {"checkpoint/bytes", static_cast<double>(checkpoint_bytes(run_.model.state()))}});
}
void Saves::work(std::function<std::string()> job) {
  result_ = {};
  thread_->start([this, job = std::move(job)] {
    auto begin = Clock::now();
    try {
      result_.problem = error_of([&] {
        try {
          result_.text = job();
        } catch (const transport::RankLost&) { result_.fatal = std::current_exception(); }
      });
    } catch (...) { result_.fatal = std::current_exception(); }
    result_.seconds = seconds_since(begin);
  });
}
void Saves::start(Names names) {
  auto begin = Clock::now();
  run_.watchdog.at("the beginning of the checkpoint of step " + std::to_string(run_.done));
  stop_touching_ = true;
  thread_->wait();
  auto owner = look_after_folder(run_);
  if (run_.out != run_.settings.out) return between(names);  // a rescue, which ends the run
  now_ = {.step = run_.done, .names = names, .targets = targets_of(run_.done, names, owner), .begun = begin};
  auto& target = now_.targets[0];
  try {
    agree<IoError>(run_.mesh, "checkpoint: make its folder", [&] {
      if (leads()) io::saving::begin(target);
    });
  } catch (const IoError& e) { return failed(now_.step, e.text()); }
  auto held = std::make_shared<HeldState>(hold(run_));
  now_.notes = held->notes;
  auto place = run_.place();
  auto received = std::make_shared<std::map<int, std::string>>(io::receive_copies(held->leaves, place));
  place.exchange = nullptr;
  place.trade = nullptr;
  now_.bytes = io::part_bytes(held->leaves, place.mesh, place.rank);
  progress_.bytes = 0;
  progress_.given_up = false;
  phase_ = Phase::writing;
  work([this, target, place, held, received] {
    auto part = io::saving::write(target, held->leaves, place, &progress_);
    io::saving::write_copies(target, held->leaves, place, *received, &progress_);
    return part;
  });
  now_.stall = seconds_since(begin);
}
/// All ranks have written, or one could not.
void Saves::gather() {
  if (result_.fatal) std::rethrow_exception(result_.fatal);
  auto mine = ByteWriter().text(result_.problem).text(result_.text).num(now_.bytes).take();
  std::vector<std::string> parts;
  std::string problem;
  std::int64_t bytes = 0;
  for (auto& text : run_.mesh.exchange(mine, "checkpoint: what was written")) {
    ByteReader fields(text);
    auto theirs = fields.text();
    bool follows = theirs.find(io::saving::kGivenUp) != theirs.npos;  // from another rank's problem
    if (!theirs.empty() && (problem.empty() || !follows)) problem = theirs;
    parts.push_back(fields.text());
    bytes += fields.num<std::int64_t>();
  }
  now_.bytes = bytes;
  if (!problem.empty()) {
    phase_ = Phase::idle;
    if (leads()) thread_->start([target = now_.targets[0]] { io::saving::drop(target); });
    return failed(now_.step, problem);
  }
  phase_ = Phase::committing;
  now_.counts = false;
  now_.stages = stages_of(parts);
  next_stage();
}
std::vector<Saves::Stage> Saves::stages_of(const std::vector<std::string>& parts) const {
  auto& now = now_;
  auto& mesh = run_.mesh.shape();
  if (run_.stores.shared())
    return {[targets = now.targets, notes = now.notes, parts, mesh, names = now.names] {
      try {
        return commit_all(targets, mesh, notes, parts, names);
      } catch (...) {
        for (auto& t : targets) io::saving::drop(t);
        throw;
      }
    }};
  // In the folders of hosts each stage is made by all before the next one begins, so that a whole one is always there.
  auto target = now.targets[0], best = now.targets.back();
  auto manifest = on_first(run_.mesh, "checkpoint: its manifest",
                           [&] { return io::saving::manifest(target, run_.place(), now.notes, parts); });
  std::vector<Stage> stages;
  stages.push_back([target, manifest] {
    if (target.owner.check) target.owner.check();
    io::saving::prepare(target, manifest);
    return std::string();
  });
  stages.push_back([target, mesh] {
    io::saving::commit(target, mesh, {}, {});
    return std::string();
  });
  if (now.names.checkpoint && now.names.best) {
    stages.push_back([target, best] {
      io::saving::begin(best);
      io::saving::link({target.step, target.folder()}, best);
      return std::string();
    });
    stages.push_back([best, mesh] {
      io::saving::commit(best, mesh, {}, {});
      return std::string();
    });
  }
  if (now.names.best) stages.push_back([best] { return remove_others(best); });
  return stages;
}
void Saves::next_stage() {
  auto stage = now_.stages.front();
  now_.stages.erase(now_.stages.begin());
  if (leads()) work(std::move(stage));
  else result_ = {};
}
/// The leading ranks have made a stage of the commit, or one could not.
void Saves::conclude() {
  if (leads() && result_.fatal) std::rethrow_exception(result_.fatal);
  std::string problem, warning;
  auto mine = ByteWriter().text(result_.problem).text(result_.text).take();
  for (auto& said : run_.mesh.exchange(mine, "checkpoint: its end")) {
    ByteReader fields(said);
    auto theirs = fields.text(), warns = fields.text();
    if (problem.empty()) problem = theirs;
    if (warning.empty()) warning = warns;
  }
  // A manifest that some have could be found when a run begins again; from the commit on all have it.
  if (!problem.empty() && !run_.stores.shared() && !now_.counts && leads()) io::saving::drop(now_.targets[0]);
  if (problem.empty() && !now_.stages.empty()) {
    now_.counts = true;
    run_.warn(warning);
    return next_stage();
  }
  phase_ = Phase::idle;
  if (!problem.empty()) return failed(now_.step, problem);
  auto seconds = seconds_since(now_.begun);
  good_ = now_.begun;
  run_.saved.step = now_.step;
  run_.saved.folder = now_.targets[0].folder();
  run_.saved.seconds = seconds;
  if (now_.names.checkpoint) run_.say("checkpoint: " + now_.targets[0].folder());
  if (now_.names.best) run_.say("best: " + now_.targets.back().folder());
  if (run_.retention && now_.names.checkpoint) run_.retention->committed(now_.step);
  if (run_.retention && warning.empty()) warning = run_.retention->problem();
  run_.warn(warning);
  report({{"checkpoint/stall", now_.stall},
          {"checkpoint/write", seconds},
          {"checkpoint/bytes", static_cast<double>(now_.bytes)}});
  if (now_.names.checkpoint && !run_.last()) write_plot(run_);
}
void Saves::failed(std::int64_t step, const std::string& problem) {
  if (run_.last()) return run_.warn("the checkpoint of step " + std::to_string(step) + " is not there: " + problem);
  auto& s = run_.settings.checkpoint;
  auto age = seconds_since(good_);
  auto ends = on_first(run_.mesh, "checkpoint: whether the run goes on without it", [&]() -> std::string {
    if (s.on_failure == CheckpointSettings::OnFailure::stop) return "checkpoint.on_failure: the run ends";
    if (age < s.max_age.seconds) return {};
    return "no checkpoint is younger than " + to_string(s.max_age) + " (checkpoint.max_age): the run ends";
  });
  report({});
  check<IoError>(ends.empty(), problem, "; ", ends);
  run_.alert("save_failed", "the checkpoint of step " + std::to_string(step) + " is not there: " + problem +
                                "; the run goes on, and its newest one is " +
                                (run_.saved.step < 0 ? "of its beginning"
                                                     : "of step " + std::to_string(run_.saved.step)) +
                                ", " + seconds_text(age) + " old");
}
void Saves::skip(const char* why) {
  ++skipped_;
  if (!first()) return;
  auto share = now_.bytes == 0 ? 1.0 : static_cast<double>(progress_.bytes) / static_cast<double>(now_.bytes);
  run_.say("step " + std::to_string(run_.done) + " is not saved, though " + why + ": step " +
           std::to_string(now_.step) + " is being written, " + seconds_text(seconds_since(now_.begun)) + ", " +
           (phase_ == Phase::writing ? std::to_string(std::lround(100 * share)) + " %" : "nearly done"));
  report({});
}
/// Numbers of a row, with those that every row about saves has.
void Saves::report(const track::Values& more) {
  if (!first()) return;
  auto values = more;
  values.push_back({"checkpoint/age", seconds_since(good_)});
  values.push_back({"checkpoint/skipped", static_cast<double>(skipped_)});
  run_.record(values);
}
}  // namespace bora::training
