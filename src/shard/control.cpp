// Control primitives under Shard: the held Program is run again under Shard over a new Stage, which gives the local
// one.
#include <algorithm>
#include <utility>
#include "bora/array/communicator.h"
#include "bora/base/fields.h"
#include "compile/api/control.h"
#include "ops/api/collective_primitives.h"
#include "shard/agreement.h"
#include "shard/held_body.h"
#include "shard/interpreter.h"
#include "shard/propagate.h"

namespace bora::fx {
namespace {
Sharded without_local(Sharded v) {
  v.local = {};
  return v;
}
/// Does it, or a Program it holds, work on blocks of each rank's own (shard_map)?
bool speaks_of_blocks(const Program& p) {
  return std::any_of(p.code.begin(), p.code.end(), [](auto& i) {
    auto& t = i.primitive->traits;
    auto held = i.primitive->programs();
    return t.collective || t.opaque || t.blocks ||
           std::any_of(held.begin(), held.end(), [](auto& h) { return speaks_of_blocks(*h); });
  });
}
/// Before a partitioned Program runs for the first time, the ranks compare its arguments, results and collectives, and
/// the Program that was partitioned: others may have collectives that look alike. Returns the arguments as compared.
OriginPtr agree(const ProgramPtr& global, const ShardedProgram& made, const std::vector<Sharded>& in, const Shard& s) {
  if (s.mesh().size() == 1) return nullptr;
  auto split = [](auto& x) { return !x.spec.trivial() || !x.partial.empty(); };
  bool meets = speaks_of_blocks(*made.program) || std::any_of(in.begin(), in.end(), split) ||
               std::any_of(made.out.begin(), made.out.end(), split);
  auto whole = speaks_of_blocks(*global) ? Whole::ranked : meets ? Whole::same : Whole::own;
  auto arguments = said_of(in, whole);
  auto mine = facts_of("argument", arguments, global->labels);
  std::size_t k = 0;
  auto collective = [&](const std::string& words) {
    mine += fact("collective " + std::to_string(k++) + " is", "[" + words + "]");
  };
  for (auto& line : fingerprint(*made.program)) collective(line);
  collective("nothing more");
  mine += facts_of("result", said_of(made.out, whole));
  if (whole != Whole::own)
    fields::for_each(global->compile, [&](std::string_view name, bool on) {
      mine += fact("compile option " + std::string(name) + " is", on ? "true" : "false");
    });
  auto agreed = Origin::of(arguments);
  auto what = "fingerprint\na Program runs for the first time, with " + agreed->text();
  constexpr char kEnd = '\x1d';  // behind it: the hash of the global Program
  auto all = here().communicator->exchange(
      mine + kEnd + (whole == Whole::own ? std::string() : global_fingerprint(*global)), what);
  std::vector<std::string> facts, hashes;
  for (auto& text : all) {
    facts.push_back(text.substr(0, text.find(kEnd)));
    hashes.push_back(text.substr(text.find(kEnd)));
  }
  constexpr std::string_view remedy =
      "every rank must run the same operations on arrays of the same shapes, dtypes and Specs (do their data "
      "differ in length? is there a branch on the rank?)";
  check_agreement(facts, "the ranks' programs", remedy);
  if (std::any_of(hashes.begin(), hashes.end(), [&](auto& h) { return h != hashes[0]; }))
    quote_global_difference(*global, *here().communicator, remedy);
  return agreed;
}
}  // namespace

namespace {
ShardedProgram partitioned(const Program& p, const std::vector<Sharded>& in, const Shard& outer, const Forced& force) {
  Stage stage(current(), true, p.compile);
  Shard s(&stage, outer.mesh(), outer.rank());
  ShardedProgram r;
  std::vector<Sharded> values(p.vars.size());
  Arrays x, out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto y = in[i];
    y.symbolic = {};
    y.moved = {};
    y.local = stage.input({s.local_shape(y.type.shape, y.spec), y.type.dtype},
                          i < p.labels.size() ? p.labels[i] : std::string());
    x.push_back(s.wrap(y));
  }
  {
    Within w(&s);
    out = interpret(p, x, [&](int v, const Array& a) {
      auto& seen = values[static_cast<std::size_t>(v)] = without_local(s.view(a));
      seen.moved = {};
      if (seen.symbolic) seen.symbolic = std::make_shared<const Symbolic>(Symbolic{{}, {}, seen.symbolic->size});
    });
  }
  Within w(&stage);
  for (std::size_t k = 0; k < out.size(); ++k) {
    auto v = s.real(s.view(out[k]));
    if (k < force.size() && force[k]) {
      auto& f = *force[k];
      v = s.reshard(v, f.spec, f.partial);
      if (v.partial != f.partial) v = s.to_partial(s.resolve(v), f.partial);
    }
    out[k] = v.local;
    r.out.push_back(without_local(v));
  }
  r.values = std::make_shared<const std::vector<Sharded>>(std::move(values));
  r.program = stage.finish(out);
  check<TraceError>(stage.captures.empty(), "a sharding rule made a concrete array while a Program was partitioned");
  return r;
}
}  // namespace

ShardedProgram shard_program(const ProgramPtr& p, const std::vector<Sharded>& in, const Shard& outer,
                             const Forced& force, bool draft) {
  std::string key = (draft ? "draft " : "shard ") + std::to_string(outer.rank()) + " " + to_string(outer.mesh());
  for (auto& x : in) key += ' ' + describe(x);
  for (auto& f : force) key += " >" + (f ? describe(*f) : std::string());
  auto make = [&] {
    auto first = partitioned(*p, in, outer, force);
    first.placed = first.values;
    if (draft) return first;
    auto q = propagate(p, *first.values, outer, force);
    if (q == p) return first;
    auto second = partitioned(*q, in, outer, force);
    second.global = q;
    second.placed = std::exchange(second.values, first.values);
    return second;
  };
  auto r = *p->memo.get<ShardedProgram>(Form::sharded, key, make, outer.rank());
  if (!r.global) r.global = p;  // not in p's memo: it would keep itself alive
  // With the ranks of this mesh: another one of its shape, or an abstract one, has compared nothing with them.
  if (current() == eval_interpreter())
    r.agreed = *p->memo.get<OriginPtr>(Form::agreed, std::to_string(outer.id) + " " + key,
                                       [&] { return agree(p, r, in, outer); }, outer.rank());
  return r;
}
namespace {
Arrays locals(const std::vector<Sharded>& v) {
  Arrays a;
  for (auto& x : v) a.push_back(x.local);
  return a;
}
/// Fixed point of the carry's Spec and pending sums: a carry takes the split its body gives it, and stays a pending sum
/// through the whole loop when it can. x: all inputs of the body; carries are the n from `first` on, which may be
/// symbolic: a zero accumulator is born as the block that the loop wants.
std::pair<ShardedProgram, std::vector<Sharded>> shard_loop(const ProgramPtr& body, std::vector<Sharded> x,
                                                           std::size_t first, std::size_t n, const Shard& s) {
  std::vector<bool> no_partial(n);
  auto start = x;
  std::size_t rounds = 1;  // each but the last splits a dimension of a carry, or takes or drops its pending sum
  for (std::size_t i = 0; i < n; ++i) rounds += x[first + i].spec.size() + 2;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Sharded> in;
    for (auto& v : x) in.push_back(without_local(v));
    auto q = shard_program(body, in, s, {}, true);
    bool changed = false;
    for (std::size_t i = 0; i < n; ++i) {
      auto& c = x[first + i];
      auto& o = q.out[i];
      auto uses = [&](const AxisName& a) { return c.spec.uses(a) || c.partial.has(a); };
      for (std::size_t d = 0; d < c.spec.size(); ++d)
        if (c.spec[d].empty() && !o.spec[d].empty() && std::none_of(o.spec[d].begin(), o.spec[d].end(), uses)) {
          c.spec[d] = o.spec[d];
          changed = true;
        }
      if (c.partial == o.partial) continue;
      auto want = no_partial[i] || !c.partial.empty() ? MeshAxes{} : o.partial;
      if (std::any_of(want.begin(), want.end(), uses)) want = {};
      if (want.empty()) no_partial[i] = true;
      if (want != c.partial) {
        c.partial = want;
        changed = true;
      }
    }
    if (changed) continue;
    Forced force(q.out.size());
    for (std::size_t i = 0; i < n; ++i) force[i] = without_local(x[first + i]);
    auto forced = shard_program(body, in, s, force);
    for (std::size_t i = 0; i < n; ++i) {
      auto& c = x[first + i];
      auto want = c.partial;
      auto y = s.reshard(start[first + i], c.spec);
      c = want.empty() ? y : s.to_partial(y, want);
    }
    return {forced, x};
  }
  fail<ShardError>(
      "scan: no fixed Spec for the carry was found; constrain it with with_sharding_constraint inside of the body");
}
}  // namespace
}  // namespace bora::fx

namespace bora::ops {
using namespace fx;
namespace {
const Shard& shard_of(ShardRules& s) { return static_cast<const Shard&>(s); }
std::vector<Sharded> with_locals(std::vector<Sharded> out, const Arrays& y) {
  for (std::size_t k = 0; k < y.size(); ++k) out[k].local = y[k];
  return out;
}
}  // namespace

std::vector<Sharded> Call::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  auto q = shard_program(program, in, shard_of(s));
  shard_of(s).note(q.agreed);
  Call local = *this;
  local.program = q.program;
  return with_locals(q.out, call(local, locals(in)));
}
/// Tape comes before Shard: derivatives have been taken already.
std::vector<Sharded> CustomVjp::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  return Call{program}.shard(in, s);
}
std::vector<Sharded> LinearSolve::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  return Call{solve}.shard(in, s);
}
std::vector<Sharded> Root::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  return Call{program}.shard(in, s);
}

std::vector<Sharded> Scan::shard(const std::vector<Sharded>& in, ShardRules& rules) const {
  auto& s = shard_of(rules);
  auto N = static_cast<std::size_t>(consts), K = static_cast<std::size_t>(carries);
  std::vector<Sharded> x;  // xs as the body sees them, without the scanned dimension
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto spec = in[i].spec;
    if (i >= N + K) spec[0] = {};
    bool carry = i >= N && i < N + K;
    x.push_back(carry && in[i].symbolic && in[i].partial.empty() ? in[i] : s.reshard(in[i], spec));
    if (i >= N + K) {
      x[i].type.shape.erase(0);
      x[i].spec.erase(0);
    }
  }
  auto [q, ready] = shard_loop(body, x, N, K, s);
  s.note(q.agreed);
  auto y = call(Scan{q.program, consts, carries, length, reverse}, locals(ready));
  auto out = with_locals(q.out, y);
  for (std::size_t k = K; k < out.size(); ++k) {
    out[k].type.shape.insert(0, length);
    out[k].spec.insert(0, MeshAxes{});
  }
  return out;
}
/// Outputs: the true branch's Specs, sums completed. The predicate is complete, hence the same on every rank.
std::vector<Sharded> Cond::shard(const std::vector<Sharded>& in, ShardRules& rules) const {
  auto& s = shard_of(rules);
  std::vector<Sharded> operands;
  Arrays x{s.reshard(in[0], Spec{}).local};
  for (std::size_t i = 1; i < in.size(); ++i) {
    operands.push_back(s.resolve(in[i]));
    x.push_back(operands.back().local);
    operands.back().local = {};
  }
  Forced force;
  for (auto o : shard_program(on_true, operands, s).out) {
    o.partial = {};
    force.push_back(o);
  }
  auto yes = shard_program(on_true, operands, s, force), no = shard_program(on_false, operands, s, force);
  s.note(yes.agreed);
  s.note(no.agreed);
  auto y = call(Cond{yes.program, no.program}, x);
  std::vector<Sharded> r;
  for (auto& f : force) r.push_back(*f);
  return with_locals(r, y);
}
std::vector<Sharded> While::shard(const std::vector<Sharded>& in, ShardRules& rules) const {
  auto& s = shard_of(rules);
  std::vector<Sharded> x;
  auto cc = static_cast<std::size_t>(cond_consts), bc = static_cast<std::size_t>(body_consts);
  for (auto& v : in) x.push_back(x.size() >= cc + bc && v.symbolic && v.partial.empty() ? v : s.resolve(v));
  std::vector<Sharded> b(x.begin() + cond_consts, x.end()), c(x.begin(), x.begin() + cond_consts);
  auto [q, ready] = shard_loop(body, b, bc, body->out.size(), s);
  s.note(q.agreed);
  c.insert(c.end(), ready.begin() + body_consts, ready.end());
  Arrays a;
  for (std::size_t i = 0; i < cc; ++i) a.push_back(x[i].local);
  for (auto& v : ready) a.push_back(v.local);
  for (auto& v : c) v.local = {};
  auto pred = shard_program(cond, c, s, {Sharded{{}, {{}, Dtype::boolean}, {}}});
  auto more = lanes ? fx::of_own_lanes(pred.program, *q.program) : pred.program;
  return with_locals(q.out, call(While{more, q.program, cond_consts, body_consts, lanes}, a));
}
}  // namespace bora::ops
