// Lists of axes as values.
#include "bora/named/axes.h"
#include <algorithm>
#include <sstream>

namespace bora {
namespace {
using Names = std::vector<AxisNames::One>;
constexpr std::string_view kDots = "...";
std::string text(const AxisNames& names) {
  std::string r = "{";
  for (auto& n : names)
    r += (r.size() > 1 ? ", " : "") + n.name + (n.size < 0 ? "" : ":" + std::to_string(n.size));
  return r + "}";
}
const AxisNames::One* find(const AxisNames& names, std::string_view name) {
  for (auto& n : names)
    if (n.name == name) return &n;
  return nullptr;
}
bool sizes_fit(std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; }
void check_sizes(std::string_view what, std::string_view name, std::int64_t a, std::int64_t b) {
  check<AxisError>(sizes_fit(a, b), what, ": axis '", name, "' has size ", a, " and size ", b);
}
void check_once(std::string_view what, const AxisNames& names) {
  for (auto n = names.begin(); n != names.end(); ++n)
    if (n->name != kDots)
      for (auto m = names.begin(); m != n; ++m)
        check<AxisError>(m->name != n->name, what, ": axis '", n->name, "' is named twice in ", text(names));
}
/// The number of letters that must change to make b of a (Levenshtein 1966).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}
/// "; did you mean 'embed'?" if a name is near.
std::string hint(std::string_view name, const std::vector<Axis>& axes) {
  const Axis* best = nullptr;
  auto least = std::max<std::size_t>(1, name.size() / 2) + 1;
  for (auto& a : axes)
    if (auto d = distance(name, a.name); d < least) least = d, best = &a;
  return best ? "; did you mean '" + best->name + "'?" : "";
}
}  // namespace
std::int64_t require_axis(std::string_view what, const std::vector<Axis>& axes, const AxisNames::One& axis) {
  auto p = find_axis(axes, axis.name);
  auto colon = what.empty() ? "" : ": ";
  if (p < 0) fail<AxisError>(what, colon, "no axis '", axis.name, "' among ", to_string(axes), hint(axis.name, axes));
  auto size = axes[static_cast<std::size_t>(p)].size;
  check<AxisError>(sizes_fit(size, axis.size), what, colon, "axis '", axis.name, "' has size ", size, " in ",
                   to_string(axes), " and ", axis.size, " as given");
  return p;
}
std::vector<Axis> make_axes(std::initializer_list<Axis> axes) {
  std::vector<Axis> r;
  for (auto& a : axes) {
    check<AxisError>(a.size >= 0, "make_axes: axis '", a.name, "' has size ", a.size, ", which must be 0 or more");
    check<AxisError>(find_axis(r, a.name) < 0, "make_axes: axis '", a.name, "' is named twice");
    r.push_back(a);
  }
  return r;
}
std::string axis_name(const AxisNames::One& axis) { return axis.name; }
std::vector<std::string> axis_names(const std::vector<Axis>& axes) {
  std::vector<std::string> r;
  for (auto& a : axes) r.push_back(a.name);
  return r;
}
std::int64_t axis_size(const Axes& axes) { return volume(shape_of(axes.list())); }
bool selects_axis(const AxisNames& selector, const AxisNames& selected) {
  return std::all_of(selected.begin(), selected.end(), [&](auto& s) {
    auto* found = find(selector, s.name);
    return found && sizes_fit(found->size, s.size);
  });
}
bool is_axis_compatible(const AxisNames::One& a, const AxisNames::One& b) {
  return a.name == b.name && sizes_fit(a.size, b.size);
}
Axis resolve_axis(const std::vector<Axis>& axes, const AxisNames::One& axis) {
  return axes[static_cast<std::size_t>(require_axis("resolve_axis", axes, axis))];
}
std::vector<Axis> resolve_axes(const std::vector<Axis>& axes, const AxisNames& selection) {
  check_once("resolve_axes", selection);
  std::vector<Axis> r;
  for (auto& s : selection) r.push_back(resolve_axis(axes, s));
  return r;
}
std::vector<Axis> concat_axes(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  auto r = a;
  for (auto& x : b) {
    check<AxisError>(find_axis(a, x.name) < 0, "concat_axes: axis '", x.name, "' is in both ", to_string(a), " and ",
                     to_string(b));
    r.push_back(x);
  }
  return r;
}
std::vector<Axis> union_axes(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  auto r = a;
  for (auto& x : b) {
    auto p = find_axis(r, x.name);
    if (p < 0) r.push_back(x);
    else check_sizes("union_axes", x.name, r[static_cast<std::size_t>(p)].size, x.size);
  }
  return r;
}
std::vector<Axis> intersect_axes(const std::vector<Axis>& a, const AxisNames& b) {
  std::vector<Axis> r;
  for (auto& x : a)
    if (auto* found = find(b, x.name)) {
      check_sizes("intersect_axes", x.name, x.size, found->size);
      r.push_back(x);
    }
  return r;
}
std::vector<Axis> eliminate_axes(const std::vector<Axis>& axes, const AxisNames& gone) {
  for (auto& g : gone) (void)require_axis("eliminate_axes", axes, g);
  return without_axes(axes, gone);
}
std::vector<Axis> without_axes(const std::vector<Axis>& axes, const AxisNames& gone, const WithoutAxesOptions& o) {
  std::vector<Axis> r;
  for (auto& a : axes) {
    auto* found = find(gone, a.name);
    if (!found) r.push_back(a);
    else if (!o.allow_mismatched_sizes) check_sizes("without_axes", a.name, a.size, found->size);
  }
  return r;
}
std::vector<Axis> replace_axis(const std::vector<Axis>& axes, const AxisNames::One& old, const Axes& with) {
  auto p = require_axis("replace_axis", axes, old);
  auto r = axes;
  r.erase(r.begin() + p);
  for (auto& w : with)
    check<AxisError>(find_axis(r, w.name) < 0, "replace_axis: there is an axis '", w.name, "' already in ",
                     to_string(axes));
  r.insert(r.begin() + p, with.begin(), with.end());
  return r;
}
std::vector<Axis> rearrange_for_partial_order(const AxisNames& order, const std::vector<Axis>& axes) {
  check_once("rearrange", order);
  bool dots = false;
  for (auto& n : order) {
    if (n.name == kDots) dots = true;
    else (void)require_axis("rearrange", axes, n);
  }
  check<AxisError>(dots || order.size() == axes.size(), "rearrange: ", text(order), " does not name all axes of ",
                   to_string(axes), "; \"...\" stands for the others");
  // Slots in the given order; one of "..." begins empty.
  std::vector<std::vector<Axis>> slots;
  for (auto& n : order)
    slots.push_back(n.name == kDots ? std::vector<Axis>() : std::vector<Axis>{resolve_axis(axes, n)});
  std::vector<bool> open;
  for (auto& n : order) open.push_back(n.name == kDots);
  auto first_open = [&](std::size_t from) -> std::optional<std::size_t> {
    for (auto i = from; i < slots.size(); ++i)
      if (open[i] && slots[i].empty()) return i;
    return none;
  };
  auto target = first_open(0);
  for (auto& a : axes) {
    if (!find(order, a.name)) {
      slots[*target].push_back(a);
      continue;
    }
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (!open[i] && slots[i][0].name == a.name && dots)
        if (auto next = first_open(std::max(i + 1, *target))) target = next;
  }
  std::vector<Axis> r;
  for (auto& s : slots) r.insert(r.end(), s.begin(), s.end());
  return r;
}
AxisNames replace_missing_with_ellipsis(const std::vector<Axis>& names, const std::vector<Axis>& axes) {
  Names r;
  for (auto& n : names) {
    if (find_axis(axes, n.name) >= 0) r.emplace_back(resolve_axis(axes, n));
    else if (r.empty() || r.back().name != kDots) r.emplace_back(kDots);
  }
  return AxisNames(r);
}
std::vector<Axis> check_shape(const Shape& shape, const AxisNames& axes) {
  check<AxisError>(shape.size() == axes.size(), "check_shape: ", text(axes), " does not fit the shape ", shape);
  std::vector<Axis> r;
  for (auto& a : axes) {
    auto size = shape[r.size()];
    check<AxisError>(sizes_fit(a.size, size), "check_shape: axis '", a.name, "' has size ", a.size,
                     ", but its dimension of ", shape, " has ", size);
    r.push_back({a.name, size});
  }
  return r;
}
bool matches_axes(const std::vector<Axis>& axes, std::string_view pattern) {
  auto begin = pattern.find_first_not_of(' '), end = pattern.find_last_not_of(' ');
  auto inner = begin == pattern.npos ? std::string() : std::string(pattern.substr(begin, end - begin + 1));
  bool ordered = !inner.starts_with('{');
  check<ValueError>(ordered == !inner.ends_with('}'), "matches_axes: a brace is missing in '", pattern, "'");
  if (!ordered) inner = inner.substr(1, inner.size() - 2);
  std::vector<std::string> before, after;
  bool dots = false;
  std::istringstream words(inner);
  for (std::string w; words >> w;) {
    if (w == kDots) {
      check<ValueError>(!dots, "matches_axes: more than one ... in '", pattern, "'");
      dots = true;
    } else {
      check<ValueError>(w.find_first_of("{}") == w.npos, "matches_axes: a brace stands inside of '", pattern, "'");
      (dots ? after : before).push_back(w);
    }
  }
  auto named = before.size() + after.size();
  if (dots ? named > axes.size() : named != axes.size()) return false;
  auto have = axis_names(axes);
  if (ordered)
    return std::equal(before.begin(), before.end(), have.begin()) &&
           std::equal(after.rbegin(), after.rend(), have.rbegin());
  before.insert(before.end(), after.begin(), after.end());
  return std::all_of(before.begin(), before.end(), [&](auto& w) { return find_axis(axes, w) >= 0; });
}
}  // namespace bora
