// Call and CustomVjp under Tape and Batch; jit, checkpoint, custom_vjp on flat lists.
#include <algorithm>
#include "bora/fx/checkpoint.h"
#include "compile/api/control.h"
#include "bora/ops/contractions.h"
#include "bora/ops/reductions.h"
#include "ops/api/primitives.h"
#include "fx/call.h"
#include "fx/retrace.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/support.h"

namespace bora::fx {
ProgramPtr rewired(const ProgramPtr& p, const std::vector<int>& order, const Types& extra) {
  auto q = std::make_shared<Program>(*p);
  q->in.clear();
  q->labels.clear();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= 0) {
      auto k = static_cast<std::size_t>(order[i]);
      q->in.push_back(p->in[k]);
      q->labels.push_back(k < p->labels.size() ? p->labels[k] : std::string());
    } else {
      q->in.push_back(static_cast<int>(q->vars.size()));
      q->vars.push_back(extra[i]);
      q->labels.emplace_back();
    }
  }
  return q;
}
Mapped mapped_front(const Mapped& m, const BatchRules& b, bool mapped) {
  return mapped || m.axis >= 0 ? Mapped{b.front(m), 0} : m;
}

Arrays residuals(const Split& s, const Arrays& in, const Arrays& extra) {
  Arrays r;
  std::size_t k = 0;
  for (int i : s.residual) r.push_back(i >= 0 ? in[static_cast<std::size_t>(i)] : extra.at(k++));
  return r;
}
Arrays cotangents(const Split& s, const Arrays& ct, const Types& out) {
  Arrays r;
  for (int i : s.ct) r.push_back(or_zero(ct[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(i)]));
  return r;
}
Arrays spread(const Split& s, const Arrays& grads, std::size_t inputs) {
  Arrays g(inputs);
  for (std::size_t k = 0; k < s.grad.size(); ++k) g[static_cast<std::size_t>(s.grad[k])] = grads[k];
  return g;
}
std::pair<ProgramPtr, ProgramPtr> stage_both(const FlatFn& f, const FlatFn& g, const Types& t, Arrays& captures) {
  auto a = stage(f, t), b = stage(g, t);
  captures = a.captures;
  append(captures, b.captures);
  Types all = t;
  for (auto& c : captures) all.push_back(c.type());
  std::vector<int> oa, ob;
  auto n = t.size(), m = a.captures.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    oa.push_back(i < n + m ? static_cast<int>(i) : -1);
    ob.push_back(i < n ? static_cast<int>(i) : i < n + m ? -1 : static_cast<int>(i - m));
  }
  return {rewired(a.program, oa, all), rewired(b.program, ob, all)};
}

Arrays run_jit(const ProgramPtr& p, Arrays in, const Mask& donated) {
  ops::Call c{p};
  c.donated = donated;
  return call(std::move(c), in);
}
namespace {
void add_names(const Program& p, std::vector<std::string>& names) {
  for (auto& i : p.code) {
    if (auto* name = ops::checkpoint_name_of(*i.primitive)) names.push_back(*name);
    for (auto& held : i.primitive->programs()) add_names(*held, names);
  }
}
/// Throws for a name of the policy that no value has.
void check_names(const Program& p, Saveable keep, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  std::vector<std::string> known;
  add_names(p, known);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (auto& name : wanted) {
    if (std::binary_search(known.begin(), known.end(), name)) continue;
    std::string all;
    for (auto& k : known) all += (all.empty() ? "" : ", ") + k;
    fail<ConfigError>("checkpoint: the policy ", remat::to_string({keep, wanted}), " lists '", name,
                      "', but no value of the function has that name",
                      all.empty() ? "; give it one with checkpoint_name(x, name)" : "; there are: " + all);
  }
}
}  // namespace
Arrays checkpoint_flat(const FlatFn& f, const Arrays& in, Saveable keep, const std::vector<std::string>& names) {
  auto* outer = nearest<Stage>();
  std::vector<std::string> labels;  // errors inside use the arguments' outer names
  for (auto a : in) {
    while (auto* primal = a.get()->primal_value()) a = Array(*primal);
    labels.push_back(outer && outer->owns(a) ? outer->scope(a) : std::string());
  }
  auto s = stage(f, types_of(in), labels);
  check_names(*s.program, keep, names);
  auto all = in;
  append(all, s.captures);
  return call(ops::Call{s.program, keep, names}, all);
}
Types floating(Types t) {
  std::erase_if(t, [](auto& x) { return !is_inexact(x.dtype); });
  return t;
}
Arrays custom_vjp_flat(const FlatFn& f, const FlatFn& fwd, const FlatFn& bwd, const Arrays& in) {
  Arrays captures;
  auto [p, q] = stage_both(f, fwd, types_of(in), captures);
  auto outs = p->out_types(), t = q->out_types();
  check<ShapeError>(t.size() >= outs.size(), "custom_vjp: fwd must return pair{f's result, residuals}");
  for (std::size_t k = 0; k < outs.size(); ++k)
    check<ShapeError>(t[k] == outs[k], "custom_vjp: result ", k, " is ", outs[k], " from f and ", t[k], " from fwd");
  t.erase(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(outs.size()));
  append(t, floating(outs));
  auto b = stage(bwd, t);
  for (auto& a : b.captures) {
    auto* owner = current();
    while (owner && owner->id != a.owner()) owner = owner->parent;
    check<TraceError>(owner, "custom_vjp: bwd uses a value of fwd, or of another function that has ended, ", a.type(),
                      "; return it from fwd as a residual");
  }
  if (auto n = b.captures.size()) {  // bwd's captures: inputs that fwd hands on as residuals
    auto append_inputs = [&](ProgramPtr& program) {
      std::vector<int> order;
      auto types = program->in_types();
      for (std::size_t i = 0; i < types.size() + n; ++i) order.push_back(i < types.size() ? static_cast<int>(i) : -1);
      append(types, types_of(b.captures));
      program = rewired(program, order, types);
    };
    append_inputs(p);
    append_inputs(q);
    auto with_residuals = std::make_shared<Program>(*q);
    with_residuals->out.insert(with_residuals->out.end(), q->in.end() - static_cast<std::ptrdiff_t>(n), q->in.end());
    q = with_residuals;
    std::vector<int> order;  // bwd: residuals, captures, cotangents
    auto residuals = q->out.size() - n - outs.size(), all = b.program->in.size();
    for (std::size_t i = 0; i < all; ++i) {
      auto from = i < residuals ? i : i < residuals + n ? all - n + i - residuals : i - n;
      order.push_back(static_cast<int>(from));
    }
    b.program = rewired(b.program, order);
    append(captures, b.captures);
  }
  auto grads = b.program->out_types(), want = floating(types_of(in));
  check<ShapeError>(grads.size() == want.size(), "custom_vjp: bwd must return one gradient for each of the ",
                    want.size(), " floating input leaves, got ", grads.size());
  for (std::size_t k = 0; k < want.size(); ++k)
    check<ShapeError>(grads[k] == want[k], "custom_vjp: gradient ", k, " should be ", want[k], ", got ", grads[k]);
  auto all = in;
  append(all, captures);
  return call(ops::CustomVjp{p, q, b.program, static_cast<std::int64_t>(in.size())}, all);
}
}  // namespace bora::fx

namespace bora::ops {
using namespace fx;
Linearized Call::linearize(const Arrays& in, const Mask& needs) const {
  const auto kept = split_vjp(program, needs, {.keep = keep, .names = names});
  const auto& s = *kept;
  auto all = call(Call{s.fwd, keep, names, protect}, in);
  auto n = program->out.size();
  auto res = residuals(s, in, part(all, n, all.size() - n));
  bool repeats = keep != Saveable::everything || !names.empty();
  return {part(all, 0, n), [p = program, kept, res, inputs = in.size(), repeats](const Arrays& ct) {
            const auto& s = *kept;
            if (s.grad.empty()) return Arrays(inputs);
            auto a = res;
            append(a, cotangents(s, ct, p->out_types()));
            return spread(s, call(Call{s.bwd, Saveable::everything, {}, repeats}, a), inputs);
          }};
}
Pushed Call::jvp(const Arrays& in, const Arrays& t) const {
  Mask m;
  for (auto& x : t) m.push_back(x.defined());
  const auto q = jvp_program(program, m);
  auto a = in;
  append(a, only_defined(t));
  return pushed(q.out, call(Call{q.program, keep, names, protect}, a));
}
std::vector<Mapped> Call::batch(const std::vector<Mapped>& in, const BatchRules& c) const {
  Mask m;
  Arrays x;
  for (auto& i : in) {
    m.push_back(i.axis >= 0);
    x.push_back(mapped_front(i, c, false).value);
  }
  auto b = batch_program(program, m, c);
  auto y = call(Call{b.program, keep, names, protect}, x);
  std::vector<Mapped> r;
  for (std::size_t k = 0; k < y.size(); ++k) r.push_back({y[k], b.out[k] ? 0 : -1});
  return r;
}
static ProgramPtr sample_program() {
  return stage(
             [](const Arrays& a) {
               auto y = tanh(matmul(a[0], a[0]));
               return Arrays{y * a[1], sum(y)};
             },
             {{{3, 3}, f64}, {{3, 3}, f64}})
      .program;
}
SamplesOf<Call> Call::samples() {
  SamplesOf<Call> r;
  for (auto keep : {Saveable::nothing, Saveable::dots, Saveable::everything})
    r.push_back({{sample_program(), keep}, {random_values({3, 3}, -1, 1, 1), random_values({3, 3}, -1, 1, 2)}});
  return r;
}

Linearized CustomVjp::linearize(const Arrays& in, const Mask& needs) const {
  for (auto i = static_cast<std::size_t>(differentiable); i < in.size(); ++i)
    check<TraceError>(
        !needs[i], "custom_vjp: f, fwd or bwd closes over ", in[i].type(),
        ", which is being differentiated, but bwd gives gradients of arguments only: pass it as an argument, or close "
        "over stop_gradient of it");
  auto n = program->out.size();
  auto all = call(Call{fwd}, in);
  auto res = part(all, n, all.size() - n);
  return {part(all, 0, n), [p = program, b = bwd, n = static_cast<std::size_t>(differentiable), res](const Arrays& ct) {
            auto a = res;
            auto out = p->out_types(), in = p->in_types();
            for (std::size_t k = 0; k < ct.size(); ++k)
              if (is_inexact(out[k].dtype)) a.push_back(or_zero(ct[k], out[k]));
            auto given = call(Call{b}, a);
            Arrays g(in.size());
            for (std::size_t i = 0, k = 0; i < n; ++i)
              if (is_inexact(in[i].dtype)) g[i] = given[k++];
            return g;
          }};
}
/// Everything is mapped: broadcasting an unmapped input sums its gradient by itself.
std::vector<Mapped> CustomVjp::batch(const std::vector<Mapped>& in, const BatchRules& c) const {
  Arrays x;
  for (auto& m : in) x.push_back(c.front(m));
  Mask all(in.size(), true), outs(program->out.size(), true), fwd_outs(fwd->out.size(), true),
      bwd_in(bwd->in.size(), true), bwd_outs(bwd->out.size(), true);
  CustomVjp q{batch_program(program, all, c, outs).program, batch_program(fwd, all, c, fwd_outs).program,
              batch_program(bwd, bwd_in, c, bwd_outs).program, differentiable};
  std::vector<Mapped> r;
  for (auto& y : call(q, x)) r.push_back({y, 0});
  return r;
}
SamplesOf<CustomVjp> CustomVjp::samples() {
  Type t{{2, 3}, f64};
  auto f = stage([](const Arrays& a) { return Arrays{exp(a[0])}; }, {t}).program;
  auto fwd = stage(
                 [](const Arrays& a) {
                   auto y = exp(a[0]);
                   return Arrays{y, y};
                 },
                 {t})
                 .program;
  auto bwd = stage([](const Arrays& a) { return Arrays{a[1] * a[0]}; }, {t, t}).program;
  return {{{f, fwd, bwd, 1}, {random_values({2, 3}, -1, 1, 1)}}};
}
}  // namespace bora::ops
