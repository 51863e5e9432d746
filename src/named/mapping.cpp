#include "bora/named/mapping.h"
#include <algorithm>
#include "bora/array/communicator.h"
#include "bora/ops/sharding.h"

namespace bora {
namespace {
thread_local AxisMapping mapping_in_force;
/// jit keys depend on the current mapping, since auto_sharded reads it while staging.
std::size_t mapping_hash() {
  std::size_t h = 11;
  for (auto& r : mapping_in_force.rules())
    h = hash_combine(hash_combine(h, std::hash<std::string>{}(r.axis)), hash_value(r.mesh));
  return h;
}
const bool registered = (fx::register_context(mapping_hash), true);
}  // namespace
const AxisMapping& current_mapping() {
  (void)registered;
  return mapping_in_force;
}
UseMapping::UseMapping(AxisMapping m) : saved_(std::move(mapping_in_force)) { mapping_in_force = std::move(m); }
UseMapping::~UseMapping() { mapping_in_force = std::move(saved_); }

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
std::vector<Applied> applied(const AxisMapping& mapping, const std::vector<Axis>& axes, const MeshShape& mesh) {
  std::vector<Applied> r;
  MeshAxes used;
  std::vector<bool> decided(axes.size());
  for (std::size_t i = 0; i < mapping.rules().size(); ++i) {
    auto& rule = mapping.rules()[i];
    auto p = find_axis(axes, rule.axis);
    if (p < 0 || decided[static_cast<std::size_t>(p)]) continue;
    decided[static_cast<std::size_t>(p)] = true;
    Applied a{i, static_cast<std::size_t>(p), {}, {}};
    for (auto& m : rule.mesh)
      if (mesh.has(m)) (used.has(m) || a.given.has(m) ? a.taken : a.given).push_back(m);
    used.append(a.given);
    r.push_back(std::move(a));
  }
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
NamedArray auto_sharded(const NamedArray& x, const AxisMapping& mapping) {
  if (!here().mesh) return x;
  return tree::Leaf<NamedArray>::rebuild(x, with_sharding_constraint(x.array(), spec_for(x.axes(), mapping)));
}
NamedArray auto_sharded(const NamedArray& x) { return auto_sharded(x, mapping_in_force); }
void fx::constrain_named(tree::Node t, const AxisMapping& mapping) {
  for (auto& s : tree::slots(t))
    if (auto* x = s.leaf.as<NamedArray>(); x && x->defined()) *x = auto_sharded(*x, mapping);
}
std::vector<std::string> diagnose(const AxisMapping& mapping,
                                  const std::vector<std::pair<std::string, std::vector<Axis>>>& arrays,
                                  const MeshShape& mesh) {
  std::vector<std::string> r;
  auto& rules = mapping.rules();
  auto name_of = [&](std::size_t i) {
    return "rule " + std::to_string(i + 1) + " (" + rules[i].axis + " -> " + to_string(rules[i].mesh) + ")";
  };
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto& rule = rules[i];
    for (std::size_t j = 0; j < i; ++j)
      if (rules[j].axis == rule.axis) r.push_back(name_of(i) + " is hidden by rule " + std::to_string(j + 1));
    for (auto& m : rule.mesh)
      if (!mesh.has(m)) r.push_back(name_of(i) + ": the mesh has no axis '" + m.str() + "'");
    if (!arrays.empty() &&
        std::none_of(arrays.begin(), arrays.end(), [&](auto& a) { return find_axis(a.second, rule.axis) >= 0; }))
      r.push_back(name_of(i) + " fits no array");
  }
  for (auto& [path, axes] : arrays)
    for (auto& a : applied(mapping, axes, mesh)) {
      for (auto& m : a.taken)
        r.push_back(name_of(a.rule) + ": mesh axis '" + m.str() + "' is taken already in " + path);
      auto n = axes[a.place].size;
      if (auto parts = mesh.parts(a.given); parts > 1 && n % parts)
        r.push_back(name_of(a.rule) + ": " + std::to_string(n) + " does not divide over " + std::to_string(parts) +
                    " in " + path + " (uneven blocks)");
    }
  std::sort(r.begin(), r.end());
  r.erase(std::unique(r.begin(), r.end()), r.end());
  return r;
}
}  // namespace bora
