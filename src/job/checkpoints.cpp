#include "bora/job/checkpoints.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include "base/api/json.h"
#include "bora/base/text.h"
#include "bora/io/checkpoint.h"
#include "bora/shard/mesh.h"
#include "bora/train/loop.h"
#include "io/api/compare.h"
#include "job/kept.h"
#include "io/api/stores.h"
#include "shard/api/agree.h"
#include "train/api/resume.h"
#include "train/api/stores.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
using Row = std::vector<std::string>;
/// Columns as wide as their longest word; the last one is as it is.
void print_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> width;
  for (auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == width.size()) width.push_back(0);
      width[i] = std::max(width[i], row[i].size());
    }
  for (auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 == row.size() ? row[i] : row[i] + std::string(width[i] - row[i].size() + 2, ' ');
    std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  }
}
std::string time_text(double seconds) {
  auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[64];
  if (::gmtime_r(&whole, &parts) == nullptr) return "?";
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}
std::string difference_text(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}
bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// The checkpoints of one folder.
class Shelf {
 public:
  explicit Shelf(const std::string& run) : run_(run) {
    auto below = kept_below(run);
    root_ = is_folder(below + "/checkpoints") ? below + "/checkpoints" : run;
    check<ConfigError>(is_folder(run), "checkpoints: ", run, ": there is no such folder");
    check<ConfigError>(root_ != run || !io::list_checkpoints(run).empty(), "checkpoints: ", run,
                       " has no checkpoints: the folder of a run is expected, or its checkpoints");
    all_ = io::look_at_checkpoints(root_);
  }
  void list() const;
  void verify(const std::vector<std::string>& steps) const;
  void pin(const std::string& step) const {
    auto& c = at(step);
    io::pin_checkpoint(c.folder);
    std::printf("pinned: %s\n", c.folder.c_str());
    if (c.elsewhere > 0)  // each host removes by itself what its own disk holds
      std::printf("%lld of its files are on other hosts, which do not see this pin: pin it on each of them too\n",
                  static_cast<long long>(c.elsewhere));
  }
  void unpin(const std::string& step) const {
    auto& c = at(step);
    io::unpin_checkpoint(c.folder);
    std::printf("no longer pinned: %s\n", c.folder.c_str());
  }
  void remove(const std::string& step) const;
  /// The folder that a word of `diff` means.
  std::string folder_of(const std::string& word) const;

 private:
  const io::SeenCheckpoint& at(const std::string& word) const {
    auto number = parse_as<std::int64_t>(word.starts_with("step-") ? word.substr(5) : word);
    std::string steps;
    for (auto& c : all_) {
      if (number == c.kept.step) return c;
      steps += (steps.empty() ? "" : ", ") + std::to_string(c.kept.step);
    }
    fail<ConfigError>("checkpoints: ", root_, " has no step ", word, "; it has ", steps.empty() ? "none" : steps);
  }
  std::string name_of(const io::SeenCheckpoint& c) const { return fs::path(c.folder).filename().string(); }
  void list_others() const;

  std::string run_, root_;
  std::vector<io::SeenCheckpoint> all_;
};

void Shelf::list() const {
  auto rule = keep_of_run(run_);
  std::vector<io::Kept> whole;
  for (auto& c : all_)
    if (c.problem.empty()) whole.push_back(c.kept);
  std::vector<std::string> why = rule ? io::why_they_stay(*rule, whole) : std::vector<std::string>(whole.size());
  auto metric = rule && rule->best.n > 0 ? rule->best.metric : "eval/loss";
  std::vector<Row> rows{{"step", "time (UTC)", "size", "mesh", metric, "stays as", "state"}};
  std::size_t next = 0;
  for (auto& c : all_) {
    auto step = std::to_string(c.kept.step);
    if (!c.problem.empty()) {
      rows.push_back({step, "", "", "", "", c.kept.pinned ? "pinned" : "", "damaged: " + one_line(c.problem)});
      continue;
    }
    auto reason = why[next++];
    if (!rule) reason = c.kept.pinned ? "pinned" : "";
    auto found = c.kept.metrics.find(metric);
    rows.push_back({step, time_text(c.kept.time), bytes_text(c.bytes), one_line(c.mesh),
                    found == c.kept.metrics.end() ? "-" : number_text(found->second),
                    reason.empty() ? "-" : reason,
                    c.elsewhere ? std::to_string(c.elsewhere) + " files on other hosts" : "whole"});
  }
  print_table(rows);
  list_others();
  auto newest_whole = std::find_if(all_.rbegin(), all_.rend(), [](auto& c) { return c.problem.empty(); });
  if (newest_whole == all_.rend()) std::printf("none of them is whole\n");
  else if (newest_whole == all_.rbegin()) std::printf("a run continues from %s\n", name_of(*newest_whole).c_str());
  else
    std::printf("the newest is damaged; with --resume good a run continues from %s\n", name_of(*newest_whole).c_str());
}
void Shelf::list_others() const {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(root_, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  for (auto& name : names) {
    if (root_ == run_ && !name.starts_with(".step-") && !name.starts_with("step-")) continue;  // other files of it
    if (std::any_of(all_.begin(), all_.end(), [&](auto& c) { return name_of(c) == name; })) continue;
    auto what = name.starts_with(".step-") && name.ends_with(".gone") ? "is being removed, or was when a run ended"
                : name.starts_with(".step-")        ? "is being written, or was when a run ended"
                : name.starts_with("damaged-step-") ? "was damaged, and passed over by a run"
                : name.starts_with("step-") && name.find(".pinned") != name.npos
                    ? "is a pinned one whose step was written again"
                    : "is no checkpoint";
    std::printf("%s %s\n", one_line(name).c_str(), what);
  }
  if (auto best = run_ + "/best"; root_ != run_ && is_folder(best))
    for (auto& c : io::list_checkpoints(best))
      std::printf("best/step-%lld is the one of checkpoint.best\n", static_cast<long long>(c.step));
}
void Shelf::verify(const std::vector<std::string>& steps) const {
  std::vector<const io::SeenCheckpoint*> chosen;
  for (auto& step : steps) chosen.push_back(&at(step));
  if (steps.empty())
    for (auto& c : all_) chosen.push_back(&c);
  std::size_t damaged = 0;
  std::string first;
  for (auto* c : chosen) {
    std::int64_t bytes = 0;
    auto problem = c->problem;
    if (problem.empty()) problem = error_of([&] { bytes = io::verify_checkpoint(c->folder); });
    if (!problem.empty() && !is_folder(c->folder)) {
      std::printf("%s was removed meanwhile\n", name_of(*c).c_str());
      continue;
    }
    if (problem.empty())
      std::printf("%s is whole: %lld bytes verified\n", name_of(*c).c_str(), static_cast<long long>(bytes));
    else std::printf("%s is damaged: %s\n", name_of(*c).c_str(), one_line(problem).c_str());
    std::fflush(stdout);
    damaged += !problem.empty();
    if (!problem.empty() && first.empty()) first = c->folder;
  }
  check<CheckpointError>(damaged == 0, "checkpoints: ", damaged, " of ", chosen.size(), " are damaged; the first is ",
                         first);
}
void Shelf::remove(const std::string& step) const {
  auto& c = at(step);
  check<ConfigError>(!c.kept.pinned, "checkpoints: ", c.folder, " is pinned; bora checkpoints ", run_, " unpin ",
                     c.kept.step, " first");
  bool other =
      std::any_of(all_.begin(), all_.end(), [&](auto& o) { return o.folder != c.folder && o.problem.empty(); });
  check<ConfigError>(other, "checkpoints: ", c.folder, " is the last one; no other is whole");
  check<IoError>(io::remove_checkpoint(root_, c.kept.step), "checkpoints: ", c.folder, " was pinned at this moment");
  std::printf("removed: %s (%s)\n", c.folder.c_str(), bytes_text(c.bytes).c_str());
}
std::string Shelf::folder_of(const std::string& word) const {
  std::error_code error;
  if (fs::exists(word + "/manifest", error)) return word;
  if (is_folder(word + "/checkpoints")) {
    auto newest = io::newest_checkpoint(word + "/checkpoints");
    check<ConfigError>(newest.has_value(), "checkpoints: ", word, " has no checkpoint yet");
    return newest->folder;
  }
  return at(word).folder;
}

std::string of_lines(const std::string& text, std::size_t& from) {
  auto end = std::min(text.find('\n', from), text.size());
  auto line = text.substr(from, end - from);
  from = end + 1;
  return line;
}
/// Lines of settings that one has and the other has not.
void print_settings(const std::string& a, const std::string& b) {
  auto lines = [](const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t from = 0; from < text.size();) all.push_back(of_lines(text, from));
    return all;
  };
  auto in_a = lines(a), in_b = lines(b);
  auto only = [](const std::vector<std::string>& of, const std::vector<std::string>& other, const char* sign) {
    for (auto& line : of)
      if (std::find(other.begin(), other.end(), line) == other.end()) std::printf("%s %s\n", sign, line.c_str());
  };
  if (a == b) return;
  std::printf("settings:\n");
  only(in_a, in_b, "  A ");
  only(in_b, in_a, "  B ");
}
int diff(const std::string& a, const std::string& b) {
  auto in_a = io::read_manifest(a), in_b = io::read_manifest(b);
  auto note = [](const io::Manifest& m, const std::string& name) {
    auto found = m.notes.find(name);
    return found == m.notes.end() ? std::string() : found->second;
  };
  std::printf("A: %s: step %s, mesh %s, seed %s\n", a.c_str(), note(in_a, "step").c_str(), in_a.mesh.c_str(),
              note(in_a, "seed").c_str());
  std::printf("B: %s: step %s, mesh %s, seed %s\n", b.c_str(), note(in_b, "step").c_str(), in_b.mesh.c_str(),
              note(in_b, "seed").c_str());
  print_settings(note(in_a, "settings"), note(in_b, "settings"));
  auto r = io::compare_checkpoints(a, b);
  std::vector<Row> rows{{"leaf", "largest difference", "relative"}};
  for (auto& d : r.different)
    if (!d.types.empty()) rows.push_back({one_line(d.path), d.types});
    else rows.push_back({one_line(d.path), difference_text(d.largest), difference_text(d.relative)});
  if (rows.size() > 1) print_table(rows);
  std::printf("%lld leaves have the same bytes, %zu differ\n", static_cast<long long>(r.same), r.different.size());
  return 0;
}
}  // namespace

namespace {
/// All ranks of a job, each with what its host has.
int gather(const std::string& run, const std::string& to) {
  check<ConfigError>(!to.empty(), "checkpoints: gather --to DIR is meant: the folder that gets step-N");
  auto mesh = Mesh::from_environment({{"data", -1}}, "checkpoints gather");
  UseMesh on(mesh);
  auto root = kept_below(run) + "/checkpoints";
  auto say = [&](const std::string& line) {
    if (mesh.rank() == 0) std::fprintf(stderr, "%s\n", one_line(line).c_str());
  };
  auto stores = bora::training::stores_seen(mesh, root);
  auto found = bora::training::find_checkpoint(mesh, stores, root, Resume::good, "", say).checkpoint;
  check<ConfigError>(found.has_value(), "checkpoints: ", root, " has no checkpoint on these hosts");
  auto folder = io::gather_checkpoint(*found, data::absolute_path(to), place_of(mesh));
  if (mesh.rank() == 0) std::printf("checkpoint: %s\n", folder.c_str());
  mesh.leave();
  return 0;
}
}  // namespace

int checkpoints(const std::string& run, const std::vector<std::string>& words, const std::string& to) {
  auto verb = words.empty() ? "list" : words[0];
  std::vector<std::string> rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  struct Verb {
    std::string_view name, form;
    std::size_t least, most;
  };
  static constexpr Verb verbs[] = {{"list", "list", 0, 0},     {"verify", "verify [STEP ..]", 0, 1U << 20},
                                   {"pin", "pin STEP", 1, 1},   {"unpin", "unpin STEP", 1, 1},
                                   {"rm", "rm STEP", 1, 1},     {"diff", "diff A B", 2, 2},
                                   {"gather", "gather --to DIR", 0, 0}};
  std::string forms;
  for (auto& v : verbs) forms += (forms.empty() ? "" : ", ") + std::string(v.form);
  auto found = std::find_if(std::begin(verbs), std::end(verbs), [&](auto& v) { return v.name == verb; });
  check<ConfigError>(found != std::end(verbs), "checkpoints: '", verb, "' is none of ", forms);
  check<ConfigError>(found->least <= rest.size() && rest.size() <= found->most, "checkpoints: ", found->form,
                     " is meant, got ", rest.size(), " words behind ", verb);
  check<ConfigError>(to.empty() || verb == "gather", "checkpoints: --to is for gather, not for ", verb);
  if (verb == "gather") return gather(run, to);
  Shelf shelf(run);
  if (verb == "list") shelf.list();
  else if (verb == "verify") shelf.verify(rest);
  else if (verb == "pin") shelf.pin(rest[0]);
  else if (verb == "unpin") shelf.unpin(rest[0]);
  else if (verb == "rm") shelf.remove(rest[0]);
  else return diff(shelf.folder_of(rest[0]), shelf.folder_of(rest[1]));
  return 0;
}
}  // namespace bora::job
