// Solutions of equations, whose derivatives come from the equation and not from the steps that solved it.
#include "compile/api/control.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/product.h"
#include "bora/ops/transform.h"
#include "fx/call.h"
#include "fx/retrace.h"
#include "ops/api/support.h"

namespace bora::fx {
namespace {
/// v -> p(consts, v).
FlatFn applied(const ProgramPtr& p, const Arrays& consts) {
  return [p, consts](const Arrays& v) {
    auto a = consts;
    append(a, v);
    return call(ops::Call{p}, a);
  };
}
/// Brings functions staged over different consts to the same inputs: all consts, then the values.
struct Consts {
  Types types;
  /// s has the values, the first `known` consts, and its captures, which stand at `first` among the consts.
  ProgramPtr place(const Staged& s, std::size_t first, std::size_t known, std::size_t values) const {
    std::vector<int> order(types.size() + values, -1);
    auto all = types;
    auto in = s.program->in_types();
    for (std::size_t k = 0; k < known; ++k) order[k] = static_cast<int>(values + k);
    for (std::size_t k = 0; k < s.captures.size(); ++k) order[first + k] = static_cast<int>(values + known + k);
    for (std::size_t k = 0; k < values; ++k) {
      order[types.size() + k] = static_cast<int>(k);
      all.push_back(in[k]);
    }
    return rewired(s.program, order, all);
  }
};
void check_like(std::string_view what, const Types& got, const Types& want) {
  check<ShapeError>(got.size() == want.size(), what, " gives ", got.size(), " arrays where ", want.size(),
                    " are given");
  for (std::size_t k = 0; k < got.size(); ++k)
    check<ShapeError>(got[k] == want[k], what, " gives ", got[k], " for value ", k, ", which is ", want[k],
                      "; they must be equal");
}
}  // namespace

Arrays linear_solve_flat(const FlatFn& matvec, const Arrays& b, const LinearSolver& solve,
                         const LinearSolver& transposed, bool symmetric) {
  auto t = types_of(b);
  auto nb = b.size();
  for (auto& x : t) check<DtypeError>(is_inexact(x.dtype), "custom_linear_solve: b is ", x, ", which is not floating");
  auto a = stage(matvec, t);
  check_like("custom_linear_solve: matvec", a.program->out_types(), t);
  auto nc = a.captures.size();
  auto both = t;
  append(both, types_of(a.captures));
  std::vector<int> consts_first;
  for (std::size_t k = 0; k < nc + nb; ++k) consts_first.push_back(static_cast<int>(k < nc ? nb + k : k - nc));
  auto apply = [&](const ProgramPtr& p, const Arrays& b_and_consts) {
    return applied(rewired(p, consts_first), part(b_and_consts, nb, nc));
  };
  auto solved = [&](const LinearSolver& by, const ProgramPtr& p) {
    auto s = stage([&](const Arrays& x) { return by(apply(p, x), part(x, 0, nb)); }, both);
    check_like("custom_linear_solve: solve", s.program->out_types(), t);
    return s;
  };
  auto forward = solved(solve, a.program);
  Staged back, applied_back;
  if (transposed) {
    applied_back =
        stage([&](const Arrays& x) { return linear_transpose_flat(apply(a.program, x), t)(part(x, 0, nb)); }, both);
    check<TraceError>(applied_back.captures.empty(), "custom_linear_solve: the transposed matvec captured a value");
    back = solved(transposed, applied_back.program);
  }
  auto in = a.captures;
  append(in, forward.captures);
  auto behind = in.size();
  append(in, back.captures);
  Consts c{types_of(in)};
  Staged plain{a.program, {}};
  // a's own captures are the first consts
  ops::LinearSolve p{c.place(forward, nc, nc, nb), c.place(plain, 0, nc, nb), nullptr, nullptr,
                     static_cast<std::int64_t>(in.size())};
  if (symmetric) {
    p.transpose_solve = p.solve;
    p.transpose_matvec = p.matvec;
  } else if (transposed) {
    p.transpose_solve = c.place(back, behind, nc, nb);
    p.transpose_matvec = c.place(applied_back, 0, nc, nb);
  }
  append(in, b);
  return call(std::move(p), in);
}

Arrays root_flat(const FlatFn& f, const Arrays& guess, const LinearSolver& solve, const LinearSolver& tangent_solve) {
  auto t = types_of(guess);
  auto n = t.size();
  auto s = stage(f, t);
  check_like("custom_root: f", s.program->out_types(), t);
  for (auto& x : t) check<DtypeError>(is_inexact(x.dtype), "custom_root: the guess is ", x, ", which is not floating");
  auto m = s.captures.size();
  auto f_of = [&](const Arrays& consts) {
    return [p = s.program, consts](const Arrays& x) {
      auto a = x;
      append(a, consts);
      return call(ops::Call{p}, a);
    };
  };
  auto types = t;  // x, consts of f
  append(types, types_of(s.captures));
  auto solved = stage([&](const Arrays& a) { return solve(f_of(part(a, n, m)), part(a, 0, n)); }, types);
  check_like("custom_root: solve", solved.program->out_types(), t);
  auto with_rhs = types;
  append(with_rhs, t);
  auto tangent = stage(
      [&](const Arrays& a) {
        auto push = linearize_flat(f_of(part(a, n, m)), part(a, 0, n)).push;
        auto g = [&](const Arrays& dx) {
          auto y = push(dx);
          for (std::size_t k = 0; k < n; ++k) y[k] = or_zero(y[k], t[k]);
          return y;
        };
        return tangent_solve(g, part(a, n + m, n));
      },
      with_rhs);
  check_like("custom_root: tangent_solve", tangent.program->out_types(), t);
  auto in = guess;  // then the consts of f, of solve, of tangent_solve
  append(in, s.captures);
  append(in, solved.captures);
  append(in, tangent.captures);
  auto q = solved.captures.size(), r = tangent.captures.size(), all = in.size();
  auto inputs = types_of(in);
  Types rule_in = t;  // x, the inputs, the tangents of the floating ones
  append(rule_in, inputs);
  for (auto& x : inputs)
    if (is_inexact(x.dtype)) rule_in.push_back(x);
  auto rule = stage(
      [&](const Arrays& a) {
        auto x = part(a, 0, n), consts = part(a, 2 * n, m), dconsts = Arrays(m);
        auto at = n + all + n;  // after the guess's tangents
        for (std::size_t k = 0; k < m; ++k)
          if (is_inexact(consts[k].dtype())) dconsts[k] = a[at++];
        auto dy = linearize_flat([&](const Arrays& c) { return f_of(c)(x); }, consts).push(dconsts);
        auto b = x;
        append(b, consts);
        for (std::size_t k = 0; k < n; ++k) b.push_back(or_zero(dy[k], t[k]));
        append(b, part(a, 2 * n + m + q, r));
        Arrays out;
        for (auto& dx : call(ops::Call{tangent.program}, b)) out.push_back(-dx);
        return out;
      },
      rule_in);
  auto primal = stage([&](const Arrays& a) { return interpret(*solved.program, part(a, 0, n + m + q)); }, inputs);
  return call(ops::Root{primal.program, rule.program}, in);
}
}  // namespace bora::fx

namespace bora::ops {
using namespace fx;
/// d x = solve(A, d b - d A x): the pullback solves once with the transpose, which has a derivative of the same kind.
Linearized LinearSolve::linearize(const Arrays& in, const Mask& needs) const {
  auto x = call(*this, in);
  return {x, [self = *this, in, needs, x](const Arrays& ct) {
            check<TraceError>(self.transpose_solve != nullptr,
                              "custom_linear_solve: a derivative needs .transpose_solve, which solves with the "
                              "transposed matvec (or .symmetric = true)");
            auto n = static_cast<std::size_t>(self.consts);
            auto a = part(in, 0, n), consts = a;
            for (std::size_t k = 0; k < x.size(); ++k) a.push_back(or_zero(ct[k], x[k].type()));
            auto back =
                call(LinearSolve{self.transpose_solve, self.transpose_matvec, self.solve, self.matvec, self.consts}, a);
            Mask wrt(needs.begin(), needs.begin() + self.consts);
            Arrays g(n);
            if (std::find(wrt.begin(), wrt.end(), true) != wrt.end()) {
              Arrays negative;
              for (auto& y : back) negative.push_back(-y);
              g = vjp_flat(
                      [&](const Arrays& c) {
                        auto all = c;
                        append(all, x);
                        return call(Call{self.matvec}, all);
                      },
                      consts, wrt)
                      .pullback(negative);
            }
            append(g, back);
            return g;
          }};
}
Pushed LinearSolve::jvp(const Arrays& in, const Arrays& t) const {
  auto n = static_cast<std::size_t>(consts);
  auto x = call(*this, in), a = part(in, 0, n);
  auto moved = jvp_flat(
                   [&](const Arrays& c) {
                     auto all = c;
                     append(all, x);
                     return call(Call{matvec}, all);
                   },
                   a, part(t, 0, n))
                   .second;
  for (std::size_t k = 0; k < x.size(); ++k) {
    auto& db = t[n + k];
    auto b = moved[k].defined() ? -moved[k] : db;
    if (moved[k].defined() && db.defined()) b = accumulate(db, b);
    a.push_back(or_zero(b, x[k].type()));
  }
  return {x, call(*this, a)};
}
namespace {
/// Everything is mapped, as in CustomVjp.
ProgramPtr all_mapped(const ProgramPtr& p, const BatchRules& c) {
  return p ? batch_program(p, Mask(p->in.size(), true), c, Mask(p->out.size(), true)).program : nullptr;
}
std::vector<Mapped> call_mapped(const PrimitivePtr& p, const std::vector<Mapped>& in, const BatchRules& c) {
  Arrays x;
  for (auto& m : in) x.push_back(c.front(m));
  std::vector<Mapped> r;
  for (auto& y : call(p, x)) r.push_back({y, 0});
  return r;
}
}  // namespace
std::vector<Mapped> LinearSolve::batch(const std::vector<Mapped>& in, const BatchRules& c) const {
  return call_mapped(primitive(LinearSolve{all_mapped(solve, c), all_mapped(matvec, c), all_mapped(transpose_solve, c),
                                           all_mapped(transpose_matvec, c), consts}),
                     in, c);
}
SamplesOf<LinearSolve> LinearSolve::samples() {  // A = diag(d), so that the solution is plain
  Type t{{3}, f64};
  auto apply = stage([](const Arrays& a) { return Arrays{(a[0] + 3) * a[1]}; }, {t, t}).program;
  auto solve = stage([](const Arrays& a) { return Arrays{a[1] / (a[0] + 3)}; }, {t, t}).program;
  return {{{solve, apply, solve, apply, 1}, {random_values({3}, -1, 1, 1), random_values({3}, -1, 1, 2)}}};
}
/// x is the result of this primitive again, so that derivatives of higher order come from the equation too.
Linearized Root::linearize(const Arrays& in, const Mask& needs) const {
  auto x = call(*this, in);
  return {x, [rule = rule, in, needs, x](const Arrays& ct) {
            auto known = x;
            append(known, in);
            auto g = transpose_last(rule, known)(ct);
            Arrays r(in.size());
            for (std::size_t i = 0, k = 0; i < in.size(); ++i) {
              if (!is_inexact(in[i].dtype())) continue;
              if (needs[i]) r[i] = g[k];
              ++k;
            }
            return r;
          }};
}
Pushed Root::jvp(const Arrays& in, const Arrays& t) const {
  auto x = call(*this, in), a = x;
  append(a, in);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (is_inexact(in[i].dtype())) a.push_back(or_zero(t[i], in[i].type()));
  return {x, call(Call{rule}, a)};
}
std::vector<Mapped> Root::batch(const std::vector<Mapped>& in, const BatchRules& c) const {
  return call_mapped(primitive(Root{all_mapped(program, c), all_mapped(rule, c)}), in, c);
}
SamplesOf<Root> Root::samples() {  // the square root of 2 + a: x^2 = 2 + a
  Type t{{3}, f64};
  auto program = stage([](const Arrays& a) { return Arrays{sqrt(a[0] + 2)}; }, {t}).program;
  auto rule = stage([](const Arrays& a) { return Arrays{a[2] / (a[0] * 2)}; }, {t, t, t}).program;
  return {{{program, rule}, {random_values({3}, -1, 1, 1)}}};
}
}  // namespace bora::ops
