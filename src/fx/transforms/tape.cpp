// Tape: reverse mode. Also the only place where a Program is split into a forward and a backward Program.
#include <algorithm>
#include "compile/api/control.h"
#include "bora/ops/creation.h"
#include "ops/api/primitives.h"
#include "bora/ops/transform.h"
#include "kernels/api/loop.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
struct TapeValue final : ArrayValue {
  Array primal;
  int number;
  TapeValue(Array p, std::uint64_t o, int n) : ArrayValue(p.type(), o), primal(std::move(p)), number(n) {}
  /// A number that is read carries no derivative: the reader must mark it as a constant.
  Array concrete() const override {
    auto* tape = current();
    while (tape && tape->id != owner) tape = tape->parent;
    check<TraceError>(tape != nullptr, "this ", type,
                      " belongs to a grad, jvp or vjp that has ended; return it from the function (beside the loss, as "
                      "std::pair{loss, aux}) and read it outside");
    fail<TraceError>(
        "this ", type,
        " carries a derivative, which would be lost in the number read; read stop_gradient(x).item<float>() "
        "if it is meant as a constant, else compute with Arrays (where(), cond())");
  }
  const Array* primal_value() const override { return &primal; }
};

class Tape final : public Interpreter {
 public:
  using Interpreter::Interpreter;
  Array watch(const Array& a) { return Array(std::make_shared<TapeValue>(a, id, values_++)); }
  Array primal(const Array& a) const { return owns(a) ? static_cast<const TapeValue*>(a.get())->primal : a; }
  Arrays process(const PrimitivePtr& p, const Arrays& in) override {
    if (p->traits.expands && owns_any(in)) return p->expand(in);
    Within w(parent);
    Mask needs;
    bool any = false;
    for (auto& a : in) {  // only float values are ever owned
      needs.push_back(owns(a));
      any |= owns(a);
    }
    if (!any) return parent->process(p, in);
    Arrays x;
    for (auto& a : in) x.push_back(primal(a));
    auto linear = p->linearize(x, needs);
    if (!linear) {
      auto out = parent->process(p, x);
      linear = Linearized{out, [p, x, out, needs](const Arrays& ct) { return p->vjp({x, out, ct, needs}); }};
    }
    auto moves = depends(*p, needs, types_of(linear->out));
    if (std::find(moves.begin(), moves.end(), true) == moves.end()) return linear->out;
    Node n{{}, values_, linear->out.size(), std::move(linear->pullback), current_source()};
    for (auto& a : in) n.in.push_back(owns(a) ? number(a) : -1);
    values_ += static_cast<int>(linear->out.size());
    Arrays out;
    for (std::size_t k = 0; k < linear->out.size(); ++k) {
      auto& y = linear->out[k];
      out.push_back(moves[k] ? Array(std::make_shared<TapeValue>(y, id, n.out + static_cast<int>(k))) : y);
    }
    nodes_.push_back(std::move(n));
    return out;
  }
  /// Runs under the current interpreter: cotangents may themselves be traced. Empty where no gradient flows.
  Arrays backward(const Arrays& out, const Arrays& ct, const Arrays& wrt) const {
    Arrays sums(static_cast<std::size_t>(values_));
    auto push = [&](int n, const Array& g) {
      if (!g.defined()) return;
      auto& s = sums[static_cast<std::size_t>(n)];
      s = s.defined() ? accumulate(s, g) : g;
    };
    for (std::size_t i = 0; i < out.size(); ++i)
      if (owns(out[i])) push(number(out[i]), ct[i]);
    for (auto n = nodes_.rbegin(); n != nodes_.rend(); ++n) {
      auto first = sums.begin() + n->out;
      Arrays c(first, first + static_cast<std::ptrdiff_t>(n->outs));
      if (std::none_of(c.begin(), c.end(), [](auto& a) { return a.defined(); })) continue;
      for (auto a = first; a != first + static_cast<std::ptrdiff_t>(n->outs); ++a) *a = {};
      SourceScope source(n->source);
      auto g = n->pullback(c);
      for (std::size_t i = 0; i < n->in.size(); ++i)
        if (n->in[i] >= 0) push(n->in[i], g.at(i));
    }
    Arrays r;
    for (auto& a : wrt) r.push_back(owns(a) ? sums[static_cast<std::size_t>(number(a))] : Array{});
    return r;
  }

 private:
  struct Node {
    std::vector<int> in;
    int out;
    std::size_t outs;
    std::function<Arrays(const Arrays&)> pullback;
    SourcePtr source;
  };
  int number(const Array& a) const { return static_cast<const TapeValue*>(a.get())->number; }
  std::vector<Node> nodes_;
  int values_ = 0;
};
bool differentiable(const Array& a) { return is_inexact(a.dtype()); }
}  // namespace

bool is_tape(const Interpreter& i) { return dynamic_cast<const Tape*>(&i) != nullptr; }
Array or_zero(const Array& a, const Type& t) { return a.defined() ? a : full_of(t, 0); }

VjpFlat vjp_flat(const FlatFn& f, const Arrays& primals, const Mask& wrt) {
  auto tape = std::make_shared<Tape>(current());
  Arrays in = primals;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (wrt[i] && differentiable(in[i])) in[i] = tape->watch(in[i]);
  Arrays out;
  {
    Within w(tape.get());
    out = f(in);
  }
  Arrays values;
  for (auto& a : out) values.push_back(tape->primal(a));
  return {values, [=](const Arrays& ct) {
            auto g = tape->backward(out, ct, in);
            for (std::size_t i = 0; i < g.size(); ++i)
              if (!g[i].defined() && wrt[i] && differentiable(primals[i])) g[i] = zeros_like(primals[i]);
            return g;
          }};
}
namespace {
// instructions per element: about the cost of a value written forward and read backward (a tanh is 34)
constexpr int kRepeat = 48;
constexpr std::int64_t kSmall = 16;  // times as large is an array for which an input is kept
/// A variable as an index.
std::size_t slot_of(int v) { return static_cast<std::size_t>(v); }
/// Instructions of the forward part (the first `boundary`) that the backward part repeats although the policy would
/// keep them: short chains of elementwise operations on values it has anyway, and on inputs that are small (a bias).
/// `kept`: values handed to the backward part.
Mask cheap_to_repeat(const Program& p, std::size_t boundary, const Mask& varies, const Mask& kept, const Mask& live,
                     const std::vector<int>& in) {
  constexpr int never = 1 << 20;
  std::vector<int> price(p.vars.size(), never);
  Mask repeat(boundary);
  for (std::size_t v = 0; v < price.size(); ++v)
    if (!varies[v]) price[v] = 0;
  for (int v : in)
    if (live[slot_of(v)]) price[slot_of(v)] = 0;
  for (std::size_t k = 0; k < boundary; ++k) {
    auto& i = p.code[k];
    if (i.primitive->traits.loop != LoopRole::broadcast) continue;
    const bool small = p.vars[slot_of(i.in[0])].size() * kSmall <= p.vars[slot_of(i.out[0])].size();
    if (small && std::find(in.begin(), in.end(), i.in[0]) != in.end()) price[slot_of(i.in[0])] = 0;
  }
  for (std::size_t k = 0; k < boundary; ++k) {
    auto& i = p.code[k];
    auto v = slot_of(i.out[0]);
    auto role = i.primitive->traits.loop;
    if (role == LoopRole::op || role == LoopRole::cast || role == LoopRole::broadcast) {
      int sum = role == LoopRole::op ? kernels::element_op(*i.primitive->element()).cost : role == LoopRole::cast;
      for (int x : i.in) sum = std::min(never, sum + price[slot_of(x)]);
      if (sum <= kRepeat) {
        price[v] = sum;
        repeat[k] = true;
      }
    }
    if (!repeat[k])
      for (int o : i.out)
        if (kept[slot_of(o)]) price[slot_of(o)] = 0;
  }
  return repeat;
}
/// Inputs and cotangents -> outputs and gradients, recorded by Tape over Stage: the forward instructions are the first
/// `boundary`. The lists are of variables.
struct Joint {
  std::shared_ptr<Program> program;
  std::size_t boundary;
  std::vector<int> in, ct, out, grad;
  std::vector<std::vector<std::string>> names = {};  // of each variable, from checkpoint_name
};
/// Takes the operations that name values out of the code. A value's names are also those of what it is computed from by
/// an operation that the backward part repeats anyway, as a reshape.
void take_names(Joint& j) {
  auto& code = j.program->code;
  std::vector<int> same(j.program->vars.size());  // the variable in place of each
  for (std::size_t v = 0; v < same.size(); ++v) same[v] = static_cast<int>(v);
  j.names.resize(same.size());
  std::vector<Instruction> others;
  std::size_t boundary = 0;
  for (std::size_t k = 0; k < code.size(); ++k) {
    auto& i = code[k];
    for (int& v : i.in) v = same[slot_of(v)];
    if (auto* name = ops::checkpoint_name_of(*i.primitive)) {
      same[slot_of(i.out[0])] = i.in[0];
      if (k < j.boundary) j.names[slot_of(i.in[0])].push_back(*name);
      continue;
    }
    boundary += k < j.boundary;
    others.push_back(std::move(i));
  }
  code = std::move(others);
  j.boundary = boundary;
  for (auto* list : {&j.out, &j.grad})
    for (int& v : *list) v = same[slot_of(v)];
  for (std::size_t k = boundary; k-- > 0;) {
    auto& i = code[k];
    if (!i.primitive->traits.recomputed) continue;
    auto names = j.names[slot_of(i.out[0])];
    for (int v : i.in) append(j.names[slot_of(v)], names);
  }
}
Joint joint_program(const ProgramPtr& p, const Mask& wrt, Split& r) {
  Stage s(current());
  Tape tape(&s);
  Joint j;
  Arrays in, out;
  auto types = p->in_types();
  for (std::size_t i = 0; i < types.size(); ++i)
    in.push_back(s.input(types[i], i < p->labels.size() ? p->labels[i] : std::string()));
  Arrays watched = in;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (wrt[i] && differentiable(in[i])) watched[i] = tape.watch(in[i]);
  {
    Within w(&tape);
    out = interpret(*p, watched);
  }
  j.boundary = s.length();
  {
    Within w(&s);
    Arrays cts(out.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (!tape.owns(out[k])) continue;
      cts[k] = s.input(out[k].type());
      j.ct.push_back(s.variable(cts[k]));
      r.ct.push_back(static_cast<int>(k));
    }
    auto g = tape.backward(out, cts, watched);
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (!g[i].defined()) continue;
      j.grad.push_back(s.variable(g[i]));
      r.grad.push_back(static_cast<int>(i));
    }
    for (auto& a : in) j.in.push_back(s.variable(a));
    for (auto& a : out) j.out.push_back(s.variable(tape.primal(a)));
  }
  check<TraceError>(
      s.captures.empty(),
      "a derivative rule, as the .vjp of a custom_op, used a concrete array while a Program was differentiated; give "
      "it to the operation as an input, or make it with full_of or constant");
  j.program = s.raw({});
  take_names(j);
  return j;
}
/// The variables that depend on an input which varies; others are computed again rather than kept.
Mask varying(const Joint& j, const Residuals& policy) {
  Mask varies(j.program->vars.size());
  for (std::size_t i = 0; i < j.in.size(); ++i)
    varies[slot_of(j.in[i])] = i >= policy.invariant.size() || !policy.invariant[i];
  for (int v : j.ct) varies[slot_of(v)] = true;
  for (auto& i : j.program->code)
    for (int v : i.in)
      if (varies[slot_of(v)])
        for (int o : i.out) varies[slot_of(o)] = true;
  return varies;
}
/// Adds the values of elementwise operations between two that are in the mask: those of an activation whose operand and
/// result have a name.
void add_between(Mask& listed, const Joint& j) {
  auto elementwise = [](const Instruction& i) {
    auto role = i.primitive->traits.loop;
    return role == LoopRole::op || role == LoopRole::cast || role == LoopRole::broadcast;
  };
  auto behind = listed, before = listed;
  auto& code = j.program->code;
  for (std::size_t k = 0; k < j.boundary; ++k)
    if (elementwise(code[k]))
      for (int v : code[k].in)
        if (behind[slot_of(v)]) behind[slot_of(code[k].out[0])] = true;
  for (std::size_t k = j.boundary; k-- > 0;)
    if (elementwise(code[k]) && before[slot_of(code[k].out[0])])
      for (int v : code[k].in) before[slot_of(v)] = true;
  for (std::size_t v = 0; v < listed.size(); ++v) listed[v] = listed[v] || (behind[v] && before[v]);
}
/// Adds the values that nothing reads but what makes those in the mask cheaply: a product to which a bias is added.
/// They would take the memory that the mask is to save.
void add_sources(Mask& listed, const Joint& j) {
  Mask read(listed.size()), otherwise(listed.size());
  for (int v : j.out) otherwise[slot_of(v)] = true;
  for (std::size_t k = j.boundary; k-- > 0;) {
    auto& i = j.program->code[k];
    auto& t = i.primitive->traits;
    bool cheap = t.loop == LoopRole::op || t.loop == LoopRole::cast || t.moves || t.recomputed;
    bool all = true;
    for (int v : i.out) {
      auto at = slot_of(v);
      listed[at] = listed[at] || (read[at] && !otherwise[at]);
      all = all && listed[at];
    }
    for (int v : i.in) (cheap && all ? read : otherwise)[slot_of(v)] = true;
  }
}
/// The variables with a name that the policy lists: those that it keeps, or that it does not keep.
Mask listed_by_name(const Joint& j, const Residuals& policy) {
  Mask listed(j.names.size());
  auto is_listed = [&](auto& name) {
    return std::find(policy.names.begin(), policy.names.end(), name) != policy.names.end();
  };
  for (std::size_t v = 0; v < listed.size(); ++v)
    listed[v] = std::any_of(j.names[v].begin(), j.names[v].end(), is_listed);
  if (policy.keep == Saveable::everything && !policy.names.empty()) {
    add_between(listed, j);
    add_sources(listed, j);
  }
  return listed;
}
/// Does the policy keep what this forward instruction gives?
bool keeps(const Instruction& i, const Residuals& policy, const Mask& listed) {
  bool named = std::any_of(i.out.begin(), i.out.end(), [&](int v) { return listed[slot_of(v)]; });
  if (policy.keep != Saveable::names) return !named && i.primitive->saved(policy.keep, policy.names);
  // What only has another shape is made again; what was sent is not.
  return named && !(i.primitive->traits.recomputed && !i.primitive->traits.enters_shard);
}
/// The backward Program's instructions: those that the gradients need, back to values that are residuals.
struct Backward {
  std::vector<Instruction> code;
  Mask live, residual;  // variables that the code reads or makes; those of the forward part that it is handed
};
Backward backward_part(const Joint& j, const Residuals& policy, const Mask& varies, const Mask& listed,
                       const Mask& repeat) {
  auto n = j.program->vars.size();
  Backward b{{}, Mask(n), Mask(n)};
  for (int v : j.grad) b.live[slot_of(v)] = true;
  for (std::size_t k = j.program->code.size(); k-- > 0;) {
    auto& i = j.program->code[k];
    if (std::none_of(i.out.begin(), i.out.end(), [&](int v) { return b.live[slot_of(v)]; })) continue;
    bool forward = k < j.boundary;
    bool kept = forward && varies[slot_of(i.out[0])] && !repeat[k] && keeps(i, policy, listed);
    bool effect = forward && !policy.repeat_effects && has_effect(i);  // happens once, in the forward pass
    if (kept || effect) {
      for (int v : i.out)
        if (b.live[slot_of(v)]) b.residual[slot_of(v)] = true;
      continue;
    }
    for (int v : i.in) b.live[slot_of(v)] = true;
    b.code.push_back(i);
  }
  std::reverse(b.code.begin(), b.code.end());
  return b;
}
/// A forward value that the backward part reads is a residual if the policy keeps it; else its instruction is repeated
/// in the backward Program.
Split make_split(const ProgramPtr& p, const Mask& wrt, const Residuals& policy) {
  Split r;
  auto joint = joint_program(p, wrt, r);
  auto varies = varying(joint, policy), listed = listed_by_name(joint, policy);
  auto back = backward_part(joint, policy, varies, listed, Mask(joint.boundary));
  if (policy.keep == Saveable::everything)
    back = backward_part(
        joint, policy, varies, listed,
        cheap_to_repeat(*joint.program, joint.boundary, varies, back.residual, back.live, joint.in));
  Program fwd, bwd;
  bwd.vars = fwd.vars = joint.program->vars;
  auto& code = joint.program->code;
  fwd.code.assign(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(joint.boundary));
  bwd.code = std::move(back.code);
  fwd.in = joint.in;
  fwd.labels = p->labels;
  fwd.out = joint.out;
  for (std::size_t i = 0; i < joint.in.size(); ++i) {
    if (!back.live[slot_of(joint.in[i])]) continue;
    r.residual.push_back(static_cast<int>(i));
    bwd.in.push_back(joint.in[i]);
    bwd.labels.push_back(i < p->labels.size() ? p->labels[i] : std::string());
  }
  for (std::size_t v = 0; v < back.residual.size(); ++v) {
    if (!back.residual[v]) continue;
    bwd.in.push_back(static_cast<int>(v));
    auto k = policy.reused;
    while (k < joint.out.size() && joint.out[k] != static_cast<int>(v)) ++k;
    if (k < joint.out.size()) {
      r.residual.push_back(-2 - static_cast<int>(k));
      continue;
    }
    r.residual.push_back(-1);
    fwd.out.push_back(static_cast<int>(v));
  }
  bwd.in.insert(bwd.in.end(), joint.ct.begin(), joint.ct.end());
  bwd.labels.resize(bwd.in.size());
  bwd.out = joint.grad;
  fwd.compile = bwd.compile = p->compile;
  r.fwd = simplify(fwd);
  r.bwd = simplify(bwd);
  return r;
}
}  // namespace
SplitPtr split_vjp(const ProgramPtr& p, const Mask& wrt, const Residuals& policy) {
  std::string key = std::to_string(static_cast<int>(policy.keep)) + " " + bits(wrt) + " " +
                    bits(policy.invariant) + " " + std::to_string(policy.reused) +
                    (policy.repeat_effects ? " all" : "");
  for (auto& n : policy.names) key += " " + n;
  return p->memo.get<Split>(Form::split, key, [&] { return make_split(p, wrt, policy); });
}
}  // namespace bora::fx
