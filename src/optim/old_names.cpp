// Entries of State were once named by place in the chain and field ("1.0.mu.wte.weight", "1.2.count"; a lone
// transformation had no place). Only these transformations had state: adam {count, mu, nu}, trace {trace},
// learning_rate {count}. So the fields at one place tell the transformation, and the order of places its number.
#include <charconv>
#include <map>
#include <set>
#include "bora/optim/transform.h"

namespace bora::optim {
namespace {
constexpr std::string_view kEntries = "entries.";
/// A path in parts: where its State is ("optimizer.entries."), the place in the chain, the field, and what follows it.
struct Old {
  std::string_view owner, field, rest;
  std::vector<int> place = {};
};
std::optional<Old> parsed(std::string_view path) {
  auto at = path.starts_with(kEntries) ? 0 : path.find("." + std::string(kEntries));
  if (at == std::string_view::npos) return std::nullopt;
  auto begin = at + kEntries.size() + (at == 0 ? 0 : 1);
  Old o{path.substr(0, begin), {}, path.substr(begin)};
  auto word = [&] { return o.rest.substr(0, o.rest.find('.')); };
  for (int number = 0;;) {
    auto w = word();
    auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), number);
    if (error != std::errc() || end != w.data() + w.size() || w.size() == o.rest.size()) break;
    o.place.push_back(number);
    o.rest.remove_prefix(w.size() + 1);
  }
  o.field = word();
  o.rest.remove_prefix(o.field.size());  // ".wte.weight", or nothing after count
  bool known = o.field == "count" ? o.rest.empty()
                                  : !o.rest.empty() && (o.field == "mu" || o.field == "nu" || o.field == "trace");
  bool today = o.field == "trace" && o.place.empty() && o.rest.starts_with(".trace.");
  return known && !today ? std::optional(o) : std::nullopt;
}
std::string_view transformation_of(const std::set<std::string_view>& fields) {
  return fields.contains("mu") ? "adam" : fields.contains("trace") ? "trace" : "learning_rate";
}
}  // namespace

std::vector<std::string> current_names(const std::vector<std::string>& paths) {
  std::map<std::string_view, std::map<std::vector<int>, std::set<std::string_view>>> fields;
  for (auto& path : paths)
    if (auto o = parsed(path)) fields[o->owner][o->place].insert(o->field);
  std::map<std::string_view, std::map<std::vector<int>, std::string>> names;
  for (auto& [owner, places] : fields) {
    std::map<std::string_view, int> seen;
    for (auto& [place, mine] : places) {
      auto name = transformation_of(mine);
      auto number = ++seen[name];
      names[owner][place] = std::string(name) + (number == 1 ? "" : std::to_string(number));
    }
  }
  auto r = paths;
  for (auto& path : r)
    if (auto o = parsed(path)) {
      auto name = std::string(o->owner) + names.at(o->owner).at(o->place) + ".";
      path = name + std::string(o->field) + std::string(o->rest);
    }
  return r;
}
}  // namespace bora::optim
