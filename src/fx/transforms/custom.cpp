#include "bora/fx/custom.h"
#include "bora/fx/custom_jvp.h"
#include "bora/ops/creation.h"
#include "fx/retrace.h"

namespace bora::fx {
void append_gradients(tree::Node argument, tree::Node gradient, Arrays& to) {
  auto g =
      tree::aligned("custom_vjp: bwd must return gradients with the structure of the arguments", argument, gradient);
  auto given = g.begin();
  for (auto& s : tree::slots(argument)) {
    if (!s.leaf.defined()) continue;
    auto& type = s.leaf.get().type();
    auto& x = *given++;
    if (!is_inexact(type.dtype)) continue;
    check<ShapeError>(
        !x.defined() || x.type() == type, "custom_vjp: bwd: the gradient of ", [&] { return where(s.path); },
        " has type ", [&] { return to_string(x.type()); }, " but the argument has ", type);
    to.push_back(or_zero(x, type));
  }
}
void append_zero_gradients(tree::Node argument, Arrays& to) {
  for (auto& s : tree::slots(argument))
    if (s.leaf.defined() && is_inexact(s.leaf.get().dtype())) to.push_back(full_of(s.leaf.get().type(), 0));
}
void append_tangents(tree::Node out, tree::Node given, Arrays& to) {
  auto t = tree::aligned("custom_jvp: the tangent must have the structure of the result", out, given);
  auto next = t.begin();
  for (auto& s : tree::slots(out)) {
    if (!s.leaf.defined()) continue;
    auto& type = s.leaf.get().type();
    auto& x = *next++;
    if (!is_inexact(type.dtype)) continue;
    check<ShapeError>(
        !x.defined() || x.type() == type, "custom_jvp: the tangent of ", [&] { return where(s.path); }, " has type ",
        [&] { return to_string(x.type()); }, " but the result has ", type);
    to.push_back(or_zero(x, type));
  }
}
Arrays spread_cotangents(tree::Node out, const Array* cotangents) {
  Arrays r;
  tree::append_leaves(out, r);
  for (auto& a : r) a = is_inexact(a.dtype()) ? *cotangents++ : Array();
  return r;
}
}  // namespace bora::fx
