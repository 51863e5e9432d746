// What the typed transforms share that needs no type of the user's: checks with paths, unrolling, bases.
#include <algorithm>
#include "bora/fx/checkpoint.h"
#include "bora/fx/control.h"
#include "bora/fx/custom.h"
#include "bora/fx/grad.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/shape.h"
#include "bora/ops/special.h"
#include "fx/split.h"

namespace bora {
namespace fx {
namespace {
/// The interpreter that owns it never exists, so that using it is an error everywhere but in a structure.
struct Abstract final : Value {
  explicit Abstract(const Type& t) : Value(t, ~std::uint64_t{0}) {}
  Array concrete() const override {
    fail<TraceError>("this Array of type ", type, " has a shape and a dtype but no numbers: it comes from eval_shape");
  }
};
}  // namespace

Array abstract_array(const Type& t) { return Array(std::make_shared<Abstract>(t)); }
void append_labels(tree::Node argument, std::size_t number, std::vector<std::string>& to) {
  auto from = to.size();
  tree::append_paths(argument, to);
  for (auto i = from; i < to.size(); ++i) {
    if (to[i].empty()) to[i] = "argument " + std::to_string(number);
    else if ('0' <= to[i][0] && to[i][0] <= '9') to[i] = "argument " + std::to_string(number) + ", " + to[i];
  }
}
void check_same(std::string_view what, tree::Node want, tree::Node got) {
  auto difference = tree::first_difference(want, got, tree::Same::types);
  check<ShapeError>(difference.empty(), what, ", but they differ: ", difference);
}

// ---- derivatives -------------------------------------------------------------------------------------------------------
VjpFlat vjp_of_loss(const FlatFn& f, const Arrays& in, std::size_t n) {
  Mask wrt(in.size());
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) any |= wrt[i] = is_float(in[i].dtype());
  check<DtypeError>(
      any, "grad: the first argument has no floating leaves to differentiate with respect to",
      n ? ": the first is " : "", [&] { return n ? to_string(in[0].type()) : std::string(); },
      "; use astype(f32), or another order of arguments");
  return vjp_flat(f, in, wrt);
}
Arrays gradients_of_loss(const VjpFlat& v, std::size_t n) {
  check<ShapeError>(!v.out.empty(), "grad: the loss is an empty Array");
  auto& type = v.out[0].type();
  check<ShapeError>(type.shape.empty(), "grad: the loss must be a scalar, got ", type, "; did you forget mean()?");
  check<DtypeError>(is_float(type.dtype), "grad: the loss must be floating, got ", type);
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
Arrays cotangents(tree::Node out, tree::Node given, const Types& types) {
  auto ct = tree::aligned("vjp: the cotangent must have the structure of f's result", out, given);
  for (std::size_t i = 0; i < ct.size(); ++i) {
    if (!is_float(types[i].dtype)) ct[i] = Array();
    else if (ct[i].defined()) check_tangent("vjp: cotangent", ct[i], types[i], i);
  }
  return ct;
}
Arrays tangents(tree::Node arguments, tree::Node given) {
  Arrays primals;
  tree::append_leaves(arguments, primals);
  auto t = tree::aligned("jvp: tangents must have the structure of the arguments", arguments, given);
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (!is_float(primals[i].dtype())) t[i] = Array();
    else if (t[i].defined()) check_tangent("jvp: tangent", t[i], primals[i].type(), i);
  }
  return t;
}
std::pair<Arrays, Arrays> jvp_shell(const FlatFn& f, const Arrays& primals, const Arrays& tangents) {
  auto r = jvp_flat(f, primals, tangents);
  for (std::size_t i = 0; i < r.first.size(); ++i)
    if (!r.second[i].defined() && is_float(r.first[i].dtype())) r.second[i] = zeros_like(r.first[i]);
  return r;
}
Array basis_of(const Type& t) {
  check<DtypeError>(is_float(t.dtype), "a Jacobian needs floating values, got ", t);
  auto n = t.size();
  Shape s{n};
  s.append(t.shape);
  return reshape(equal(iota({n, n}, 0), iota({n, n}, 1)).astype(t.dtype), s);
}
Array as_jacobian(const Array& rows, const Shape& out, const Shape& in) {
  Shape s = out;
  s.append(in);
  return reshape(rows, s);
}

// ---- vmap --------------------------------------------------------------------------------------------------------------
namespace {
std::optional<std::int64_t> axis_at(const MapAxis& m, const std::string& path, std::string_view what) {
  if (!m.rules) return m.axis;
  for (auto& [pattern, axis] : m.rules->rules)
    if (tree::matches(pattern, path)) return axis;
  fail<ValueError>("vmap: no pattern of .", what, " fits ", where(path), "; end the list with {\"*\", none}");
}
}  // namespace
Arrays vmap_shell(const FlatFn& f, const std::function<std::vector<std::string>()>& out_paths,
                  const std::vector<tree::Node>& arguments, const Vmap& how) {
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
  flat.out = {how.out.axis};
  auto ran = [&](const Arrays& x) {
    auto y = f(x);
    if (how.out.rules) {  // the paths of the results are known once f has run
      flat.out.clear();
      for (auto& path : out_paths()) flat.out.push_back(axis_at(how.out, path, "out"));
    }
    return y;
  };
  return vmap_flat(ran, in, flat);
}

// ---- control -----------------------------------------------------------------------------------------------------------
namespace {
/// Runs body `n` times on elements first, first +- 1, .. of xs; ys of each element, in order of the elements.
Arrays straight_line(const FlatFn& body, const Arrays& init, const Arrays& xs, std::int64_t n, bool reverse) {
  auto c = init.size();
  Arrays carry = init;
  std::vector<Arrays> ys(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    auto i = reverse ? n - 1 - k : k;
    Arrays in = carry;
    for (auto& x : xs) in.push_back(index_in_dim(x, 0, i));
    auto r = body(in);
    carry = part(r, 0, c);
    ys[static_cast<std::size_t>(i)] = part(r, c, r.size() - c);
  }
  for (std::size_t j = 0; n > 0 && j < ys[0].size(); ++j) {
    Arrays column;
    for (auto& row : ys) column.push_back(row[j]);
    carry.push_back(stack(column, 0));
  }
  return carry;
}
/// `unroll` iterations a round: the loop runs over groups of elements; what is left over comes where the order puts it.
Arrays unrolled(const FlatFn& body, const Arrays& init, const Arrays& xs, std::int64_t n, const Scan& o,
                const std::vector<std::string>& labels) {
  auto c = init.size();
  auto u = static_cast<std::int64_t>(o.unroll), rounds = n / u, rest = n % u;
  auto range = [&](std::int64_t from, std::int64_t to) {
    Arrays r;
    for (auto& x : xs) r.push_back(slice_in_dim(x, 0, from, to));
    return r;
  };
  Arrays carry = init, tail;
  auto leftover = [&] {
    auto r = straight_line(body, carry, range(n - rest, n), rest, o.reverse);
    carry = part(r, 0, c);
    tail = part(r, c, r.size() - c);
  };
  if (rest && o.reverse) leftover();
  Arrays groups = range(0, n - rest);
  for (auto& x : groups) {
    auto s = x.shape();
    s[0] = u;
    s.insert(0, rounds);
    x = reshape(x, s);
  }
  auto group = [&](const Arrays& in) {
    return straight_line(body, part(in, 0, c), part(in, c, in.size() - c), u, o.reverse);
  };
  auto r = scan_flat(group, carry, groups, rounds, o.reverse, labels);
  carry = part(r, 0, c);
  Arrays ys = part(r, c, r.size() - c);
  for (auto& y : ys) {
    auto s = y.shape();
    s.erase(0);
    s[0] = rounds * u;
    y = reshape(y, s);
  }
  if (rest && !o.reverse) leftover();
  for (std::size_t j = 0; j < ys.size(); ++j) carry.push_back(rest ? concatenate({ys[j], tail[j]}, 0) : ys[j]);
  return carry;
}
}  // namespace
Arrays scan_shell(const FlatFn& body, const Arrays& init, const Arrays& xs, const std::vector<std::string>& labels,
                  const Scan& o) {
  check<ValueError>(o.unroll >= 1, "scan: .unroll must be at least 1, got ", o.unroll);
  check<ValueError>(!xs.empty() || o.length,
                    "scan: there is nothing to scan over: xs has no leaves and .length is not given");
  std::int64_t n = o.length.value_or(-1);
  check<ValueError>(n >= 0 || !o.length, "scan: .length must not be negative, got ", n);
  for (std::size_t k = 0; k < xs.size(); ++k) {
    auto& name = labels[init.size() + k];
    check<ShapeError>(
        xs[k].ndim() > 0, "scan: ", [&] { return where(name); }, " of xs is a scalar ", xs[k].type(),
        ": it has no leading axis to scan over");
    check<ShapeError>(
        n < 0 || xs[k].shape(0) == n, "scan: ", [&] { return where(name); }, " of xs has ", xs[k].shape(0),
        " elements on its leading axis, but ", o.length ? ".length says " : "the others have ", n);
    n = xs[k].shape(0);
  }
  if (o.unroll == 1 || n == 0) return scan_flat(body, init, xs, n, o.reverse, labels);
  return o.unroll >= n ? straight_line(body, init, xs, n, o.reverse) : unrolled(body, init, xs, n, o, labels);
}
Arrays cond_shell(const Array& predicate, const FlatFn& on_true, const FlatFn& on_false, const Arrays& operands) {
  check<ShapeError>(predicate.ndim() == 0, "cond: the predicate must be a scalar, got ", predicate.type(),
                    "; use where(c, a, b) to choose element by element");
  check<DtypeError>(is_numeric(predicate.dtype()), "cond: the predicate must be a boolean or a number, got ",
                    predicate.type());
  return cond_flat(predicate.dtype() == boolean ? predicate : not_equal(predicate, 0), on_true, on_false, operands);
}
Arrays while_shell(const FlatFn& condition, const FlatFn& body, const Arrays& init) {
  auto checked = [&](const Arrays& in) {
    auto r = condition(in);
    check<ShapeError>(r.size() == 1 && r[0].ndim() == 0 && r[0].dtype() == boolean,
                      "while_loop: the condition must give a boolean scalar, got ",
                      [&] { return r.empty() ? std::string("an empty Array") : to_string(r[0].type()); });
    return r;
  };
  return while_flat(checked, body, init);
}
Arrays fori_shell(const LoopBound& lower, const LoopBound& upper, const FlatFn& body, const Arrays& init,
                  const std::vector<std::string>& labels) {
  if (lower.n && upper.n) {
    auto n = *upper.n - *lower.n;
    if (n <= 0) return init;
    auto i = add(iota({n}, 0), Scalar(*lower.n));
    auto swapped = [&](const Arrays& in) {  // (carry.., i) -> body(i, carry..)
      Arrays a{in.back()};
      append(a, part(in, 0, in.size() - 1));
      return body(a);
    };
    return scan_flat(swapped, init, {i}, n, false, labels);
  }
  auto bound = [](const LoopBound& b, std::string_view which) {
    if (b.n) return constant(Scalar(*b.n), i32);
    check<ShapeError>(b.a.ndim() == 0 && is_integer(b.a.dtype()), "fori_loop: the ", which,
                      " bound must be an integer scalar, got ", b.a.type());
    return b.a.astype(i32);
  };
  Arrays state{bound(lower, "lower"), bound(upper, "upper")};
  append(state, init);
  auto more = [](const Arrays& in) { return Arrays{less(in[0], in[1])}; };
  auto next = [&](const Arrays& in) {
    Arrays a{in[0]};
    append(a, part(in, 2, in.size() - 2));
    Arrays r{add(in[0], Scalar(1)), in[1]};
    append(r, body(a));
    return r;
  };
  auto r = while_flat(more, next, state);
  return part(r, 2, r.size() - 2);
}

// ---- custom_vjp --------------------------------------------------------------------------------------------------------
void append_gradients(tree::Node argument, tree::Node gradient, Arrays& to) {
  auto g =
      tree::aligned("custom_vjp: bwd must return gradients with the structure of the arguments", argument, gradient);
  auto given = g.begin();
  for (auto& s : tree::slots(argument)) {
    if (!s.leaf.defined()) continue;
    auto& type = s.leaf.get().type();
    auto& x = *given++;
    if (!is_float(type.dtype)) continue;
    check<ShapeError>(
        !x.defined() || x.type() == type, "custom_vjp: bwd: the gradient of ", [&] { return where(s.path); },
        " has type ", [&] { return to_string(x.type()); }, " but the argument has ", type);
    to.push_back(or_zero(x, type));
  }
}
void append_zero_gradients(tree::Node argument, Arrays& to) {
  for (auto& s : tree::slots(argument))
    if (s.leaf.defined() && is_float(s.leaf.get().dtype())) to.push_back(full_of(s.leaf.get().type(), 0));
}
Arrays spread_cotangents(tree::Node out, const Array* cotangents) {
  Arrays r;
  tree::append_leaves(out, r);
  for (auto& a : r) a = is_float(a.dtype()) ? *cotangents++ : Array();
  return r;
}
}  // namespace fx

// ---- policies of checkpoint --------------------------------------------------------------------------------------------
namespace remat {
namespace {
constexpr std::string_view kPolicies[] = {"nothing", "dots", "dots_no_batch", "everything"};
}
std::string to_string(const Policy& p) {
  if (p.keep != ops::Keep::names) return std::string(kPolicies[static_cast<std::size_t>(p.keep)]);
  std::string s = "names(";
  for (std::size_t i = 0; i < p.names.size(); ++i) s += (i ? ", " : "") + p.names[i];
  return s + ")";
}
Policy parse(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kPolicies); ++i)
    if (text == kPolicies[i]) return {static_cast<ops::Keep>(i)};
  check<ConfigError>(text.starts_with("names(") && text.ends_with(")"), "checkpoint policy: '", text,
                     "' is none of nothing, dots, dots_no_batch, everything, names(a, b)");
  Policy p{ops::Keep::names};
  std::string name;
  for (char c : text.substr(6)) {
    if (c != ',' && c != ')') {
      if (c != ' ') name += c;
      continue;
    }
    if (!name.empty()) p.names.push_back(name);
    name.clear();
  }
  return p;
}
}  // namespace remat
}  // namespace bora
