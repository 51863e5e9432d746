#include "shard/propagate.h"
#include <algorithm>
#include <map>
#include <utility>
#include "array/api/source.h"
#include "compile/api/control.h"
#include "ops/api/collective_primitives.h"
#include "ops/api/primitives.h"
#include "ops/api/support.h"
#include "shard/abstract.h"
#include "shard/splits.h"

namespace bora::fx {
namespace {
constexpr double kLittle = 0.002;  // a share of a rank's work that is not worth to partition a Program again
std::size_t at(int v) { return static_cast<std::size_t>(v); }
MeshAxes common(const MeshAxes& a, const MeshAxes& b) {
  std::size_t k = 0;
  while (k < a.size() && k < b.size() && a[k] == b[k]) ++k;
  return a.head(k);
}
Spec common(Spec a, const Spec& b) {
  for (std::size_t d = 0; d < a.size(); ++d) a[d] = common(a[d], b[d]);
  return a;
}
/// The axes of `want` behind those of `has`, if it begins with these.
MeshAxes further(const MeshAxes& has, const MeshAxes& want) {
  return common(has, want) == has ? want.tail(has.size()) : MeshAxes{};
}
/// As near to `want` as x gets by slices alone.
Spec sliced(const Sharded& x, const Spec& want) {
  auto r = x.spec;
  for (std::size_t d = 0; d < r.size() && d < want.size(); ++d)
    for (auto& a : further(x.spec[d], want[d])) {
      if (r.uses(a) || x.partial.has(a)) break;
      r[d].push_back(a);
    }
  return r;
}
bool same(const std::vector<Sharded>& x) {
  return std::all_of(x.begin(), x.end(), [&](auto& y) { return y.spec == x[0].spec; });
}

/// The Spec that a result is wanted in, if not as it comes; does the Program itself place it there?
struct Result {
  std::optional<Spec> spec = {};
  bool places = false;
};
struct Propagated {
  ProgramPtr program = {};     // null: as it was
  std::vector<Spec> in = {};   // that its inputs are wanted in
  Cost all = {}, saved = {};   // of each rank
};
void add(Cost& to, const Cost& c, double times) {
  to.flops += times * c.flops;
  to.bytes += times * c.bytes;
}
Propagated propagated(const Program& p, const std::vector<Sharded>& values, const std::vector<Result>& results,
                      const Shard& s);

class Propagation {
 public:
  Propagation(const Program& p, const std::vector<Sharded>& values, const Shard& s)
      : p_(p), outer_(s), on_types_(&types_, s.mesh(), s.rank()), has_(values), wish_(p.vars.size()),
        edits_(p.code.size()) {
    for (auto& x : has_) made_.push_back(x.spec);
  }
  /// Backward: what each value is wanted in.
  void backward(const std::vector<Result>& results) {
    Within w(&types_);  // bodies are partitioned for their Specs alone: ranks compare nothing
    for (std::size_t k = 0; k < p_.out.size(); ++k) want(p_.out[k], results[k].spec.value_or(has(p_.out[k])));
    for (auto k = p_.code.size(); k-- > 0;) visit(p_.code[k], edits_[k]);
  }
  const Spec& has(int v) const { return has_[at(v)].spec; }
  Propagated rewritten(const std::vector<Result>& results) {
    Propagated r;
    r.all = all_;
    r.saved = saved_;
    for (int v : p_.in) r.in.push_back(sliced(has_[at(v)], wished(v)));
    auto q = std::make_shared<Program>(p_);
    q->code.clear();
    std::map<std::pair<int, std::string>, int> known;
    bool changed = false;
    auto resharded = [&](int v, const Spec& spec, const SourcePtr& source) {
      if (spec == made_[at(v)]) return v;
      changed = true;
      auto [it, fresh] = known.try_emplace({v, to_string(spec)}, static_cast<int>(q->vars.size()));
      if (fresh) {
        q->code.push_back({ops::resharding(spec), {v}, {it->second}, source});
        q->vars.push_back(q->vars[at(v)]);
      }
      return it->second;
    };
    for (std::size_t k = 0; k < p_.code.size(); ++k) {
      auto i = p_.code[k];
      auto& e = edits_[k];
      for (std::size_t j = 0; j < e.operands.size(); ++j)
        if (e.operands[j]) i.in[j] = resharded(i.in[j], *e.operands[j], i.source);
      if (e.primitive) i.primitive = e.primitive, changed = true;
      if (e.source) {
        auto v = static_cast<int>(q->vars.size());
        q->vars.push_back(e.source->infer({}).front());
        q->code.push_back({e.source, {}, {v}, i.source});
        i.in = {v};
      }
      q->code.push_back(std::move(i));
    }
    for (std::size_t k = 0; k < results.size(); ++k)
      if (results[k].places)
        q->out[k] = resharded(q->out[k], *results[k].spec, q->code.empty() ? SourcePtr{} : q->code.back().source);
    if (changed) r.program = q;
    return r;
  }

 private:
  struct Edit {
    std::vector<std::optional<Spec>> operands = {};  // resharded in front of the operation
    PrimitivePtr primitive = {};                     // in its place
    PrimitivePtr source = {};                        // makes its operand
  };
  void want(int v, const Spec& spec) {
    auto s = sliced(has_[at(v)], spec);
    auto& w = wish_[at(v)];
    w = w ? common(*w, s) : s;
  }
  Spec wished(int v) const { return wish_[at(v)].value_or(has(v)); }
  void as_is(const Instruction& i) {
    for (int v : i.in) want(v, has(v));
  }
  /// Operand j comes in `spec`.
  void take(const Instruction& i, Edit& e, std::size_t j, const Spec& spec) {
    want(i.in[j], spec);
    e.operands.resize(i.in.size());
    e.operands[j] = spec;
  }
  void visit(const Instruction& i, Edit& e) {
    auto& p = *i.primitive;
    auto& t = p.traits;
    if (!t.holds) add(all_, cost_of(i), 1 / parts(has(i.out.empty() ? i.in[0] : i.out[0])));
    bool more = std::any_of(i.out.begin(), i.out.end(), [&](int v) { return wish_[at(v)] && *wish_[at(v)] != has(v); });
    bool like = i.in.size() >= 1 && i.out.size() == 1 && p_.vars[at(i.in[0])] == p_.vars[at(i.out[0])];
    if (t.collective || t.blocks || t.opaque) as_is(i);
    else if (t.holds) held(i, e);
    else if (as<ops::Reshape>(p)) more ? reshape(i, e) : as_is(i);
    else if (t.has_shard && t.view && like) {  // reshard and its kind: what it gives is what it wants
      as_is({i.primitive, {i.in.begin() + 1, i.in.end()}, {}});
      auto spec = has(i.out[0]);
      if (auto* said = ops::constraint_of(p))
        for (std::size_t d = 0; d < said->size(); ++d)
          if ((*said)[d].open()) spec[d] = wished(i.out[0])[d];
      want(i.in[0], spec);
      if (spec != has(i.out[0])) take(i, e, 0, sliced(has_[at(i.in[0])], spec)), made_[at(i.out[0])] = spec;
    } else if (t.random && i.in.size() == 1 && more) draw(i, e);
    else if (t.random) as_is(i);
    else if (auto* iota = as<ops::Iota>(p)) more ? count(*iota, e) : void();
    else by_factors(i, e);
  }
  void by_factors(const Instruction& i, Edit& e) {
    std::vector<Sharded> in;
    Types types;
    for (int v : i.in) {
      in.push_back(has_[at(v)]);
      types.push_back(in.back().type);
    }
    auto f = i.primitive->factors(types);
    if (!f && i.primitive->element() && same(in)) f = ops::elementwise_factors(types);  // accumulate
    if (!f) return as_is(i);
    auto splits = splits_of(*f, in);
    auto labelled = [&](std::int64_t label) {
      return label != kNone &&
             std::any_of(f->in.begin(), f->in.end(), [&](auto& d) { return ops::contains(d, label); });
    };
    if (i.primitive->traits.has_shard)  // its rule is for operands that are split where factors cannot say how
      for (std::size_t j = 0; j < in.size(); ++j)
        for (std::size_t d = 0; d < in[j].spec.size(); ++d) {
          auto in_result = [&](auto& o) { return f->in[j][d] != kNone && ops::contains(o, f->in[j][d]); };
          if ((!in[j].spec[d].empty() && std::none_of(f->out.begin(), f->out.end(), in_result)) ||
              !in[j].partial.empty())
            return as_is(i);
        }
    auto busy = splits.used;
    for (auto& x : in) busy.append(x.partial);
    std::map<std::int64_t, std::optional<MeshAxes>> more;
    for (std::size_t o = 0; o < i.out.size(); ++o)
      for (std::size_t d = 0; wish_[at(i.out[o])] && d < f->out[o].size(); ++d) {
        auto axes = further(has(i.out[o])[d], (*wish_[at(i.out[o])])[d]);
        auto& m = more[f->out[o][d]];
        m = m ? common(*m, axes) : axes;
      }
    auto wanted = splits;
    for (auto& [label, axes] : more) {
      if (!labelled(label)) axes = {};
      for (std::size_t n = 0; axes && n < axes->size(); ++n) {
        if (busy.has((*axes)[n])) axes = axes->head(n);
        else busy.push_back((*axes)[n]);
      }
      if (axes) wanted.of[label].append(*axes);
    }
    auto grows = [&](std::int64_t label) { return more.count(label) && more[label] && !more[label]->empty(); };
    for (std::size_t j = 0; j < in.size(); ++j) {
      auto spec = wanted.spec(f->in[j]);
      if (std::any_of(f->in[j].begin(), f->in[j].end(), grows)) take(i, e, j, spec);
      else want(i.in[j], spec);
    }
    for (std::size_t o = 0; o < i.out.size(); ++o)
      for (std::size_t d = 0; d < f->out[o].size(); ++d)
        if (grows(f->out[o][d])) made_[at(i.out[o])][d].append(*more[f->out[o][d]]);
    save(i);
  }
  double parts(const Spec& spec) const {
    double n = 1;
    for (auto& axes : spec) n *= outer_.mesh().parts(axes);
    return n;
  }
  Cost cost_of(const Instruction& i) const {
    Types in, out;
    for (int v : i.in) in.push_back(p_.vars[at(v)]);
    for (int v : i.out) out.push_back(p_.vars[at(v)]);
    return i.primitive->cost(in, out);
  }
  /// Counts what the operation no longer does.
  void save(const Instruction& i) {
    if (i.out.empty() || made_[at(i.out[0])] == has(i.out[0])) return;
    add(saved_, cost_of(i), 1 / parts(has(i.out[0])) - 1 / parts(made_[at(i.out[0])]));
  }
  /// The inverse reshape carries the wish back, unless a block would be made of rows of other ranks.
  void reshape(const Instruction& i, Edit& e) {
    types_.communicated = false;
    auto moved = [&](int from, int to, const Spec& spec) {
      Sharded x{types_.value({on_types_.local_shape(p_.vars[at(from)].shape, spec), p_.vars[at(from)].dtype}),
                p_.vars[at(from)], spec};
      return ops::Reshape{p_.vars[at(to)].shape}.shard({x}, on_types_)->front().spec;
    };
    auto spec = sliced(has_[at(i.in[0])], moved(i.out[0], i.in[0], wished(i.out[0])));
    auto made = moved(i.in[0], i.out[0], spec);
    if (types_.communicated) return as_is(i);
    take(i, e, 0, spec);
    made_[at(i.out[0])] = made;
    save(i);
  }
  void draw(const Instruction& i, Edit& e) {
    auto spec = wished(i.out[0]);
    auto [keys, placed] = drawn_at(*i.primitive, spec);
    take(i, e, 0, keys);
    e.primitive = placed;
    made_[at(i.out[0])] = spec;
    save(i);
  }
  /// One row of numbers, which is stretched where it is needed.
  void count(const ops::Iota& iota, Edit& e) {
    if (iota.shape.size() < 2) return;
    e.source = primitive(ops::Iota{{iota.shape[static_cast<std::size_t>(iota.dim)]}, 0, iota.dtype});
    e.primitive = primitive(ops::BroadcastInDim{iota.shape, {iota.dim}});
  }
  void held(const Instruction& i, Edit& e) {
    auto* scan = as<ops::Scan>(i.primitive);
    if (!scan && !i.primitive->traits.calls) return as_is(i);
    auto body = i.primitive->programs()[0];
    auto consts = scan ? static_cast<std::size_t>(scan->consts) : 0,
         carries = scan ? static_cast<std::size_t>(scan->carries) : 0;
    auto stacked = [&](std::size_t k, std::size_t first) { return scan && k >= first; };
    std::vector<Sharded> in;  // as Scan::shard and Call::shard give them to the body
    for (std::size_t j = 0; j < i.in.size(); ++j) {
      bool carry = scan && j >= consts && j < consts + carries;
      auto x = has_[at(carry ? i.out[j - consts] : i.in[j])];
      x.symbolic = {};
      if (scan && !carry) x.partial = {};
      if (stacked(j, consts + carries)) x.type.shape.erase(0), x.spec.erase(0);
      in.push_back(x);
    }
    Forced force(scan ? i.out.size() : 0);
    for (std::size_t k = 0; k < carries; ++k) force[k] = in[consts + k];
    std::vector<Result> results;
    for (std::size_t k = 0; k < i.out.size(); ++k) {
      bool carry = scan && k < carries;
      auto spec = carry ? has(i.out[k]) : wished(i.out[k]);
      if (stacked(k, carries)) spec[0] = has(i.out[k])[0];
      bool as_it_comes = spec == has(i.out[k]);
      made_[at(i.out[k])] = spec;
      if (stacked(k, carries)) spec.erase(0);
      if (carry) results.push_back({spec, false});
      else results.push_back(as_it_comes ? Result{} : Result{spec, true});
    }
    auto r = propagated(*body, *shard_program(body, in, outer_, force).values, results, outer_);
    auto times = scan ? static_cast<double>(scan->length) : 1;
    add(all_, r.all, times);
    add(saved_, r.saved, times);
    if (r.program) e.primitive = with_programs(i.primitive, [&](auto& q) { return q == body ? r.program : q; });
    for (std::size_t j = 0; j < i.in.size(); ++j) {
      if (scan && j >= consts && j < consts + carries) want(i.in[j], has(i.in[j]));
      else if (stacked(j, consts + carries)) {
        r.in[j].insert(0, has(i.in[j])[0]);
        want(i.in[j], r.in[j]);
      } else want(i.in[j], r.in[j]);
    }
  }
  const Program& p_;
  const Shard& outer_;
  TypesOnly types_;
  Shard on_types_;
  std::vector<Sharded> has_;                // forward
  std::vector<Spec> made_;                  // as it is computed in the end
  std::vector<std::optional<Spec>> wish_;   // of all readers; none: nobody reads it
  std::vector<Edit> edits_;
  Cost all_, saved_;
};
Propagated propagated(const Program& p, const std::vector<Sharded>& values, const std::vector<Result>& results,
                      const Shard& s) {
  Propagation pass(p, values, s);
  pass.backward(results);
  return pass.rewritten(results);
}
}  // namespace

ProgramPtr propagate(const ProgramPtr& p, const std::vector<Sharded>& values, const Shard& s, const Forced& force) {
  bool placed = std::any_of(p->code.begin(), p->code.end(), [](auto& i) { return i.primitive->traits.enters_shard; }) ||
                std::any_of(p->in.begin(), p->in.end(), [&](int v) { return !values[at(v)].spec.trivial(); }) ||
                std::any_of(force.begin(), force.end(), [](auto& f) { return f && !f->spec.trivial(); });
  if (s.mesh().size() == 1 || !placed) return p;
  std::vector<Result> results(p->out.size());
  for (std::size_t k = 0; k < force.size(); ++k)
    if (force[k]) results[k].spec = force[k]->spec;
  auto r = propagated(*p, values, results, s);
  bool little = r.saved.flops <= kLittle * r.all.flops && r.saved.bytes <= kLittle * r.all.bytes;
  return r.program && !little ? r.program : p;
}
}  // namespace bora::fx
