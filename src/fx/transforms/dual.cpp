// Dual: forward mode. A value is a primal and its tangent; a tangent that is zero is no Dual value at all.
#include <algorithm>
#include "compile/api/control.h"
#include "bora/ops/creation.h"
#include "ops/api/primitives.h"
#include "bora/ops/transform.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
struct DualValue final : ArrayValue {
  Array primal, tangent;
  DualValue(Array p, Array t, std::uint64_t o) : ArrayValue(p.type(), o), primal(std::move(p)), tangent(std::move(t)) {}
  Array concrete() const override {
    auto* dual = current();
    while (dual && dual->id != owner) dual = dual->parent;
    check<TraceError>(dual != nullptr, "this ", type,
                      " belongs to a grad, jvp or vjp that has ended; return it from the function and read it outside");
    fail<TraceError>(
        "this ", type,
        " carries a derivative, which would be lost in the number read; read stop_gradient(x).item<float>() "
        "if it is meant as a constant, else compute with Arrays (where(), cond())");
  }
  const Array* primal_value() const override { return &primal; }
};

void add_to(Array& sum, const Array& t) {
  if (t.defined()) sum = sum.defined() ? accumulate(sum, t) : t;
}
bool any_defined(const Arrays& a) {
  return std::any_of(a.begin(), a.end(), [](auto& x) { return x.defined(); });
}
Mask defined(const Arrays& a) {
  Mask m;
  for (auto& x : a) m.push_back(x.defined());
  return m;
}
using Pullback = std::function<Arrays(const Arrays&)>;
/// J t, where pull(ct) = J^T ct: pull, which is linear, transposed once. At which ct does not matter.
Arrays transposed(const Arrays& out, const Arrays& t, const Pullback& pull) {
  Arrays cts, some, r(out.size());
  std::vector<std::size_t> live;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!is_inexact(out[k].dtype())) continue;
    live.push_back(k);
    cts.push_back(zeros_like(out[k]));
  }
  Mask flows(t.size());  // where the pullback gives a gradient
  auto back = vjp_flat(
      [&](const Arrays& c) {
        Arrays all(out.size()), given;
        for (std::size_t i = 0; i < live.size(); ++i) all[live[i]] = c[i];
        auto g = pull(all);
        for (std::size_t i = 0; i < t.size(); ++i)
          if ((flows[i] = t[i].defined() && i < g.size() && g[i].defined())) given.push_back(g[i]);
        return given;
      },
      cts, Mask(cts.size(), true));
  for (std::size_t i = 0; i < t.size(); ++i)
    if (flows[i]) some.push_back(t[i]);
  if (some.empty()) return r;
  auto d = back.pullback(some);
  for (std::size_t i = 0; i < live.size(); ++i) r[live[i]] = d[i];
  return r;
}
/// The inputs in which p is linear, for a single result; `joint`: in all of them together.
struct LinearInputs {
  std::vector<std::size_t> in;
  bool joint = false;
};
LinearInputs linear_inputs(const Primitive& p, const Arrays& x) {
  if (p.traits.linear) return {{0}};
  if (p.traits.holds) return {};
  auto f = p.factors(types_of(x));
  return f ? LinearInputs{f->linear, f->joint} : LinearInputs{};
}
/// Tangents of the results `out` of p at x, for a primitive without a rule of its own.
Arrays tangents_of(const PrimitivePtr& p, const Arrays& x, const Arrays& out, const Arrays& t) {
  Arrays rest = t, r(out.size());
  if (p->traits.flat || !any_defined(t)) return r;
  if (out.size() == 1) {
    if (!is_inexact(out[0].dtype())) return r;
    auto linear = linear_inputs(*p, x);
    auto zero = [&](std::size_t i) { return !rest[i].defined(); };
    if (linear.joint && p->element() && std::any_of(linear.in.begin(), linear.in.end(), zero))
      linear.in.clear();  // of a sum, the other term alone
    auto joint = x;
    bool any = false;
    for (auto i : linear.in) {
      if (linear.joint) {
        joint[i] = rest[i].defined() ? rest[i] : zeros_like(x[i]);
        any |= rest[i].defined();
      } else if (rest[i].defined()) {
        auto one = x;
        one[i] = rest[i];
        add_to(r[0], call(p, one)[0]);
      }
      rest[i] = {};
    }
    if (any) r[0] = call(p, joint)[0];
    if (p->element() && is_float(out[0].dtype())) {  // a real number depends on one of each input: J = J^T
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!rest[i].defined() || x[i].dtype() != out[0].dtype()) continue;
        Mask needs(x.size());
        needs[i] = true;
        add_to(r[0], p->vjp({x, out, {rest[i]}, needs})[i]);
        rest[i] = {};
      }
    }
  }
  if (!any_defined(rest)) return r;
  auto needs = defined(rest);
  auto others = transposed(out, rest, [&](const Arrays& ct) { return p->vjp({x, out, ct, needs}); });
  for (std::size_t k = 0; k < r.size(); ++k) add_to(r[k], others[k]);
  return r;
}
Pushed push(const PrimitivePtr& p, const Arrays& x, const Arrays& t) {
  if (auto r = p->jvp(x, t)) return std::move(*r);
  if (auto l = p->linearize(x, defined(t))) return {l->out, transposed(l->out, t, l->pullback)};
  auto out = call(p, x);
  return {out, tangents_of(p, x, out, t)};
}
bool forward_only(const Primitive& p) {
  if (p.traits.forward_only) return true;
  for (auto& held : p.programs())
    for (auto& i : held->code)
      if (forward_only(*i.primitive)) return true;
  return false;
}

/// With a Stage, operations on tangents are recorded there and primals computed at once: the derivative as a Program.
class Dual final : public Interpreter {
 public:
  explicit Dual(Interpreter* parent, Stage* tangents = nullptr) : Interpreter(parent), stage_(tangents) {}
  Array wrap(const Array& primal, const Array& tangent) {
    return tangent.defined() ? Array(std::make_shared<DualValue>(primal, tangent, id)) : primal;
  }
  Array primal(const Array& a) const { return owns(a) ? static_cast<const DualValue*>(a.get())->primal : a; }
  Array tangent(const Array& a) const { return owns(a) ? static_cast<const DualValue*>(a.get())->tangent : Array(); }
  Arrays process(const PrimitivePtr& p, const Arrays& in) override {
    if (p->traits.expands && owns_any(in)) return p->expand(in);
    Within w(parent);
    if (!owns_any(in)) return parent->process(p, in);
    Arrays x, t;
    for (auto& a : in) {
      x.push_back(primal(a));
      t.push_back(tangent(a));
    }
    auto r = stage_ ? apart(p, x, t) : push(p, x, t);
    for (std::size_t k = 0; k < r.out.size(); ++k) r.out[k] = wrap(r.out[k], r.tangents[k]);
    return std::move(r.out);
  }

 private:
  static Arrays without_donation(const PrimitivePtr& p, const Arrays& x) {
    auto* c = as<ops::Call>(p);
    return c && !c->donated.empty() ? call(ops::Call{c->program, c->keep, c->names, c->protect}, x) : call(p, x);
  }
  /// The results here, their tangents on the stage.
  Pushed apart(const PrimitivePtr& p, const Arrays& x, const Arrays& t) {
    bool held = p->traits.holds;
    if (held && forward_only(*p))
      for (auto& h : p->programs())
        check<TraceError>(count(*h, "io_callback") == 0, "linearize: ", p->name(),
                          " holds an io_callback and would run it again for each tangent; use jvp");
    if (held && !forward_only(*p))
      if (auto l = p->linearize(x, defined(t))) {
        Within w(stage_);
        return {l->out, transposed(l->out, t, l->pullback)};
      }
    auto out = without_donation(p, x);  // the tangents read x again
    Within w(stage_);
    if (held || p->traits.linear) return {out, push(p, x, t).tangents};
    if (auto own = p->jvp(x, t)) return {out, own->tangents};
    return {out, tangents_of(p, x, out, t)};
  }
  Stage* stage_;
};
}  // namespace

bool is_dual(const Interpreter& i) { return dynamic_cast<const Dual*>(&i) != nullptr; }
std::pair<Arrays, Arrays> jvp_flat(const FlatFn& f, const Arrays& primals, const Arrays& tangents) {
  Dual dual(current());
  Arrays in, t;
  for (std::size_t i = 0; i < primals.size(); ++i)
    in.push_back(is_inexact(primals[i].dtype()) ? dual.wrap(primals[i], tangents.at(i)) : primals[i]);
  Arrays out;
  {
    Within w(&dual);
    out = f(in);
  }
  for (auto& y : out) {
    t.push_back(dual.tangent(y));
    y = dual.primal(y);
  }
  return {std::move(out), std::move(t)};
}
LinearizedFlat linearize_flat(const FlatFn& f, const Arrays& primals) {
  Stage stage(current());
  Dual dual(current(), &stage);
  Arrays in, out;
  std::vector<std::size_t> moving, live;
  for (std::size_t i = 0; i < primals.size(); ++i) {
    bool floats = is_inexact(primals[i].dtype());
    if (floats) moving.push_back(i);
    in.push_back(floats ? dual.wrap(primals[i], stage.input(primals[i].type())) : primals[i]);
  }
  {
    Within w(&dual);
    out = f(in);
  }
  Arrays tangents;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (auto t = dual.tangent(out[k]); t.defined()) {
      live.push_back(k);
      tangents.push_back(t);
    }
    out[k] = dual.primal(out[k]);
  }
  auto program = stage.finish(tangents);
  auto types = types_of(primals);
  return {out, [program, moving, live, types, known = std::move(stage.captures), n = out.size()](const Arrays& given) {
            Arrays a, r(n);
            for (auto i : moving) a.push_back(or_zero(given.at(i), types[i]));
            append(a, known);
            auto d = interpret(*program, a);
            for (std::size_t k = 0; k < live.size(); ++k) r[live[k]] = d[k];
            return r;
          }};
}

PushedProgram jvp_program(const ProgramPtr& p, const Mask& in, const Mask& force) {
  return *p->memo.get<PushedProgram>(Form::pushed, bits(in) + " " + bits(force), [&] {
    Stage s(current(), false, p->compile);
    Dual dual(&s);
    auto types = p->in_types();
    Arrays x;
    for (std::size_t i = 0; i < types.size(); ++i)
      x.push_back(s.input(types[i], i < p->labels.size() ? p->labels[i] : std::string()));
    for (std::size_t i = 0; i < types.size(); ++i)
      if (in[i]) x[i] = dual.wrap(x[i], s.input(types[i]));
    Arrays out, moved;
    {
      Within w(&dual);
      out = interpret(*p, x);
    }
    PushedProgram r;
    Within w(&s);
    for (std::size_t k = 0; k < out.size(); ++k) {
      auto t = dual.tangent(out[k]);
      bool forced = k < force.size() && force[k];
      r.out.push_back(t.defined() || forced);
      if (r.out[k]) moved.push_back(or_zero(t, out[k].type()));
      out[k] = dual.primal(out[k]);
    }
    append(out, moved);
    r.program = s.finish(out);
    check<TraceError>(s.captures.empty(), "a derivative rule made a concrete array while a Program was differentiated");
    return r;
  });
}
PushedProgram reached(const ProgramPtr& body, Mask& in, std::size_t consts, std::size_t carries) {
  for (;;) {
    Mask force(in.begin() + static_cast<std::ptrdiff_t>(consts),
               in.begin() + static_cast<std::ptrdiff_t>(consts + carries));
    auto q = jvp_program(body, in, force);
    bool changed = false;
    for (std::size_t i = 0; i < carries; ++i)
      if (q.out[i] && !in[consts + i]) in[consts + i] = changed = true;
    if (!changed) return q;
  }
}
ProgramPtr with_results(const ProgramPtr& p, const std::vector<std::size_t>& order) {
  auto q = std::make_shared<Program>(*p);
  q->out.clear();
  for (auto k : order) q->out.push_back(p->out[k]);
  return q;
}
Pushed pushed(const Mask& moved, const Arrays& results) {
  Pushed r{part(results, 0, moved.size()), Arrays(moved.size())};
  for (std::size_t k = 0, at = moved.size(); k < moved.size(); ++k)
    if (moved[k]) r.tangents[k] = results[at++];
  return r;
}
Arrays only_defined(const Arrays& a) {
  Arrays r;
  for (auto& x : a)
    if (x.defined()) r.push_back(x);
  return r;
}
}  // namespace bora::fx
