#include "shard/propagate.h"
#include <algorithm>
#include <set>
#include "array/api/source.h"
#include "compile/api/control.h"
#include "ops/api/collective_primitives.h"
#include "ops/api/primitives.h"
#include "ops/api/support.h"
#include "shard/abstract.h"
#include "shard/propagation.h"
#include "shard/splits.h"

namespace bora::fx {
namespace {
constexpr std::int64_t kSumsWell = 8;  // elements of a sum's operand for one of the result, which all ranks add up
constexpr double kLittle = 0.002;  // a share of a rank's work that is not worth to partition a Program again
MeshAxes common(const MeshAxes& a, const MeshAxes& b) {
  if (a.open() || b.open()) return a.open() ? b : a;
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
  for (std::size_t d = 0; d < r.size() && d < want.size(); ++d) {
    if (want[d].open()) continue;
    for (auto& a : further(x.spec[d], want[d])) {
      if (r.uses(a) || x.partial.has(a)) break;
      r[d].push_back(a);
    }
  }
  for (std::size_t d = 0; d < r.size() && d < want.size(); ++d)
    if (want[d].open()) r[d] = want[d];
  return r;
}
}  // namespace
void add(Cost& to, const Cost& c, double times) {
  to.flops += times * c.flops;
  to.bytes += times * c.bytes;
}
Propagation::Propagation(const OwnDraws& given, const Shard& s)
    : given_(given), p_(given.program), outer_(s), types_(std::make_unique<TypesOnly>()),
      on_types_(types_.get(), s.mesh(), s.rank()), has_(given.values), wish_(p_.vars.size()), edits_(p_.code.size()) {
  for (auto& x : has_) made_.push_back(x.spec);
}
Propagation::~Propagation() = default;
void Propagation::backward(const std::vector<Result>& results) {
  Within w(types_.get());  // bodies are partitioned for their Specs alone: ranks compare nothing
  for (std::size_t k = 0; k < p_.out.size(); ++k) want(p_.out[k], results[k].spec.value_or(has(p_.out[k])));
  for (auto k = p_.code.size(); k-- > 0;) visit(p_.code[k], edits_[k]);
}
Propagated Propagation::rewritten(const std::vector<Result>& results) {
  Propagated r;
  r.all = all_;
  r.saved = saved_;
  for (int v : p_.in) r.in.push_back(sliced(has_[at(v)], wished(v)));
  auto q = std::make_shared<Program>(p_);
  q->code.clear();
  std::map<std::pair<int, std::string>, int> known;
  std::size_t copied = 0;
  for (auto& c : given_.copies) copied += c.size();
  auto same_as = given_.merged(made_);
  bool changed = same_as.size() < copied;
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
    if (i.out.size() == 1 && same_as.count(i.out[0])) continue;
    for (int& v : i.in)
      if (same_as.count(v)) v = same_as[v];
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
  for (int& v : q->out)
    if (same_as.count(v)) v = same_as[v];
  for (std::size_t k = 0; k < results.size(); ++k)
    if (results[k].places)
      q->out[k] = resharded(q->out[k], *results[k].spec, q->code.empty() ? SourcePtr{} : q->code.back().source);
  if (changed) r.program = q;
  return r;
}

void Propagation::want(int v, const Spec& spec) {
  auto s = sliced(has_[at(v)], spec);
  auto& w = wish_[at(v)];
  w = w ? common(*w, s) : s;
}
Spec Propagation::wished(int v) const {
  if (!wish_[at(v)]) return has(v);
  auto r = *wish_[at(v)];
  for (std::size_t d = 0; d < r.size(); ++d)
    if (r[d].open()) r[d] = has(v)[d];
  return r;
}
void Propagation::as_is(const Instruction& i) {
  for (int v : i.in) want(v, has(v));
}
void Propagation::take(const Instruction& i, Edit& e, std::size_t j, const Spec& spec) {
  want(i.in[j], spec);
  e.operands.resize(i.in.size());
  e.operands[j] = spec;
}
void Propagation::visit(const Instruction& i, Edit& e) {
  auto& p = *i.primitive;
  auto& t = p.traits;
  if (!t.holds) add(all_, cost_of(i), 1 / parts(has(i.out.empty() ? i.in[0] : i.out[0])));
  bool more = std::any_of(i.out.begin(), i.out.end(), [&](int v) { return wish_[at(v)] && wished(v) != has(v); });
  bool like = i.in.size() >= 1 && i.out.size() == 1 && p_.vars[at(i.in[0])] == p_.vars[at(i.out[0])];
  if (t.collective || t.blocks || t.opaque) as_is(i);
  else if (t.holds) held(i, e);
  else if (as<ops::Reshape>(p)) more ? reshape(i, e) : open_ends(i);
  else if (t.has_shard && t.view && like) {  // reshard and its kind: what it gives is what it wants
    auto out = i.out[0];
    auto spec = has(out);
    if (auto* said = ops::constraint_of(p)) {
      for (std::size_t d = 0; d < said->size(); ++d)
        if ((*said)[d].open()) spec[d] = wished(out)[d];
    } else if (i.in.size() == 2 && has(i.in[1]) == spec) {  // a cotangent is split like the value that it is of
      spec = sliced(has_[at(i.in[1])], wished(out));
    }
    bool same = spec == has(out);
    if (i.in.size() == 2 && !same) take(i, e, 1, spec);
    else as_is({i.primitive, {i.in.begin() + 1, i.in.end()}, {}});
    want(i.in[0], spec);
    if (!same) take(i, e, 0, sliced(has_[at(i.in[0])], spec)), made_[at(out)] = spec;
  } else if (t.random && i.in.size() == 1 && more) draw(i, e);
  else if (t.random) as_is(i);
  else if (auto* iota = as<ops::Iota>(p)) more ? count(*iota, e) : void();
  else by_factors(i, e);
}
void Propagation::terms(const Instruction& i, Edit& e) {
  auto out = i.out[0];
  auto spec = sliced(has_[at(out)], wished(out)), open = spec;
  for (std::size_t d = 0; wish_[at(out)] && d < open.size(); ++d)
    if ((*wish_[at(out)])[d].open()) open[d] = unconstrained;
  for (std::size_t j = 0; j < i.in.size(); ++j)
    if (spec == has(out)) want(i.in[j], open);
    else take(i, e, j, sliced(has_[at(i.in[j])], spec));
  made_[at(out)] = spec;
  save(i);
}
bool Propagation::writes(const Instruction& i, const DimFactors& f, Edit& e) {
  auto d = static_cast<std::size_t>(std::find(f.out[0].begin(), f.out[0].end(), kNone) - f.out[0].begin());
  auto out = i.out[0];
  if (d == f.out[0].size() || has(i.in[0]) != has(out) || !has_[at(i.in[0])].partial.empty()) return false;
  bool in_parts = !ops::contains(f.in[1], kNone);  // ranks may write parts of the updates
  auto spec = has(out);
  auto free = [&](const AxisName& a) {
    return std::all_of(i.in.begin() + 1, i.in.end(), [&](int v) {
      auto& x = has_[at(v)];
      return (in_parts || x.spec.trivial()) && !x.spec.uses(a) && !x.partial.has(a);
    });
  };
  for (auto& a : further(spec[d], wished(out)[d])) {
    if (!free(a)) break;
    spec[d].push_back(a);
  }
  if (spec == has(out)) return false;
  as_is({i.primitive, {i.in.begin() + 1, i.in.end()}, {}});
  take(i, e, 0, spec);
  made_[at(out)] = spec;
  save(i);
  return true;
}
void Propagation::open_ends(const Instruction& i) {
  auto spec = has(i.in[0]);
  auto &from = p_.vars[at(i.in[0])].shape, &to = p_.vars[at(i.out[0])].shape;
  if (auto& wish = wish_[at(i.out[0])]) {
    auto n = std::min(from.size(), to.size());
    for (std::size_t d = 0; d < n && from[d] == to[d]; ++d)
      if ((*wish)[d].open()) spec[d] = unconstrained;
    for (std::size_t d = 1; d <= n && from[from.size() - d] == to[to.size() - d]; ++d)
      if ((*wish)[to.size() - d].open()) spec[from.size() - d] = unconstrained;
  }
  want(i.in[0], spec);
}
void Propagation::by_factors(const Instruction& i, Edit& e) {
  std::vector<Sharded> in;
  Types types;
  for (int v : i.in) {
    in.push_back(has_[at(v)]);
    types.push_back(in.back().type);
  }
  auto f = i.primitive->factors(types);
  if (!f) return i.primitive->element() ? terms(i, e) : as_is(i);  // accumulate has none
  if (i.primitive->traits.has_shard && i.primitive->traits.in_place == 0 && writes(i, *f, e)) return;
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
  MeshAxes turning;
  for (auto& t : turns_of(*i.primitive, *f, in, splits, outer_.mesh())) turning.append(t.axes);
  busy.append(turning);
  std::map<std::int64_t, std::optional<MeshAxes>> more;
  std::set<std::int64_t> open, closed;
  for (std::size_t o = 0; o < i.out.size(); ++o)
    for (std::size_t d = 0; wish_[at(i.out[o])] && d < f->out[o].size(); ++d) {
      ((*wish_[at(i.out[o])])[d].open() ? open : closed).insert(f->out[o][d]);
      auto axes = further(has(i.out[o])[d], wished(i.out[o])[d]);
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
    for (std::size_t d = 0; d < spec.size(); ++d) {  // by_factors turns what it finds
      auto turned = [&](auto& a) { return turning.has(a); };
      if (f->in[j][d] == kNone && std::any_of(in[j].spec[d].begin(), in[j].spec[d].end(), turned))
        spec[d] = in[j].spec[d];
    }
    if (std::any_of(f->in[j].begin(), f->in[j].end(), grows)) take(i, e, j, spec);
    else {
      spec = summed(i, *f, j, spec);
      for (std::size_t d = 0; d < spec.size(); ++d)
        if (auto l = f->in[j][d]; spec[d].empty() && open.count(l) && !closed.count(l)) spec[d] = unconstrained;
      want(i.in[j], spec);
    }
  }
  for (std::size_t o = 0; o < i.out.size(); ++o)
    for (std::size_t d = 0; d < f->out[o].size(); ++d)
      if (grows(f->out[o][d])) made_[at(i.out[o])][d].append(*more[f->out[o][d]]);
  save(i);
}
Spec Propagation::summed(const Instruction& i, const DimFactors& f, std::size_t j, Spec spec) const {
  std::int64_t given = 0, made = 0;
  for (int v : i.in) given += p_.vars[at(v)].size();
  for (int v : i.out) made += p_.vars[at(v)].size();
  if (i.primitive->traits.has_shard || made * kSumsWell > given) return spec;
  for (std::size_t d = 0; d < spec.size(); ++d) {
    auto label = f.in[j][d];
    auto has_label = [&](auto& labels) { return ops::contains(labels, label); };
    if (label != kNone && has(i.in[j])[d].empty() && spec[d].empty() &&
        std::count_if(f.in.begin(), f.in.end(), has_label) == 1 &&
        std::none_of(f.out.begin(), f.out.end(), has_label))
      spec[d] = unconstrained;
  }
  return spec;
}
double Propagation::parts(const Spec& spec) const {
  double n = 1;
  for (auto& axes : spec) n *= outer_.mesh().parts(axes);
  return n;
}
Cost Propagation::cost_of(const Instruction& i) const {
  Types in, out;
  for (int v : i.in) in.push_back(p_.vars[at(v)]);
  for (int v : i.out) out.push_back(p_.vars[at(v)]);
  return i.primitive->cost(in, out);
}
void Propagation::save(const Instruction& i) {
  if (i.out.empty() || made_[at(i.out[0])] == has(i.out[0])) return;
  add(saved_, cost_of(i), 1 / parts(has(i.out[0])) - 1 / parts(made_[at(i.out[0])]));
}
void Propagation::reshape(const Instruction& i, Edit& e) {
  types_->communicated = false;
  auto moved = [&](int from, int to, const Spec& spec) {
    Sharded x{types_->value({on_types_.local_shape(p_.vars[at(from)].shape, spec), p_.vars[at(from)].dtype}),
              p_.vars[at(from)], spec};
    return ops::Reshape{p_.vars[at(to)].shape}.shard({x}, on_types_)->front().spec;
  };
  auto spec = sliced(has_[at(i.in[0])], moved(i.out[0], i.in[0], wished(i.out[0])));
  auto made = moved(i.in[0], i.out[0], spec);
  if (types_->communicated) return as_is(i);
  take(i, e, 0, spec);
  made_[at(i.out[0])] = made;
  save(i);
}
void Propagation::draw(const Instruction& i, Edit& e) {
  auto spec = wished(i.out[0]);
  auto [keys, placed] = drawn_at(*i.primitive, spec);
  take(i, e, 0, keys);
  e.primitive = placed;
  made_[at(i.out[0])] = spec;
  save(i);
}
void Propagation::count(const ops::Iota& iota, Edit& e) {
  if (iota.shape.size() < 2) return;
  e.source = primitive(ops::Iota{{iota.shape[static_cast<std::size_t>(iota.dim)]}, 0, iota.dtype});
  e.primitive = primitive(ops::BroadcastInDim{iota.shape, {iota.dim}});
}
Propagated propagated(const Program& p, const std::vector<Sharded>& values, const std::vector<Result>& results,
                      const Shard& s) {
  auto given = own_draws(p, values);
  Propagation pass(given, s);
  pass.backward(results);
  return pass.rewritten(results);
}

ProgramPtr propagate(const ProgramPtr& p, const std::vector<Sharded>& values, const Shard& s, const Forced& force) {
  bool placed = std::any_of(p->code.begin(), p->code.end(), [](auto& i) { return i.primitive->traits.enters_shard; }) ||
                std::any_of(p->in.begin(), p->in.end(),
                            [&](int v) { return !values[static_cast<std::size_t>(v)].spec.trivial(); }) ||
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
