#include "bora/array/mesh_sizes.h"
#include <algorithm>
#include "bora/base/error.h"

namespace bora {
MeshSizes MeshSizes::parse(std::string_view given) {
  MeshSizes all;
  std::string text;
  for (char c : given)
    if (c != ' ') text += c;
  for (std::size_t at = 0; !given.empty() && at <= text.size();) {
    auto part = text.substr(at, text.find(',', at) - at);
    at += part.size() + 1;
    auto equals = part.find('=');
    auto axis = part.substr(0, equals), number = equals == part.npos ? "" : part.substr(equals + 1);
    check<ConfigError>(equals != part.npos && equals > 0, "mesh: expected data=2,model=1, got '", given, "'");
    for (auto& other : all)
      check<ConfigError>(other.name != axis, "mesh: axis '", axis, "' is given twice in '", given, "'");
    bool digits = !number.empty() && number.size() < 7 && number.find_first_not_of("0123456789") == number.npos;
    check<ConfigError>(number == "-1" || (digits && std::stoi(number) > 0), "mesh: the size of axis '", axis,
                       "' must be 1 or more (or -1: what is left), got '", number, "'");
    check<ConfigError>(number != "-1" || !all.open(), "mesh: only one size may be -1, got '", given, "'");
    all.axes_.push_back({axis, std::stoi(number)});
  }
  return all;
}
MeshShares MeshShares::parse(std::string_view given) {
  MeshShares all;
  std::string text;
  for (char c : given)
    if (c != ' ') text += c;
  all.automatic_ = text == "auto";
  if (text.empty() || all.automatic_) return all;
  auto cut = [](const std::string& list, std::size_t& at, char by) {
    auto part = list.substr(at, list.find(by, at) - at);
    at += part.size() + 1;
    return part;
  };
  for (std::size_t at = 0; at <= text.size();) {
    auto part = cut(text, at, ',');
    auto equals = part.find('=');
    check<ConfigError>(equals != part.npos && equals > 0, "mesh.shares: expected data=3:3:2:1, or auto, got '", given,
                       "'");
    Of of{part.substr(0, equals), {}};
    for (auto& other : all)
      check<ConfigError>(other.axis != of.axis, "mesh.shares: axis '", of.axis, "' is given twice in '", given, "'");
    auto list = part.substr(equals + 1);
    for (std::size_t from = 0; from <= list.size();) {
      auto number = cut(list, from, ':');
      bool digits = !number.empty() && number.size() < 8 && number.find_first_not_of("0123456789") == number.npos;
      check<ConfigError>(digits && std::stoi(number) > 0, "mesh.shares: each share of axis '", of.axis,
                         "' must be from 1 to 9999999, got '", number, "' in '", list, "'");
      of.each.push_back(std::stoi(number));
    }
    all.of_.push_back(std::move(of));
  }
  return all;
}
MeshShape MeshShares::of(MeshShape mesh) const {
  for (auto& [axis, each] : of_) {
    check<ConfigError>(mesh.has(AxisName(axis)), "mesh.shares: there is no axis '", axis, "' in the mesh ",
                       to_string(mesh));
    mesh.set_shares(AxisName(axis), each);
  }
  return mesh;
}
std::string to_string(const MeshShares& s) {
  std::string r = s.automatic() ? "auto" : "";
  for (auto& [axis, each] : s) {
    r += (r.empty() ? "" : ",") + axis;
    for (std::size_t i = 0; i < each.size(); ++i) r += (i ? ":" : "=") + std::to_string(each[i]);
  }
  return r;
}
bool MeshSizes::open() const {
  return std::any_of(begin(), end(), [](auto& a) { return a.size == -1; });
}
std::int64_t MeshSizes::ranks() const {
  constexpr std::int64_t most = std::int64_t{1} << 60;
  std::int64_t n = 1;
  for (auto& a : axes_) n = a.size > 1 && n > most / a.size ? most : n * std::max<std::int64_t>(a.size, 1);
  return n;
}
std::string to_string(const MeshSizes& m) {
  std::string r;
  for (auto& a : m) {
    r += (r.empty() ? "" : ",") + a.name + "=" + std::to_string(a.size);
    for (std::size_t i = 0; i < a.shares.size(); ++i) r += (i ? ":" : "(") + std::to_string(a.shares[i]);
    if (!a.shares.empty()) r += ")";
  }
  return r;
}
void check_axes(const MeshSizes& axes) {
  int open = 0;
  for (auto a = axes.begin(); a != axes.end(); ++a) {
    check<ConfigError>(!a->name.empty() && (a->size >= 1 || a->size == -1), "mesh ", to_string(axes), ": axis '",
                       a->name, "' must have a name and a size of at least 1 (or -1 for what is left)");
    check<ConfigError>(std::none_of(axes.begin(), a, [&](auto& b) { return b.name == a->name; }), "mesh ",
                       to_string(axes), ": axis '", a->name, "' is named twice");
    open += a->size == -1;
  }
  check<ConfigError>(open <= 1, "mesh ", to_string(axes), ": only one axis may be -1");
}
MeshShape mesh_shape(const MeshSizes& axes, int ranks) {
  check_axes(axes);
  auto known = axes.ranks();
  auto open = axes.open();
  check<ConfigError>(open ? ranks % known == 0 : known == ranks, "mesh ",
                     axes.empty() ? "(no axes)" : to_string(axes), " needs ", open ? "a multiple of " : "", known,
                     " rank", known == 1 ? "" : "s", ", but the job has ", ranks);
  MeshShape m;
  for (auto& a : axes) m.axes.emplace_back(AxisName(a.name), a.size == -1 ? static_cast<int>(ranks / known) : a.size);
  for (auto& a : axes) m.set_shares(AxisName(a.name), a.shares);
  return m;
}
}  // namespace bora
