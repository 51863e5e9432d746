#include "bora/fx/vmap.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
std::optional<std::int64_t> axis_at(const MapAxis& m, const std::string& path, std::string_view what) {
  if (!m.rules) return m.axis;
  for (auto& [pattern, axis] : m.rules->rules)
    if (tree::matches(pattern, path)) return axis;
  fail<ValueError>("vmap: no pattern of .", what, " fits ", where(path), "; end the list with {\"*\", none}");
}
/// Which part of a tuple, vector or struct each leaf belongs to; a leaf alone is its only part.
struct PartsOf final : tree::Visitor {
  void leaf(const tree::Name&, const tree::LeafRef& l) override {
    if (depth <= 1) ++parts;
    if (l.defined()) of_leaf.push_back(parts - 1);
  }
  void statics(const tree::Name&, const tree::StaticRef&) override {
    if (depth == 1) ++parts;
  }
  void enter(const tree::Name&) override {
    if (depth == 1) ++parts;
    ++depth;
  }
  void leave() override { --depth; }
  std::size_t depth = 0, parts = 0;
  std::vector<std::size_t> of_leaf;
};
/// The axis of each leaf of the result.
std::vector<std::optional<std::int64_t>> result_axes(const MapAxes& out, tree::Node result) {
  std::vector<std::string> paths;
  tree::append_paths(result, paths);
  PartsOf of;
  result(of);
  check<ValueError>(!out.each || out.axes.size() == of.parts, "vmap: .out has ", out.axes.size(),
                    " entries but f returns ", of.parts, of.parts == 1 ? " part" : " parts",
                    "; give one number for all, or one for each part");
  std::vector<std::optional<std::int64_t>> r;
  for (std::size_t k = 0; k < paths.size(); ++k)
    r.push_back(axis_at(out.axes[out.each ? of.of_leaf[k] : 0], paths[k], "out"));
  return r;
}
}  // namespace
Arrays vmap_shell(const FlatFn& f, const std::function<tree::Node()>& result, const std::vector<tree::Node>& arguments,
                  const VmapOptions& how) {
  check<ValueError>(!how.in.each || how.in.axes.size() == arguments.size(), "vmap: .in has ", how.in.axes.size(),
                    " entries but f is called with ", arguments.size(),
                    arguments.size() == 1 ? " argument" : " arguments");
  Arrays in;
  std::vector<std::string> paths, names;
  VmapFlat flat;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    tree::append_leaves(arguments[i], in);
    tree::append_paths(arguments[i], paths);
    append_labels(arguments[i], i, names);
    for (auto k = flat.in.size(); k < in.size(); ++k)
      flat.in.push_back(axis_at(how.in.axes[how.in.each ? i : 0], paths[k], "in"));
  }
  std::optional<std::size_t> first;
  std::int64_t size = how.size.value_or(-1);
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!flat.in[k]) continue;
    auto axis = *flat.in[k], n = in[k].ndim();
    check<ShapeError>(
        axis >= -n && axis < n, "vmap: ", [&] { return where(names[k]); }, " of type ", in[k].type(), " has no axis ",
        axis, " to map");
    auto length = in[k].shape(axis);
    check<ShapeError>(
        size < 0 || length == size,
        "vmap: mapped axes differ in size: ", [&] { return first ? where(names[*first]) : std::string(".size"); },
        " has ", size, " and axis ", axis, " of ", [&] { return where(names[k]); }, " of type ", in[k].type(), " has ",
        length);
    size = length;
    if (!first) first = k;
  }
  check<ValueError>(size >= 0,
                    "vmap: no argument is mapped: give at least one an axis in .in, or say how many in .size");
  flat.size = size;
  flat.axis_name = how.axis_name;
  flat.over = {how.spmd_axis_name, true};
  bool alike = !how.out.each && !how.out.axes[0].rules;
  flat.out = {how.out.axes[0].axis};
  auto ran = [&](const Arrays& x) {
    auto y = f(x);
    if (!alike) flat.out = result_axes(how.out, result());  // the parts of the result are known once f has run
    return y;
  };
  return vmap_flat(ran, in, flat);
}
}  // namespace bora::fx
