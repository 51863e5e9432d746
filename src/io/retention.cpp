#include "io/api/retention.h"
#include <sys/stat.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <thread>
#include "base/api/file.h"
#include "base/api/json.h"
#include "bora/base/text.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::io {
namespace {
void add_word(std::string& to, std::string_view word) {
  if (!to.empty()) to += ' ';
  to += word;
}
/// The places of the n best, of which an earlier step wins a tie.
std::vector<std::size_t> best_of(const Keep::Best& best, const std::vector<Kept>& all) {
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (auto found = all[i].metrics.find(best.metric); found != all[i].metrics.end() && std::isfinite(found->second))
      ranked.emplace_back(best.max ? -found->second : found->second, i);
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(std::max<std::int64_t>(best.n, 0))));
  std::vector<std::size_t> places;
  for (auto& [value, i] : ranked) places.push_back(i);
  return places;
}
std::string folder_of(const std::string& root, std::int64_t step) { return root + "/step-" + std::to_string(step); }
bool is_pinned(const std::string& folder) {
  std::error_code error;
  return fs::exists(fs::symlink_status(folder + "/" + std::string(kPinned), error));  // a link that leads nowhere too
}
std::map<std::string, double> metrics_of(const std::string& note) {
  std::map<std::string, double> r;
  std::istringstream lines(note);
  for (std::string line; std::getline(lines, line);) {
    auto blank = line.find(' ');
    if (blank == line.npos) continue;
    if (auto value = parse_as<double>(line.substr(0, blank))) r[line.substr(blank + 1)] = *value;
  }
  return r;
}
/// When the file was written; the manifest's is the checkpoint's time.
double time_of_file(const std::string& path) {
  struct ::stat s {};
  return ::stat(path.c_str(), &s) == 0 ? static_cast<double>(s.st_mtim.tv_sec) : 0.0;
}
/// Reads the manifest and compares the sizes of the files with it.
void look(SeenCheckpoint& seen) {
  auto m = read_manifest(seen.folder);
  auto note = [&](std::string_view name) {
    auto found = m.notes.find(std::string(name));
    return found == m.notes.end() ? std::string() : found->second;
  };
  auto step = note("step");
  check<CheckpointError>(step.empty() || step == std::to_string(seen.kept.step), "it is a copy of step ", step);
  seen.kept.time = time_of_file(seen.folder + "/manifest");
  seen.kept.metrics = metrics_of(note(kMetricsNote));
  seen.mesh = m.mesh;
  bool local = m.notes.contains(std::string(kLocalNote));
  std::map<std::int64_t, std::int64_t> ends;
  for (auto& leaf : m.leaves)
    for (auto& block : leaf.blocks) ends[block.file] = std::max(ends[block.file], block.offset + block.bytes);
  for (auto& [rank, end] : ends) {
    auto name = "rank-" + std::to_string(rank);
    struct ::stat s {};
    if (::stat((seen.folder + "/" + name).c_str(), &s) != 0) {
      check<CheckpointError>(local, "its file ", name, " is gone");
      ++seen.elsewhere;
      continue;
    }
    check<CheckpointError>(s.st_size == end, "its file ", name, " has ", s.st_size, " bytes, the manifest lists ", end);
    seen.bytes += end;
  }
}
}  // namespace

std::vector<std::string> why_they_stay(const Keep& keep, const std::vector<Kept>& all) {
  std::vector<std::string> why(all.size());
  auto newest = static_cast<std::size_t>(std::max(keep.last, kLeast));
  std::int64_t multiple = 0;  // that the one before has reached
  double since = 0;           // the time of the last one that stays for its hour
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].pinned) add_word(why[i], "pinned");
    if (i + newest >= all.size()) add_word(why[i], "last");
    if (keep.every > 0) {
      auto reached = all[i].step / keep.every;
      if (reached > multiple) add_word(why[i], "every");
      multiple = std::max(multiple, reached);
    }
    // A clock that was set back must not end this: what counts is the distance.
    if (keep.hours > 0 && (i == 0 || std::fabs(all[i].time - since) >= 3600 * keep.hours)) {
      add_word(why[i], "hours");
      since = all[i].time;
    }
  }
  for (auto i : best_of(keep.best, all)) add_word(why[i], "best");
  return why;
}

std::string metrics_note(const std::map<std::string, double>& metrics) {
  std::string r;
  for (auto& [name, value] : metrics)
    if (name.find('\n') == name.npos) r += number_text(value) + " " + name + "\n";
  return r;
}

std::vector<SeenCheckpoint> look_at_checkpoints(const std::string& root) {
  std::vector<SeenCheckpoint> all;
  for (auto& c : list_checkpoints(root)) {
    SeenCheckpoint seen{.folder = c.folder, .kept = {.step = c.step}};
    seen.problem = error_of([&] { look(seen); });
    std::error_code error;
    if (!seen.problem.empty() && !fs::exists(c.folder, error)) continue;
    seen.kept.pinned = is_pinned(c.folder);
    all.push_back(std::move(seen));
  }
  return all;
}

bool remove_checkpoint(const std::string& root, std::int64_t step) {
  auto folder = folder_of(root, step), gone = root + "/.step-" + std::to_string(step) + ".tmp.gone";
  if (is_pinned(folder)) return false;
  fs::remove_all(gone);
  rename_folder(folder, gone);
  if (is_pinned(gone)) {  // just now, before it was renamed
    rename_folder(gone, folder);
    return false;
  }
  sync_folder(root);  // else its name could come back without all of its files
  fs::remove_all(gone);
  return true;
}
void pin_checkpoint(const std::string& folder) {
  auto file = File::append(folder + "/" + std::string(kPinned));
  file.sync();
  file.close();
  // Whoever removes a folder renames it, looks for the file again, and gives the name back.
  constexpr int most = 100;
  for (int i = 0; i < most; ++i) {
    if (is_pinned(folder) && error_of([&] { sync_folder(folder); }).empty() && is_pinned(folder)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail<IoError>("cannot pin ", folder, ": it was removed at this moment");
}
void unpin_checkpoint(const std::string& folder) {
  std::error_code error;
  fs::remove(folder + "/" + std::string(kPinned), error);
  check<IoError>(!error, "cannot remove ", folder, "/", kPinned, ": ", error.message());
}

bool rescue_pinned(const std::string& root, std::int64_t step, const std::string& path) {
  if (!is_pinned(path)) return false;
  SeenCheckpoint seen{.folder = path, .kept = {.step = step}};
  if (!error_of([&] { look(seen); }).empty()) return false;
  auto place = folder_of(root, step);
  std::error_code error;
  if (fs::exists(place, error)) {
    place += ".pinned";
    auto first = place;
    for (int i = 1; fs::exists(place, error); ++i) place = first + "." + std::to_string(i);
  }
  rename_folder(path, place);
  return true;
}

std::vector<std::int64_t> removable(const std::string& root, const Keep& keep, std::int64_t coming, double now) {
  std::vector<Kept> whole;
  for (auto& s : look_at_checkpoints(root))
    if (s.problem.empty() && s.kept.step < coming) whole.push_back(s.kept);
  auto today = whole.size();
  whole.push_back({.step = coming, .time = now});
  auto why = why_they_stay(keep, whole);
  std::vector<std::int64_t> steps;
  for (std::size_t i = 0; i + static_cast<std::size_t>(kLeast) < today; ++i)
    if (why[i].empty()) steps.push_back(whole[i].step);
  return steps;
}
Retained retain(const std::string& root, const Keep& keep, std::int64_t committed, const std::function<void()>& check) {
  Retained r;
  auto seen = look_at_checkpoints(root);
  std::vector<Kept> whole;
  for (auto& s : seen)
    if (s.problem.empty() && s.kept.step <= committed) whole.push_back(s.kept);
  if (whole.empty() || whole.back().step != committed) return r;
  auto why = why_they_stay(keep, whole);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (!why[i].empty()) continue;
    if (check) check();
    bool gone = false;
    auto problem = error_of([&] { gone = remove_checkpoint(root, whole[i].step); });
    if (gone) r.removed.push_back(whole[i].step);
    if (r.problem.empty() && !problem.empty()) r.problem = "an old checkpoint stays: " + problem;
  }
  return r;
}
}  // namespace bora::io
