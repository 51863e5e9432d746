#include "bora/named/mapping.h"
#include <algorithm>
#include <map>
#include "bora/array/communicator.h"
#include "bora/ops/sharding.h"
#include "bora/named/by_name.h"
#include "ops/api/same_everywhere.h"

namespace bora {
namespace {
thread_local AxisMapping mapping_in_force;
thread_local std::vector<std::vector<Axis>>* record_in_force = nullptr;
/// jit keys depend on the current mapping, since auto_sharded reads it while staging.
std::size_t mapping_hash() {
  std::size_t h = 11;
  for (auto& r : mapping_in_force.rules())
    h = hash_combine(hash_combine(h, std::hash<std::string>{}(r.axis)), hash_value(r.mesh));
  auto& g = mapping_in_force.gradients();
  if (!g.rounds()) return h;
  auto code = static_cast<std::size_t>(g.wire.codec) << 16 | (g.wire.blocks() ? g.wire.block : 0U);
  return hash_combine(h, hash_combine(code, hash_value(g.over)));
}
const bool mapping_registered = (fx::register_context(mapping_hash), true);
}  // namespace
const AxisMapping& current_mapping() {
  (void)mapping_registered;
  return mapping_in_force;
}
AxisMapping AxisMapping::with_gradients(GradientWire gradients) const {
  auto r = *this;
  r.gradients_ = std::move(gradients);
  return r;
}
UseMapping::UseMapping(AxisMapping m) : saved_(std::move(mapping_in_force)) { mapping_in_force = std::move(m); }
UseMapping::~UseMapping() { mapping_in_force = std::move(saved_); }

AxisMapping AxisMapping::without(const AxisName& mesh_axis) const {
  auto r = *this;
  r.rules_.clear();
  for (auto rule : rules_) {
    bool whole = rule.mesh.empty();
    rule.mesh.remove(mesh_axis);
    if (whole || !rule.mesh.empty()) r.rules_.push_back(rule);
  }
  return r;
}
void AxisMapping::check_rules(const std::vector<Axis>& axes) const {
  for (std::size_t i = 0; i < rules_.size(); ++i)
    for (std::size_t j = i + 1; j < rules_.size(); ++j) {
      if (rules_[i].axis != rules_[j].axis) continue;
      for (auto& m : rules_[i].mesh)
        if (rules_[j].mesh.has(m)) {
          auto p = find_axis(axes, rules_[i].axis);
          check<ShardError>(p < 0, "axis '", rules_[i].axis, "' (", p < 0 ? 0 : axes[static_cast<std::size_t>(p)].size,
                            ") is mapped to mesh axis '", m.str(), "' twice: by rule ", i + 1, " and rule ", j + 1);
        }
    }
}
namespace {
/// The effect of a rule on an array: mesh axes given to the axis at `place`, and mesh axes that another axis has.
struct Applied {
  std::size_t rule, place;
  MeshAxes given, taken;
};
/// The rules that decide an axis, and those that would have, had another axis not taken their mesh axes.
std::vector<Applied> applied(const AxisMapping& mapping, const std::vector<Axis>& axes, const MeshShape& mesh) {
  std::vector<Applied> r;
  MeshAxes used;
  std::vector<bool> decided(axes.size());
  auto& rules = mapping.rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto p = find_axis(axes, rules[i].axis);
    if (p < 0 || decided[static_cast<std::size_t>(p)]) continue;
    Applied a{i, static_cast<std::size_t>(p), {}, {}};
    for (auto& m : rules[i].mesh)
      if (mesh.has(m)) (used.has(m) || a.given.has(m) ? a.taken : a.given).push_back(m);
    used.append(a.given);
    decided[a.place] = rules[i].mesh.empty() || !a.given.empty();
    if (decided[a.place]) std::erase_if(r, [&](auto& earlier) { return earlier.place == a.place; });
    if (decided[a.place] || !a.taken.empty()) r.push_back(std::move(a));
  }
  return r;
}
MeshShape without_single(const MeshShape& mesh) {
  auto r = mesh;
  std::erase_if(r.axes, [](auto& axis) { return axis.second == 1; });  // these have no shares
  return r;
}
}  // namespace
Spec spec_for(const std::vector<Axis>& axes, const AxisMapping& mapping) {
  auto s = Spec::replicated(axes.size());
  if (!here().mesh) return s;
  mapping.check_rules(axes);
  for (auto& a : applied(mapping, axes, *here().mesh)) s[a.place] = a.given;
  return s;
}
Placement placement_of(const std::vector<Axis>& axes, const AxisMapping& mapping, const MeshShape& mesh) {
  Placement p{Spec::replicated(axes.size()), std::vector<std::optional<std::size_t>>(axes.size())};
  for (auto& a : applied(mapping, axes, without_single(mesh)))
    if (!a.given.empty() || a.taken.empty()) p.spec[a.place] = a.given, p.rules[a.place] = a.rule;
  return p;
}
NamedArray auto_sharded(const NamedArray& x, const AxisMapping& mapping) {
  if (!here().mesh) return x;
  return tree::Leaf<NamedArray>::rebuild(x, ops::constrained(x.array(), spec_for(x.axes(), mapping),
                                                             mapping.gradients()));
}
NamedArray auto_sharded(const NamedArray& x) {
  if (auto* r = record_in_force; r && std::find(r->begin(), r->end(), x.axes()) == r->end()) r->push_back(x.axes());
  return auto_sharded(x, mapping_in_force);
}
RecordSharded::RecordSharded(std::vector<std::vector<Axis>>& to) : saved_(std::exchange(record_in_force, &to)) {}
RecordSharded::~RecordSharded() { record_in_force = saved_; }
void fx::constrain_named(tree::Node t, const AxisMapping& mapping) {
  for (auto& s : tree::slots(t))
    if (auto* x = s.leaf.as<NamedArray>(); x && x->defined()) *x = auto_sharded(*x, mapping);
}
std::vector<std::string> diagnose(const AxisMapping& mapping,
                                  const std::vector<std::pair<std::string, std::vector<Axis>>>& arrays,
                                  const MeshShape& mesh) {
  auto& rules = mapping.rules();
  auto name_of = [&](std::size_t i) {
    return "rule " + std::to_string(i + 1) + " (" + rules[i].axis + " -> " + to_string(rules[i].mesh) + ")";
  };
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> of_arrays;  // text before and after paths
  std::vector<bool> fits(rules.size(), arrays.empty()), decides(rules.size());
  auto several = without_single(mesh);
  for (auto& [path, axes] : arrays) {
    for (std::size_t i = 0; i < rules.size(); ++i) fits[i] = fits[i] || find_axis(axes, rules[i].axis) >= 0;
    for (auto& a : applied(mapping, axes, several)) {
      if (!a.given.empty() || a.taken.empty()) decides[a.rule] = true;
      for (auto& m : a.taken)
        of_arrays[{name_of(a.rule) + ": mesh axis '" + m.str() + "' is taken already in ", ""}].push_back(path);
      auto n = axes[a.place].size;
      if (auto parts = several.parts(a.given); parts > 1 && n % parts && several.equal(a.given))
        of_arrays[{name_of(a.rule) + ": " + std::to_string(n) + " does not divide over " + std::to_string(parts) +
                       " in ",
                   " (uneven blocks)"}]
            .push_back(path);
    }
  }
  std::vector<std::string> r;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (rules[j].axis == rules[i].axis && !decides[i])
        r.push_back(name_of(i) + " is hidden by rule " + std::to_string(j + 1));
    for (auto& m : rules[i].mesh)
      if (!mesh.has(m)) r.push_back(name_of(i) + ": the mesh has no axis '" + m.str() + "'");
    if (!fits[i]) r.push_back(name_of(i) + " fits no array");
  }
  for (auto& [text, paths] : of_arrays) {
    constexpr std::size_t shown = 3;
    std::string list;
    for (std::size_t i = 0; i < paths.size() && i < shown; ++i) list += (i ? ", " : "") + paths[i];
    if (paths.size() > shown) list += " and " + std::to_string(paths.size() - shown) + " more";
    r.push_back(text.first + list + text.second);
  }
  std::sort(r.begin(), r.end());
  r.erase(std::unique(r.begin(), r.end()), r.end());
  return r;
}
}  // namespace bora
