#include "train/api/initial.h"
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include "bora/base/text.h"
#include "bora/io/tree.h"
#include "bora/train/selection.h"
#include "io/api/restore_slots.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::training {
namespace {
constexpr std::string_view kBelow = "params.";
using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string shortened(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) text += (i ? ", " : "") + one_line(names[i]);
  return names.size() > shown ? text + " and " + std::to_string(names.size() - shown) + " more" : text;
}
/// The names that stored paths get. Throws ConfigError.
std::vector<std::string> renamed(const std::vector<PathAndType>& stored, const Pairs& rules) {
  std::vector<std::string> names;
  for (auto& s : stored) names.push_back(s.path);
  for (auto& [pattern, to] : rules) {
    bool changed = false;
    try {
      std::regex search(pattern);
      for (auto& name : names) {
        auto now = std::regex_replace(name, search, to);
        changed = changed || now != name;
        name = now;
      }
    } catch (const std::regex_error& e) {
      fail<ConfigError>("init_from.rename: '", pattern, "' is no regular expression: ", e.what());
    }
    check<ConfigError>(changed, "init_from.rename: '", pattern, "' changes no path of the checkpoint; its paths are ",
                       [&] { return shortened(names); });
  }
  return names;
}
}  // namespace

std::vector<std::string> InitialPlan::said(const std::string& folder) const {
  std::vector<std::string> lines;
  std::vector<std::string> cast, moved;
  for (auto& t : taken) {
    if (t.cast) cast.push_back(t.path);
    if (t.path != t.from) moved.push_back(t.from + " as " + t.path);
  }
  auto line = [&](const std::string& words, const std::vector<std::string>& names) {
    if (!names.empty()) lines.push_back(words + shortened(names));
  };
  lines.push_back("taken from " + folder + ": " + std::to_string(taken.size()) + " parameters");
  line("  renamed: ", moved);
  line("  cast from another dtype: ", cast);
  line("  not in it, initialised: ", initialised);
  line("  in it and left: ", left);
  return lines;
}

InitialPlan plan_initial(const std::vector<PathAndType>& parameters, const std::vector<PathAndType>& stored,
                         const std::string& folder, const InitialOptions& options) {
  auto names = renamed(stored, options.rename);
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto [there, added] = by_name.emplace(names[i], i);
    check<CheckpointError>(added, "init_from.rename: ", folder, ": '", stored[there->second].path, "' and '",
                           stored[i].path, "' both become '", names[i], "'");
  }
  Selection only("init_from.only", options.only);
  if (only) {
    std::vector<std::string> paths;
    for (auto& p : parameters) paths.push_back(p.path);
    only.check(paths);
  }
  InitialPlan plan;
  for (auto& p : parameters) {
    auto found = by_name.find(p.path);
    if (only && !only.has(p.path)) {
      plan.initialised.push_back(p.path);
      if (found == by_name.end()) continue;
      plan.left.push_back(stored[found->second].path);
      by_name.erase(found);
      continue;
    }
    if (found == by_name.end()) {
      check<CheckpointError>(options.init_missing, folder, ": it has no leaf '", p.path, "' (", p.type,
                             " is wanted); init_from.missing=init would initialise it, init_from.rename gives leaves "
                             "other names, init_from.only names those to read");
      plan.initialised.push_back(p.path);
      continue;
    }
    auto& s = stored[found->second];
    check<CheckpointError>(s.type.shape == p.type.shape, folder, ": leaf '", s.path, "' is ", s.type, ", ", p.type,
                           " is wanted for '", p.path, "'; give the model the sizes of that run, or leave the leaf out "
                           "with init_from.only");
    bool same = s.type.dtype == p.type.dtype, both = is_float(s.type.dtype) && is_float(p.type.dtype);
    check<CheckpointError>(same || both, folder, ": leaf '", s.path, "' is ", s.type, ", ", p.type,
                           " is wanted for '", p.path, "', and only floating numbers are cast");
    check<CheckpointError>(same || options.cast, folder, ": leaf '", s.path, "' is ", s.type, ", ", p.type,
                           " is wanted for '", p.path, "'; init_from.cast=true would convert it");
    plan.taken.push_back({p.path, s.path, s.type, !same});
    by_name.erase(found);
  }
  std::vector<std::string> others;
  for (auto& [name, i] : by_name) others.push_back(stored[i].path);
  check<CheckpointError>(options.ignore_unexpected || others.empty(), folder, ": no parameter takes its leaf '",
                         others.empty() ? "" : others[0], "'",
                         others.size() > 1 ? " (nor " + std::to_string(others.size() - 1) + " others)" : "",
                         "; init_from.unexpected=ignore would leave it out");
  plan.left.insert(plan.left.end(), others.begin(), others.end());
  check<CheckpointError>(!plan.taken.empty(), folder, ": nothing is taken from it; its leaves are ",
                         [&] { return shortened(names); });
  return plan;
}

InitialPlace initial_place(const std::string& path) {
  std::error_code error;
  auto has = [&](const fs::path& folder, const char* name) { return fs::exists(folder / name, error); };
  auto run_of = [&](const fs::path& folder) { return has(folder, "config.yaml") ? folder.string() : std::string(); };
  fs::path at = fs::path(path).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();  // "runs/gpt/"
  if (has(at, "config.json")) return {};          // of Hugging Face's
  if (has(at, "manifest")) return {run_of(at.parent_path().parent_path()), "", at.string()};
  if (has(at, "config.yaml")) return {at.string(), (at / "checkpoints").string(), ""};
  bool root = at.filename() == "best" || at.filename() == "checkpoints";
  return root && has(at.parent_path(), "config.yaml") ? InitialPlace{at.parent_path().string(), at.string(), ""}
                                                      : InitialPlace();
}

namespace {
std::string checkpoint_at(const InitialPlace& place) {
  if (!place.checkpoint.empty()) return place.checkpoint;
  auto newest = io::newest_checkpoint(place.root);
  check<CheckpointError>(newest.has_value(), place.root, " has no checkpoint yet");
  return newest->folder;
}
std::vector<PathAndType> stored_in(const std::string& folder, const io::Manifest& m) {
  auto base = m.notes.find("base");
  check<CheckpointError>(base == m.notes.end() || base->second.empty(), folder,
                         " holds adapters only; bora export RUN DIR makes a whole model of them, which init_from=DIR "
                         "reads");
  std::vector<PathAndType> stored;
  for (auto& leaf : m.leaves)
    if (leaf.path.starts_with(kBelow)) stored.push_back({leaf.path.substr(kBelow.size()), leaf.type});
  check<CheckpointError>(!stored.empty(), folder, " has no parameters: no path begins with ", kBelow);
  return stored;
}
}  // namespace

InitialPlan plan_initial(const InitialPlace& place, const std::vector<PathAndType>& parameters,
                         const InitialOptions& options) {
  auto folder = checkpoint_at(place);
  return plan_initial(parameters, stored_in(folder, io::read_manifest(folder)), folder, options);
}
InitialPlace settled(InitialPlace place) {
  place.checkpoint = on_first<CheckpointError>(io::place_here(), "init_from: find the checkpoint",
                                               [&] { return checkpoint_at(place); });
  return place;
}
std::vector<std::string> load_initial(tree::Node parameters, const InitialPlace& place,
                                      const InitialOptions& options) {
  auto here = io::place_here();
  auto folder = settled(place).checkpoint;
  io::Manifest m;
  InitialPlan plan;
  auto slots = tree::slots(parameters);
  std::erase_if(slots, [](auto& slot) { return !slot.leaf.defined(); });
  agree<CheckpointError>(here, "init_from: names and types", [&] {
    m = io::read_manifest(folder);
    std::vector<PathAndType> wanted;
    for (auto& slot : slots) wanted.push_back({slot.path, slot.leaf.get().type()});
    plan = plan_initial(wanted, stored_in(folder, m), folder, options);
  });
  std::vector<tree::Slot> taken;
  std::vector<std::string> from;
  for (auto& slot : slots)
    for (auto& t : plan.taken)
      if (t.path == slot.path) taken.push_back(slot), from.push_back(std::string(kBelow) + t.from);
  io::restore_slots(taken, from, folder, m, here);
  return plan.said(folder);
}
}  // namespace bora::training
