// Cond and While under Tape and Batch.
#include "compile/api/control.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "fx/call.h"
#include "ops/api/support.h"
#include "bora/ops/ufuncs.h"

namespace bora::fx {
Arrays cond_flat(const Array& pred, const FlatFn& t, const FlatFn& f, const Arrays& operands) {
  check<ShapeError>(pred.ndim() == 0, "cond: Pred must be a scalar, got ", pred.type());
  Arrays captures;
  auto [p, q] = stage_both(t, f, types_of(operands), captures);
  Arrays in{pred.dtype() == Dtype::boolean ? pred : pred != 0};
  append(in, operands);
  append(in, captures);
  return call(ops::Cond{p, q}, in);
}
Arrays while_flat(const FlatFn& cond, const FlatFn& body, const Arrays& init) {
  auto types = types_of(init);
  auto consts_first = [&](const Staged& s) {
    std::vector<int> order;
    for (std::size_t i = 0; i < s.captures.size(); ++i) order.push_back(static_cast<int>(init.size() + i));
    for (std::size_t i = 0; i < init.size(); ++i) order.push_back(static_cast<int>(i));
    return rewired(s.program, order);
  };
  auto c = stage(cond, types), b = stage(body, types);
  Arrays in = c.captures;
  append(in, b.captures);
  append(in, init);
  return call(ops::While{consts_first(c), consts_first(b), static_cast<std::int64_t>(c.captures.size()),
                         static_cast<std::int64_t>(b.captures.size())},
              in);
}
}  // namespace bora::fx

namespace bora::ops {
using namespace fx;
namespace {
/// Refuses Programs with an io_callback where they would run again, or for values that are not there.
void refuse_io(std::string_view what, std::initializer_list<ProgramPtr> programs) {
  for (auto& p : programs)
    check<TraceError>(count(*p, "io_callback") == 0, what, ": it holds an io_callback, which runs once and in order; ",
                      "call it outside, or use pure_callback or debug::callback");
}
Array spread_over(const Array& condition, const Array& like) {
  return broadcast_in_dim(condition, like.shape(), range_of(condition.ndim()));
}
}  // namespace

/// Saves the operands only; the backward pass repeats the taken branch, with its checks.
Linearized Cond::linearize(const Arrays& in, const Mask& needs) const {
  refuse_io("a derivative of cond repeats the taken branch", {on_true, on_false});
  Mask wrt(needs.begin() + 1, needs.end());
  return {call(*this, in), [self = *this, in, wrt](const Arrays& ct) {
            auto types = self.on_true->out_types();
            auto operands = part(in, 1, in.size() - 1);
            std::vector<std::size_t> wanted, live;
            for (std::size_t i = 0; i < operands.size(); ++i)
              if (wrt[i] && is_inexact(operands[i].dtype())) wanted.push_back(i);
            for (std::size_t k = 0; k < ct.size(); ++k)
              if (is_inexact(types[k].dtype)) live.push_back(k);
            Arrays a{in[0]};
            append(a, operands);
            for (auto k : live) a.push_back(or_zero(ct[k], types[k]));
            auto branch = [&](const ProgramPtr& p) {
              const auto kept = split_vjp(p, wrt, {.keep = Saveable::nothing, .repeat_effects = true});
              const auto& s = *kept;
              return stage(
                         [&](const Arrays& b) {
                           auto r = residuals(s, b, {});
                           for (int o : s.ct) {
                             auto k = static_cast<std::size_t>(
                                 std::find(live.begin(), live.end(), static_cast<std::size_t>(o)) - live.begin());
                             r.push_back(b[operands.size() + k]);
                           }
                           auto g = spread(s, s.grad.empty() ? Arrays{} : interpret(*s.bwd, r), operands.size());
                           Arrays out;
                           for (auto i : wanted) out.push_back(or_zero(g[i], operands[i].type()));
                           return out;
                         },
                         types_of(part(a, 1, a.size() - 1)))
                  .program;
            };
            auto r = call(Cond{branch(self.on_true), branch(self.on_false)}, a);
            Arrays g(in.size());
            for (std::size_t k = 0; k < wanted.size(); ++k) g[wanted[k] + 1] = r[k];
            return g;
          }};
}
Pushed Cond::jvp(const Arrays& in, const Arrays& t) const {
  Mask m;
  for (std::size_t i = 1; i < t.size(); ++i) m.push_back(t[i].defined());
  auto moved = jvp_program(on_true, m).out;
  const auto other = jvp_program(on_false, m).out;
  for (std::size_t k = 0; k < moved.size(); ++k) moved[k] = moved[k] || other[k];
  auto a = in;
  append(a, only_defined(t));
  return pushed(moved,
                call(Cond{jvp_program(on_true, m, moved).program, jvp_program(on_false, m, moved).program}, a));
}
std::vector<Mapped> Cond::batch(const std::vector<Mapped>& in, const BatchRules& c) const {
  Mask m;
  Arrays x;
  for (auto& i : in) {
    m.push_back(i.axis >= 0);
    x.push_back(mapped_front(i, c, false).value);
  }
  Mask ops(m.begin() + 1, m.end());
  std::vector<Mapped> r;
  if (!m[0]) {
    auto out = batch_program(on_true, ops, c).out;
    const auto other = batch_program(on_false, ops, c).out;
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = out[k] || other[k];
    auto t = batch_program(on_true, ops, c, out).program, f = batch_program(on_false, ops, c, out).program;
    for (auto& y : call(Cond{t, f}, x)) r.push_back({y, out[r.size()] ? 0 : -1});
    return r;
  }
  const Mask all(on_true->out.size(), true);
  refuse_io("vmap of cond with a mapped predicate runs both branches", {on_true, on_false});
  // A mapped predicate: both branches run. An operand enters a branch with its derivative stopped in the lanes that do
  // not take it, so that an infinite or undefined derivative of the untaken branch cannot leak (0 * inf).
  auto side = [&](const ProgramPtr& p, const Array& taken) {
    Arrays o = part(x, 1, x.size() - 1);
    Mask mapped = ops;
    for (std::size_t i = 0; i < o.size(); ++i) {
      if (!is_inexact(o[i].dtype())) continue;
      if (!mapped[i]) o[i] = c.front({o[i], -1});
      mapped[i] = true;
      o[i] = select(spread_over(taken, o[i]), o[i], stop_gradient(o[i]));
    }
    return interpret(*batch_program(p, mapped, c, all).program, o);
  };
  auto a = side(on_true, x[0]), b = side(on_false, !x[0]);
  for (std::size_t k = 0; k < a.size(); ++k) r.push_back({select(spread_over(x[0], a[k]), a[k], b[k]), 0});
  return r;
}
SamplesOf<Cond> Cond::samples() {
  Type t{{2, 3}, f64};
  auto a = stage([](const Arrays&x) { return Arrays{exp(x[0])}; }, {t}).program,
       b = stage([](const Arrays&x) { return Arrays{x[0] * x[0]}; }, {t}).program;
  return {{{a, b}, {values({}, {1}, boolean), random_values({2, 3}, -1, 1, 1)}},
          {{a, b}, {values({}, {0}, boolean), random_values({2, 3}, -1, 1, 1)}}};
}

/// The loop carries tangents too; the condition does not see them.
Pushed While::jvp(const Arrays& in, const Arrays& t) const {
  auto cc = static_cast<std::size_t>(cond_consts), bc = static_cast<std::size_t>(body_consts), first = cc + bc;
  auto carries = in.size() - first;
  Mask m;  // of the body's inputs
  for (std::size_t i = cc; i < t.size(); ++i) m.push_back(t[i].defined());
  const auto q = reached(body, m, bc, carries);
  auto consts = part(t, cc, bc), carry = part(in, first, carries), moving = only_defined(consts);
  auto types = types_of(carry);
  std::vector<int> order, cond_order;  // consts, their tangents, carry, its tangents
  auto n = static_cast<int>(bc + carries);
  auto tangents = n + static_cast<int>(moving.size());
  for (int i = 0; i < static_cast<int>(bc); ++i) order.push_back(i);
  for (int i = n; i < tangents; ++i) order.push_back(i);
  for (int i = static_cast<int>(bc); i < n; ++i) order.push_back(i);
  for (int i = 0; i < static_cast<int>(cc + carries); ++i) cond_order.push_back(i);
  Types cond_types(cond_order.size());
  auto a = part(in, 0, first);
  append(a, moving);
  append(a, carry);
  for (std::size_t i = 0; i < carries; ++i) {
    if (!m[bc + i]) continue;
    order.push_back(tangents++);
    cond_order.push_back(-1);
    cond_types.push_back(types[i]);
    a.push_back(or_zero(t[first + i], types[i]));
  }
  return pushed(q.out, call(While{rewired(cond, cond_order, cond_types), rewired(q.program, order), cond_consts,
                                   body_consts + static_cast<std::int64_t>(moving.size()), lanes},
                             a));
}
/// Only what depends on something mapped is mapped. Where the condition does not, all lanes run the same rounds; else
/// lanes that have finished keep their value, and the loop runs while any lane does.
std::vector<Mapped> While::batch(const std::vector<Mapped>& in, const BatchRules& c) const {
  auto cc = static_cast<std::size_t>(cond_consts), bc = static_cast<std::size_t>(body_consts), first = cc + bc;
  Mask m;
  for (auto& i : in) m.push_back(i.axis >= 0);
  auto without = [&](const auto& all, std::size_t from, std::size_t n) {  // n inputs that only the other program has
    auto r = all;
    r.erase(r.begin() + static_cast<std::ptrdiff_t>(from), r.begin() + static_cast<std::ptrdiff_t>(from + n));
    return r;
  };
  BatchedProgram p, q;
  for (bool changed = true; changed;) {  // which carries become mapped is a fixed point
    changed = false;
    p = batch_program(cond, without(m, cc, bc), c);
    q = batch_program(body, without(m, 0, cc), c, without(m, 0, first));
    for (std::size_t k = 0; k < q.out.size(); ++k)
      if ((q.out[k] || p.out[0]) && !m[first + k]) m[first + k] = changed = true;
  }
  Arrays x;
  for (std::size_t i = 0; i < in.size(); ++i) x.push_back(mapped_front(in[i], c, m[i]).value);
  auto results = [&](const While& loop, const Arrays& a) {
    std::vector<Mapped> r;
    for (auto& y : call(loop, a)) r.push_back({y, m[first + r.size()] ? 0 : -1});
    return r;
  };
  if (!p.out[0]) return results({p.program, q.program, cond_consts, body_consts, lanes}, x);
  refuse_io("vmap of while_loop runs rounds for lanes that have ended", {cond, body});
  auto any_lane =
      stage([&](const Arrays& a) { return Arrays{any(interpret(*p.program, a)[0])}; }, p.program->in_types()).program;
  auto step = stage(
                  [&](const Arrays& a) {  // a: cond consts, body consts, carry
                    auto carry = without(a, 0, first);
                    auto on = interpret(*p.program, without(a, cc, bc))[0];
                    auto next = interpret(*q.program, without(a, 0, cc));
                    for (std::size_t k = 0; k < next.size(); ++k)
                      next[k] = select(spread_over(on, next[k]), next[k], carry[k]);
                    return next;
                  },
                  types_of(x))
                  .program;
  auto again = part(x, 0, cc);
  append(again, x);
  return results({any_lane, step, cond_consts, cond_consts + body_consts, true}, again);
}
SamplesOf<While> While::samples() {
  Type i{{}, i32}, t{{3}, f64};
  auto c = stage([](const Arrays& a) { return Arrays{a[0] < 4}; }, {i, t}).program;
  auto b = stage([](const Arrays& a) { return Arrays{a[0] + 1, a[1] * 1.5 + 0.25}; }, {i, t}).program;
  auto below = stage([](const Arrays& a) { return Arrays{a[1] < a[0]}; }, {i, i, t}).program;  // constants of each
  auto bent = stage([](const Arrays& a) { return Arrays{a[1] + 1, tanh(a[2]) * a[0]}; }, {t, i, t}).program;
  return {{{c, b, 0, 0}, {values({}, {1}, i32), random_values({3}, -1, 1, 1)}},
          {{below, bent, 1, 1},
           {values({}, {4}, i32), random_values({3}, 1, 2, 2), values({}, {1}, i32), random_values({3}, -1, 1, 1)}}};
}
}  // namespace bora::ops
