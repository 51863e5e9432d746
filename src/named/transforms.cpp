#include "bora/named/transforms.h"
#include "bora/named/axis_mapping.h"
#include "named/api/support.h"

namespace bora::fx {
Dims remove_axis(tree::Node t, const Axis& axis, std::string_view what, const IsScanned& is_scanned) {
  Dims where;
  for (auto& s : tree::slots(t)) {
    if (!s.leaf.defined()) continue;
    where.push_back(-1);
    auto* x = s.leaf.as<NamedArray>();
    if (!x || !x->has_axis(axis.name) || (is_scanned && !is_scanned(s.path))) continue;
    auto p = find_axis(x->axes(), axis.name);
    check<AxisError>(x->axes()[static_cast<std::size_t>(p)].size == axis.size, what, ": axis '", axis.name,
                     "' has size ", axis.size, ", but ", s.path.empty() ? "an argument" : s.path, " has ", x->axes());
    auto axes = x->axes();
    axes.erase(axes.begin() + p);
    *x = NamedLeaf::with_axes(x->array(), axes);
    where.back() = p;
  }
  return where;
}
void add_axis(tree::Node t, const Axis& axis) {
  for (auto& s : tree::slots(t))
    if (auto* x = s.leaf.as<NamedArray>(); x && x->defined()) {
      auto axes = x->axes();
      axes.insert(axes.begin(), axis);
      *x = NamedLeaf::with_axes(x->array(), axes);
    }
}
void align_axes(tree::Node t, tree::Node like, std::string_view what) {
  auto a = tree::slots(t), b = tree::slots(like);
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    auto *x = a[i].leaf.as<NamedArray>(), *y = b[i].leaf.as<NamedArray>();
    if (!x || !y || !x->defined() || x->axes() == y->axes()) continue;
    check<AxisError>(std::is_permutation(x->axes().begin(), x->axes().end(), y->axes().begin(), y->axes().end()), what,
                     ": ", a[i].path.empty() ? "it" : a[i].path, " came with ", y->axes(), " and left with ",
                     x->axes());
    *x = aligned(*x, y->axes());
  }
}
Arrays named_vmap(const FlatFn& f, const Arrays& in, const Dims& positions, const Axis& axis) {
  VmapFlat how{{}, {0}, axis.size, axis.name, {spec_for({axis}, current_mapping())[0], false}};
  for (auto p : positions) how.in.push_back(p < 0 ? std::nullopt : std::optional(p));
  return vmap_flat(f, in, how);
}
Arrays sliced_leaves(const Arrays& leaves, const Dims& positions) {
  Arrays r;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (positions[i] >= 0) r.push_back(moveaxis(leaves[i], positions[i], 0));
  return r;
}
}  // namespace bora::fx
