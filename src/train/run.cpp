#include "run.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include "base/api/json.h"
#include "bora/base/text.h"
#include "bora/io/checkpoint.h"
#include "bora/optim/optimizers.h"
#include "bora/track/metrics.h"
#include "bora/transport/transport.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"
#include "train/retention.h"
#include "track/api/loss_plot.h"
#include "train/monitor/monitor.h"

namespace bora::training {
bool Best::see(double now, std::int64_t at, double min_delta) {
  bool lower = now < loss - min_delta;
  if (lower) loss = now, step = at, since = 0;
  else ++since;
  return lower;
}
std::string Best::note() const { return number_text(loss) + " " + std::to_string(step) + " " + std::to_string(since); }
Best Best::of_note(const std::string& text) {
  Best b;
  std::istringstream in(text);
  bool whole = static_cast<bool>(in >> b.loss >> b.step >> b.since);
  check<CheckpointError>(whole, "the checkpoint's note 'best' is '", text, "', not a loss, its step and a count");
  return b;
}
Trainable::Notes Run::notes() const {
  auto r = model.notes(done);
  r["rows"] = cursor.note();
  if (best.step >= 0) r["best"] = best.note();
  if (unevaluated) r["unevaluated"] = "1";
  if (!moved) r["unmoved"] = "1";
  return r;
}
void Run::take(const Trainable::Notes& notes) {
  if (auto found = notes.find("best"); found != notes.end()) best = Best::of_note(found->second);
  // Of runs that were written before the note "rows", step s read the rows from s * batch on.
  if (auto found = notes.find("rows"); found != notes.end()) cursor = RowCursor::of_note(found->second);
  else if (auto batch = notes.find("batch"); batch != notes.end()) cursor = RowCursor(std::stoll(batch->second));
  RowCursor mine(settings.batch, settings.batch_at);
  if (auto before = cursor.batch_of(done), now = mine.batch_of(done); before != now)
    say("batch: it was " + std::to_string(before) + " and is " + std::to_string(now) +
        "; the rows go on behind the " + std::to_string(cursor.before(done)) + " that were read");
  cursor.follow(done, mine);
  remix();
  unevaluated = notes.contains("unevaluated");
  moved = !notes.contains("unmoved");
  model.take(notes, done);
}
void Run::say(const std::string& text) {
  if (mesh.rank() != 0) return;
  if (progress) {
    progress->line(text);
  } else {
    log.line(text);
    std::printf("%s\n", text.c_str());
  }
  std::fflush(stdout);  // it may be followed by a wait
}
void Run::warn(const std::string& problem) {
  if (!problem.empty()) say("warning: " + one_line(problem));
}
io::Place Run::place() const {
  auto r = place_of(mesh);
  r.stores = stores;
  return r;
}
void Run::check_folder() const {
  if (local && !local->mine())
    throw transport::RankLost(kept() + " was taken over by other ranks of this job, which have gone on, or by another "
                                       "job", -1);
  if (folder && !folder->mine())
    throw transport::RankLost(
        "out: " + out + " was taken over by other ranks of this job, which have gone on, or by another job", -1);
}
void Run::note_numbers(const track::Values& values) {
  if (numbers_of != done) numbers.clear(), numbers_of = done;
  for (auto& [name, value] : values) numbers[name] = value;
}
void Run::watch_checkpoints() {
  if (!stores.leads(mesh.rank())) return;
  retention.reset();  // of another folder
  retention = std::make_shared<Retention>(checkpoints(), settings.checkpoint.keep, [this] { check_folder(); });
}
void Run::alert(const std::string& kind, const std::string& text, int rank) {
  if (mesh.rank() != 0) return;
  if (monitor) monitor->alert(kind, text, rank);
  else say("alert: " + one_line(text));
}
void Run::record_event(const Alert& a) {
  follow();
  for (auto& tracker : trackers) try {
      tracker->event(a.step, a.time, a.kind, a.text);
    } catch (const IoError& e) { warn(e.what()); }  // it may be the reason of the alert
}
void Run::follow() {
  // A successor first marks the folder, then starts new files. So a file opened before this check is either still ours
  // or no longer read.
  std::string anew;
  for (std::size_t i = 0; i < trackers.size(); ++i)
    if (trackers[i]->follow()) anew += (anew.empty() ? "" : ", ") + std::string(settings.trackers[i]->file());
  check_folder();
  if (!anew.empty()) warn(anew + " was removed or renamed, and is begun anew");
}
void Run::record(const track::Values& values) {
  note_numbers(values);
  follow();
  for (auto& tracker : trackers) tracker->write(done, values);
  say_what_waits();
  for (auto& [name, value] : values)
    if (losses) losses->add(done, name, value);
}
void Run::say_what_waits() {
  std::string names;
  for (std::size_t i = 0; i < trackers.size(); ++i)
    if (trackers[i]->waiting() > 0) names += (names.empty() ? "" : ", ") + std::string(settings.trackers[i]->file());
  if (!names.empty() && waiting.empty()) warn(names + ": the disk of " + out + " is full; records wait in memory");
  if (names.empty() && !waiting.empty()) say(waiting + ": the disk has room again; what waited is written");
  waiting = names;
}
std::int64_t Run::recorded(const std::string& name) const {
  auto path = out + "/metrics.jsonl";
  if (std::error_code error; !std::filesystem::exists(path, error)) return -1;
  std::int64_t last = -1;
  track::each_point(path, {name}, [&](std::size_t, track::Point p) { last = std::llround(p.x); });
  return last;
}
void Run::write_settings() {
  if (!settings.write_settings) return;
  for (auto& line : settings.write_settings(out)) say(one_line(line));
}
track::Values Run::optimizer_numbers() const {
  track::Values r;
  for (auto& slot : tree::slots(model.optimizer_state())) {
    auto name = slot.leaf.defined() ? optim::metric_of(slot.path) : "";
    if (name.empty() || slot.leaf.get().ndim() != 0) continue;
    auto same = std::find_if(r.begin(), r.end(), [&](auto& known) { return known.first == name; });
    auto value = slot.leaf.get().to_vector<double>()[0];
    if (same == r.end()) r.emplace_back(name, value);
    else same->second += value;
  }
  return r;
}
void Run::remix() {
  if (data.mix)
    remixed.emplace(data.train.parts(), data.mix([&](std::int64_t step) { return cursor.before(step); }));
}
data::Rows Run::read(std::int64_t step, std::optional<std::int64_t> batch) const {
  auto mine = rows_of_rank(batch.value_or(cursor.batch_of(step)), mesh);
  return data::training_rows(remixed ? *remixed : data.train, data.shape, cursor.before(step), 1, mine.begin, mine.end,
                             settings.seed);
}
void Run::meet_last() {
  if (!last() || interrupted() || leaves() || !model.end(done)) return;
  met_last = moved = true;
  saved.step = stored = -1;  // a checkpoint of this step is of the model before
  track::Values numbers;
  for (auto& [name, value] : model.meeting()) numbers.push_back({"local/" + name, value});
  record(numbers);
}
}  // namespace bora::training
