#include "bora/fx/argnums.h"
#include "bora/ops/creation.h"
#include "fx/retrace.h"

namespace bora::fx {
VjpFlat vjp_of_loss(const FlatFn& f, const Arrays& in, std::size_t n, const GradOptions& options) {
  Mask wrt(in.size());
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) any |= wrt[i] = is_inexact(in[i].dtype());
  check<DtypeError>(
      any, "grad: the first argument has no floating leaves to differentiate with respect to",
      n ? ": the first is " : "", [&] { return n ? to_string(in[0].type()) : std::string(); },
      "; use astype(f32), or another order of arguments");
  for (std::size_t i = 0; i < n; ++i)
    if (options.holomorphic && wrt[i]) check_holomorphic("grad", "arguments", in[i].type());
  return vjp_flat(f, in, wrt);
}
Arrays gradients_of_loss(const VjpFlat& v, std::size_t n, const GradOptions& options) {
  check<ShapeError>(!v.out.empty(), "grad: the loss is an empty Array");
  auto& type = v.out[0].type();
  check<ShapeError>(type.shape.empty(), "grad: the loss must be a scalar, got ", type, "; did you forget mean()?");
  if (options.holomorphic) check_holomorphic("grad", "results", type);
  else {
    check<DtypeError>(!is_complex(type.dtype), "grad: the loss must be real, got ", type,
                      "; take real() or abs() of it, or vjp() with a cotangent of your own; the derivative of a ",
                      "holomorphic function is grad(f, {.holomorphic = true})");
    check<DtypeError>(is_float(type.dtype), "grad: the loss must be floating, got ", type);
  }
  Arrays ct(v.out.size());
  ct[0] = ones_like(v.out[0]);
  auto g = v.pullback(ct);
  g.resize(n);
  return g;
}
namespace {
void check_tangent(std::string_view what, const Array& given, const Type& want, std::size_t i) {
  check<ShapeError>(given.type() == want, what, ": value ", i, " has type ", want, " but is given ", given.type(),
                    "; they must be equal");
}
}  // namespace
Arrays cotangents(tree::Node out, tree::Node given, const Types& types, std::string_view what) {
  auto ct = tree::aligned(std::string(what) + ": the cotangent must have the structure of f's result", out, given);
  for (std::size_t i = 0; i < ct.size(); ++i) {
    if (!is_inexact(types[i].dtype)) ct[i] = Array();
    else if (ct[i].defined()) check_tangent(std::string(what) + ": cotangent", ct[i], types[i], i);
  }
  return ct;
}
Arrays tangents(tree::Node arguments, tree::Node given, std::string_view what) {
  Arrays primals;
  tree::append_leaves(arguments, primals);
  auto t = tree::aligned(std::string(what) + ": tangents must have the structure of the arguments", arguments, given);
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (!is_inexact(primals[i].dtype())) t[i] = Array();
    else if (t[i].defined()) check_tangent(std::string(what) + ": tangent", t[i], primals[i].type(), i);
  }
  return t;
}
std::pair<Arrays, Arrays> jvp_shell(const FlatFn& f, const Arrays& primals, const Arrays& tangents) {
  auto r = jvp_flat(f, primals, tangents);
  for (std::size_t i = 0; i < r.first.size(); ++i)
    if (!r.second[i].defined() && is_inexact(r.first[i].dtype())) r.second[i] = zeros_like(r.first[i]);
  return r;
}
Arrays pushed(const std::function<Arrays(const Arrays&)>& push, const Arrays& tangents, const Types& out) {
  auto d = push(tangents);
  d.resize(out.size());
  for (std::size_t k = 0; k < d.size(); ++k)
    if (!d[k].defined() && is_inexact(out[k].dtype)) d[k] = full_of(out[k], 0);
  return d;
}
void check_chosen(std::initializer_list<std::pair<int, tree::Node>> chosen) {
  std::string names;
  for (auto& [number, node] : chosen) {
    Arrays leaves;
    tree::append_leaves(node, leaves);
    for (auto& a : leaves)
      if (is_inexact(a.dtype())) return;
    names += (names.empty() ? "" : ", ") + std::to_string(number) +
             (leaves.empty() ? "" : " (" + to_string(leaves[0].type()) + ")");
  }
  fail<DtypeError>("argnums: no floating leaves to differentiate with respect to in argument ", names,
                   "; use astype(f32), or other numbers");
}
}  // namespace bora::fx
