// Products of several named arrays: all of them are one positional einsum.
#include "bora/named/contract.h"
#include "bora/named/axes.h"
#include "bora/ops/contractions.h"
#include "named/expression.h"
#include "named/api/support.h"

namespace bora {
namespace {
std::vector<Axis> axes_of_all(std::string_view what, const std::vector<NamedArray>& xs) {
  check<ValueError>(!xs.empty(), what, ": needs at least one array");
  std::vector<Axis> all;
  for (auto& x : xs)
    for (auto& a : x.axes()) {
      auto p = find_axis(all, a.name);
      if (p < 0) all.push_back(a);
      else
        check<AxisError>(all[static_cast<std::size_t>(p)].size == a.size, what, ": axis '", a.name, "' has size ",
                         all[static_cast<std::size_t>(p)].size, " and size ", a.size);
    }
  return all;
}
using Labels = std::vector<std::size_t>;
constexpr auto kUnderDots = static_cast<std::size_t>(-1);
/// Labels are words of a positional equation; those that `out` lacks are summed.
NamedArray contracted(const std::vector<NamedArray>& xs, const std::vector<Labels>& in, const Labels& out,
                      std::vector<Axis> axes, std::optional<Dtype> dtype = none) {
  std::string equation;
  auto put = [&](const Labels& l) {
    for (auto n : l) equation += "x" + std::to_string(n) + " ";
  };
  Arrays operands;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    equation += i ? ", " : "";
    put(in[i]);
    operands.push_back(dtype ? xs[i].array().astype(*dtype) : xs[i].array());
  }
  equation += "-> ";
  put(out);
  return {einsum_flat(equation, operands), std::move(axes)};
}
/// By name: the axes of the result.
NamedArray by_axes(const std::vector<NamedArray>& xs, const std::vector<Axis>& all, std::vector<Axis> out,
                   std::optional<Dtype> dtype = none) {
  auto labels = [&](const std::vector<Axis>& axes) {
    Labels l;
    for (auto& a : axes) l.push_back(static_cast<std::size_t>(find_axis(all, a.name)));
    return l;
  };
  std::vector<Labels> in;
  for (auto& x : xs) in.push_back(labels(x.axes()));
  auto order = labels(out);
  return contracted(xs, in, order, std::move(out), dtype);
}
}  // namespace

namespace named_text {
namespace {
/// The names on one side of a text without order.
struct NamedSide {
  std::vector<AxisNames::One> names;  // with "..."
  std::vector<AxisNames::One> only() const {
    auto r = names;
    std::erase_if(r, [](auto& n) { return n.name == "..."; });
    return r;
  }
};
NamedSide named_side(const Expression& e, const TextSide& side, Words& words, const std::vector<Axis>& all) {
  NamedSide r;
  for (auto& c : side.captures) {
    if (c.dots) {
      r.names.emplace_back("...");
      continue;
    }
    if (c.group) e.error("einsum neither splits nor merges axes: no parentheses", c.column);
    auto name = words.name(c.name);
    auto p = find_axis(all, name);
    if (p < 0) e.error("no array has axis '" + name + "'; they have " + to_string(all), c.column);
    auto size = all[static_cast<std::size_t>(p)].size;
    if (auto* b = words.find(c.name); b && b->size >= 0 && b->size != size)
      e.error("axis '" + name + "' has size " + std::to_string(size) + ", bound is " + std::to_string(b->size),
              c.column);
    for (auto& n : r.names)
      if (n.name == name) e.error("axis '" + name + "' occurs multiple times", c.column);
    r.names.emplace_back(name);
  }
  return r;
}
NamedArray unordered(const Expression& e, const std::vector<NamedArray>& xs, Words& words) {
  auto all = axes_of_all("einsum", xs);
  auto left = named_side(e, e.left[0], words, all), right = named_side(e, e.right, words, all);
  bool output_only = e.left[0].ordered;  // "-> H W"
  words.check_used();
  AxisNames wanted(right.only());
  auto stays = all;
  if (!e.right.has_dots() && (output_only || e.left[0].has_dots())) stays = resolve_axes(all, wanted);
  else if (!output_only)
    std::erase_if(stays, [&](auto& a) {
      return selects_axis(AxisNames(left.only()), a) && !selects_axis(wanted, a);
    });
  auto order = right.names;
  if (!e.right.has_dots()) order.insert(order.begin(), AxisNames::One("..."));
  return by_axes(xs, all, rearrange_for_partial_order(AxisNames(order), stays));
}
NamedArray ordered(const Expression& e, const std::vector<NamedArray>& xs, Words& words) {
  check<ValueError>(e.left.size() == xs.size(), "einsum: '", e.text, "' names the axes of ", e.left.size(),
                    " arrays, which does not match the number of arrays, ", xs.size());
  auto all = axes_of_all("einsum", xs);
  // Words have labels behind those of the axes that stand under "...".
  std::vector<Axis> axes = all;
  std::map<std::string, std::size_t> label;
  std::vector<Labels> in;
  std::vector<Axis> under_dots;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    auto& side = e.left[i];
    if (!side.ordered) e.error("braces name the axes of all arrays: there can be only one pair", 0);
    for (auto& c : side.captures)
      if (c.group) e.error("einsum neither splits nor merges axes: no parentheses", c.column);
    auto places = by_position(e, side, xs[i].axes());
    Labels l(xs[i].axes().size(), kUnderDots);
    for (std::size_t k = 0; k < places.size(); ++k) {
      auto& c = side.captures[k];
      if (c.dots) continue;
      auto& axis = xs[i].axes()[static_cast<std::size_t>(places[k])];
      auto* b = words.find(c.name);
      if (b && ((b->size >= 0 && b->size != axis.size) || (b->axis && *b->axis != axis.name)))
        e.error("'" + c.name + "' is bound to another axis or size than " + axis.name + ":" + std::to_string(axis.size),
                c.column);
      auto [it, fresh] = label.emplace(c.name, axes.size());
      if (fresh) axes.push_back(axis);
      else if (axes[it->second] != axis)
        e.error("'" + c.name + "' stands for more than one axis, " + axes[it->second].name + " and " + axis.name,
                c.column);
      auto& mine = l[static_cast<std::size_t>(places[k])];
      mine = it->second;
    }
    for (std::size_t d = 0; d < l.size(); ++d)
      if (l[d] == kUnderDots) {
        auto& axis = xs[i].axes()[d];
        l[d] = static_cast<std::size_t>(find_axis(all, axis.name));
        if (find_axis(under_dots, axis.name) < 0) under_dots.push_back(axis);
      }
    in.push_back(l);
  }
  Labels out;
  std::vector<Axis> out_axes;
  bool dots = false;
  for (auto& c : e.right.captures) {
    if (c.group) e.error("einsum neither splits nor merges axes: no parentheses", c.column);
    if (c.dots) {
      if (dots) e.error("only one ... stands for axes by position", c.column);
      dots = true;
      for (auto& a : under_dots) {
        out.push_back(static_cast<std::size_t>(find_axis(all, a.name)));
        out_axes.push_back(a);
      }
      continue;
    }
    auto it = label.find(c.name);
    if (it == label.end()) e.error("'" + c.name + "' does not occur on the left", c.column);
    if (std::find(out.begin(), out.end(), it->second) != out.end())
      e.error("'" + c.name + "' occurs multiple times", c.column);
    out.push_back(it->second);
    out_axes.push_back(axes[it->second]);
  }
  words.check_used();
  return contracted(xs, in, out, out_axes);
}
}  // namespace
}  // namespace named_text

NamedArray dot(const std::vector<NamedArray>& xs, const ReduceAxes& axes, const NamedDotOptions& o) {
  auto all = axes_of_all("dot", xs);
  auto gone = axes.names().value_or(names_of(all));
  for (auto& g : gone) (void)require_axis("dot", all, g);
  auto out = without_axes(all, gone);
  if (o.out_axes) out = rearrange_for_partial_order(*o.out_axes, out);
  return by_axes(xs, all, out, o.dtype);
}
NamedArray einsum(std::string_view equation, const std::vector<NamedArray>& xs, const AxisBindings& bindings) {
  auto e = named_text::parse("einsum", equation);
  named_text::Words words("einsum", bindings);
  bool by_name = e.left.size() == 1 && (!e.left[0].ordered || e.left[0].captures.empty());
  return (by_name ? named_text::unordered : named_text::ordered)(e, xs, words);
}
}  // namespace bora
