// Alignment of operands by name, for by_name, and the registry of named functions.
#include "bora/named/functions.h"
#include <algorithm>
#include "bora/ops/manipulation.h"
#include "bora/ops/print.h"
#include "named/api/registry.h"

namespace bora {
namespace {
/// The axes of a result of operands with these axes.
std::vector<Axis> combined(std::string_view what, const std::vector<Axis>& a, const std::vector<Axis>& b) {
  auto contains = [](const std::vector<Axis>& big, const std::vector<Axis>& small) {
    return std::all_of(small.begin(), small.end(), [&](auto& x) { return find_axis(big, x.name) >= 0; });
  };
  for (auto& x : a)
    if (auto p = find_axis(b, x.name); p >= 0)
      check<AxisError>(b[static_cast<std::size_t>(p)].size == x.size, what, ": axis '", x.name, "' has size ", x.size,
                       " on the left and ", b[static_cast<std::size_t>(p)].size, " on the right");
  if (contains(a, b)) return a;
  check<AxisError>(contains(b, a), what, ": neither operand has all axes of the other: ", a, " and ", b,
                   "; rename an axis or use broadcast_to");
  return b;
}
}  // namespace
namespace detail {
std::vector<Axis> common_axes(std::string_view what, std::initializer_list<const NamedArray*> operands) {
  std::optional<std::vector<Axis>> r;
  for (auto* x : operands)
    if (x) r = r ? combined(what, *r, x->axes()) : x->axes();
  return r.value_or(std::vector<Axis>());
}
Array spread_to(const NamedArray& x, const std::vector<Axis>& to) {
  if (x.axes() == to) return x.array();
  Dims perm, dims;
  for (std::size_t d = 0; d < to.size(); ++d)
    if (auto p = find_axis(x.axes(), to[d].name); p >= 0) {
      perm.push_back(p);
      dims.push_back(static_cast<std::int64_t>(d));
    }
  return broadcast_in_dim(transpose(x.array(), perm), shape_of(to), dims);
}
Dims positions(std::string_view what, const NamedArray& x, const AxisNames& names) {
  Dims r;
  for (auto& n : names) {
    auto p = x.position(n);
    check<AxisError>(std::find(r.begin(), r.end(), p) == r.end(), what, ": axis '", n.name, "' is named twice");
    r.push_back(p);
  }
  return r;
}
std::vector<Axis> without(const std::vector<Axis>& axes, const Dims& gone) {
  std::vector<Axis> r;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::find(gone.begin(), gone.end(), static_cast<std::int64_t>(i)) == gone.end()) r.push_back(axes[i]);
  return r;
}
}  // namespace detail
std::vector<NamedFunction>& named_functions() {
  static std::vector<NamedFunction> rows;
  return rows;
}
bool add_named(std::vector<NamedFunction> functions) {
  auto& rows = named_functions();
  rows.insert(rows.end(), functions.begin(), functions.end());
  return true;
}
std::ostream& operator<<(std::ostream& o, const NamedArray& x) { return o << to_string(x.axes()) << " " << x.array(); }
}  // namespace bora
