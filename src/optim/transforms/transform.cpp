#include "bora/optim/transform.h"
#include <algorithm>
#include "bora/named/array.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/sharding.h"

namespace bora::optim {
std::vector<RegistryEntry>& registry() {
  static std::vector<RegistryEntry> all;
  return all;
}

void check_shapes(std::string_view what, const Leaves& p, const Arrays& given) {
  for (std::size_t i = 0; i < std::min(p.arrays.size(), given.size()); ++i)
    check<ShapeError>(given[i].shape() == p.arrays[i].shape(), what, " of '", p.paths[i], "' is ", given[i].type(),
                      ", the parameter is ", p.arrays[i].type());
  check<ValueError>(given.size() == p.arrays.size(), what, ": ", given.size(), " arrays for ", p.arrays.size(),
                    " parameters");
}
std::vector<std::vector<std::string>> axis_names(tree::Node t) {
  std::vector<std::vector<std::string>> r;
  for (auto& slot : tree::slots(t))
    if (slot.leaf.defined()) {
      auto& names = r.emplace_back();
      if (auto x = slot.leaf.as<NamedArray>())
        for (auto& axis : x->axes()) names.push_back(axis.name);
    }
  return r;
}
Arrays Transform::settled(Arrays g, const Leaves& params) {
  check_shapes("optim: the gradient", params, g);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = complete_like(g[i], params.arrays[i]);
  return accumulated(std::move(g));
}
Arrays Transform::accumulated(Arrays xs) {
  for (auto& x : xs) x = in_accumulator(x);
  return xs;
}

State Transform::init_flat(const Leaves& params) const {
  State all;
  for (auto& part : parts_) part.init(part.name, params, all);
  return all;
}
std::pair<Arrays, State> Transform::update_flat(Arrays updates, const State& s, const Leaves& params) const {
  State next;
  for (auto& part : parts_) updates = part.update(part.name, updates, s, next, params);
  return {std::move(updates), std::move(next)};
}
namespace {
/// The entries "<name>..<field>.<path>" of these fields in another dtype; none: in that of their parameters.
State stored(State s, const std::string& name, const std::vector<std::string>& fields, const Leaves& params,
             std::optional<Dtype> dtype) {
  for (auto& [entry, value] : s.entries)
    for (std::size_t i = 0; i < params.paths.size(); ++i)
      for (auto& field : fields)
        if (entry.starts_with(name + ".") && entry.ends_with("." + field + "." + params.paths[i]))
          value = value.astype(dtype.value_or(params.arrays[i].dtype()));
  return s;
}
}  // namespace
Transform Transform::storing(Dtype dtype, const std::vector<std::string>& fields) const {
  check<DtypeError>(is_float(dtype), "optim: moments cannot be stored as ", dtype);
  auto all = *this;
  for (auto& part : all.parts_) {
    part.init = [=, init = part.init](const std::string& name, const Leaves& params, State& next) {
      State mine;
      init(name, params, mine);
      next.entries.merge(stored(std::move(mine), name, fields, params, dtype).entries);
    };
    part.update = [=, update = part.update](const std::string& name, const Arrays& u, const State& s, State& next,
                                            const Leaves& params) {
      State mine;
      auto updates = update(name, u, stored(s, name, fields, params, none), mine, params);
      next.entries.merge(stored(std::move(mine), name, fields, params, dtype).entries);
      return updates;
    };
  }
  return all;
}
Transform Transform::checking(std::function<void(const Leaves&)> f) const {
  Transform all;
  all.parts_.push_back({"checking", "checking",
                        [f = std::move(f)](const std::string&, const Leaves& params, State&) { f(params); },
                        [](const std::string&, const Arrays& u, const State&, State&, const Leaves&) { return u; }});
  return chain_of({all, *this});
}
Transform chain_of(const std::vector<Transform>& parts) {
  Transform all;
  for (auto& t : parts)
    for (auto part : t.parts_) {
      auto earlier = std::count_if(all.parts_.begin(), all.parts_.end(),
                                   [&](auto& p) { return p.transformation == part.transformation; });
      part.name = std::string(part.transformation) + (earlier == 0 ? "" : std::to_string(earlier + 1));
      all.parts_.push_back(std::move(part));
    }
  return all;
}
Transform identity() { return {}; }

namespace detail {
void store(State& to, const std::string& name, const Array& value, const Leaves&) { to.entries[name] = value; }
void store(State& to, const std::string& name, const Arrays& values, const Leaves& params) {
  for (std::size_t i = 0; i < values.size(); ++i) to.entries[name + "." + params.paths[i]] = values[i];
}
void store(State& to, const std::string& name, const Reduced& values, const Leaves& params) {
  for (std::size_t i = 0; i < values.of.size(); ++i)
    if (values.of[i].defined()) to.entries[name + "." + params.paths[i]] = values.of[i];
}
void store(State& to, const std::string& name, const State& inner, const Leaves&) {
  for (auto& [entry, value] : inner.entries) to.entries[name + "." + entry] = value;
}
void load(const State& from, const std::string& name, Array& value, const Leaves&) {
  auto it = from.entries.find(name);
  check<ValueError>(it != from.entries.end(), "optim: the state has no entry '", name,
                    "'; it was made for other parameters or another optimizer");
  value = it->second;
}
void load(const State& from, const std::string& name, Arrays& values, const Leaves& params) {
  for (std::size_t i = 0; i < params.paths.size(); ++i) {
    auto entry = name + "." + params.paths[i];
    load(from, entry, values.emplace_back(), params);
    check<ShapeError>(values[i].shape() == params.arrays[i].shape(), "optim: the state's entry '", entry, "' is ",
                      values[i].type(), ", the parameter is ", params.arrays[i].type(),
                      "; the state was made for other parameters");
  }
}
void load(const State& from, const std::string& name, Reduced& values, const Leaves& params) {
  for (auto& path : params.paths) {
    auto it = from.entries.find(name + "." + path);
    values.of.push_back(it == from.entries.end() ? Array() : it->second);
  }
}
void load(const State& from, const std::string& name, State& inner, const Leaves&) {
  auto prefix = name + ".";
  for (auto it = from.entries.lower_bound(prefix); it != from.entries.end() && it->first.starts_with(prefix); ++it)
    inner.entries[it->first.substr(prefix.size())] = it->second;
}
}  // namespace detail
}  // namespace bora::optim
