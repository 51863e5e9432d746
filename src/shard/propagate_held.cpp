// Specs that flow back through loops, branches and calls: into the Programs that they hold.
#include <algorithm>
#include <map>
#include "shard/propagation.h"

namespace bora::fx {
namespace {
std::vector<Sharded> with_carries(const Body& b, std::vector<Sharded> in, const std::vector<Spec>& carries) {
  for (std::size_t k = 0; k < b.carries; ++k) in[b.consts + k].spec = carries[k];
  return in;
}
/// How many collectives a run of p does, where a while_loop goes round once.
double collectives(const Program& p) {
  double n = 0;
  for (auto& i : p.code) {
    if (i.primitive->traits.collective) ++n;
    auto b = body_of(i);
    for (auto& q : i.primitive->programs()) n += (b ? b->times : 1) * collectives(*q);
  }
  return n;
}
}  // namespace
void Propagation::held(const Instruction& i, Edit& e) {
  auto b = body_of(i);
  if (!b) return as_is(i);
  if (b->other) return branches(i, *b, e);
  auto carry = [&](std::size_t j) { return j >= b->consts && j < b->consts + b->carries; };
  auto stacked = [&](std::size_t k, std::size_t first) { return b->stacks && k >= first; };
  auto in = arguments_of(i, *b, has_);
  auto more = carried(i, *b, in);
  auto results = results_of(i, *b, more);
  for (std::size_t k = 0; k < i.out.size(); ++k) {
    if (k < b->carries) made_[at(i.out[k])] = more[k];
    else if (results[k].places) {
      made_[at(i.out[k])] = *results[k].spec;
      if (b->stacks) made_[at(i.out[k])].insert(0, has(i.out[k])[0]);
    }
  }
  auto r = inside(i, *b, in, more, results);
  add(all_, r.all, b->times);
  add(saved_, r.saved, b->times);
  if (r.program)
    e.primitive = with_programs(i.primitive, [&](auto& q) { return q == b->program ? r.program : q; });
  for (std::size_t j = 0; j < b->first; ++j) want(i.in[j], has(i.in[j]));
  for (std::size_t j = 0; j < in.size(); ++j) {
    auto v = i.in[b->first + j];
    if (stacked(j, b->consts + b->carries)) r.in[j].insert(0, has(v)[0]);
    if (!carry(j) && (b->call || j < b->consts)) take(i, e, b->first + j, r.in[j]);  // cut once, not in each round
    else if (!carry(j)) want(v, r.in[j]);
    else if (auto& spec = more[j - b->consts]; spec == has(i.out[j - b->consts])) want(v, has(v));
    else take(i, e, b->first + j, spec);
  }
}
std::vector<Result> Propagation::results_of(const Instruction& i, const Body& b,
                                            const std::vector<Spec>& carries) const {
  std::vector<Result> r;
  for (std::size_t k = 0; k < i.out.size(); ++k) {
    auto spec = k < b.carries ? carries[k] : wished(i.out[k]), now = has(i.out[k]);
    if (k >= b.carries && b.stacks) spec.erase(0), now.erase(0);
    if (k < b.carries) r.push_back({spec, false});
    else if (!wish_[at(i.out[k])]) r.push_back({Spec(std::vector<MeshAxes>(now.size(), unconstrained)), false});
    else r.push_back(spec == now ? Result{} : Result{spec, true});
  }
  return r;
}
Propagated Propagation::inside(const Instruction& i, const Body& b, const std::vector<Sharded>& in,
                               const std::vector<Spec>& carries, const std::vector<Result>& results) const {
  auto run = [&](const std::vector<Sharded>& x, const std::vector<Result>& wanted) {
    auto force = forced(i, b, x, has_);
    return propagated(*b.program, *shard_program(b.program, x, outer_, force).values, wanted, outer_);
  };
  auto x = with_carries(b, in, carries);
  auto r = run(x, results);
  bool same = true;
  for (std::size_t k = 0; k < b.carries; ++k) same = same && carries[k] == in[b.consts + k].spec;
  if (same) return r;
  auto before = results;
  for (std::size_t k = 0; k < b.carries; ++k) before[k].spec = in[b.consts + k].spec;
  auto whole = run(in, before).all;
  r.saved.flops += whole.flops - r.all.flops;
  r.saved.bytes += whole.bytes - r.all.bytes;
  r.all = whole;
  return r;
}
std::vector<Spec> Propagation::carried(const Instruction& i, const Body& b, const std::vector<Sharded>& in) const {
  std::vector<Spec> has_now, wanted;
  for (std::size_t k = 0; k < b.carries; ++k) {
    has_now.push_back(has(i.out[k]));
    wanted.push_back(has_[at(i.out[k])].partial.empty() ? wished(i.out[k]) : has_now[k]);
  }
  // A carry that nobody reads in the end is split as what the body makes of it is wanted.
  std::vector<std::size_t> unread;
  for (std::size_t k = 0; k < b.carries; ++k)
    if (!wish_[at(i.out[k])] && has_[at(i.out[k])].partial.empty()) unread.push_back(k);
  auto results = results_of(i, b, wanted);
  bool more = wanted != has_now || std::any_of(results.begin(), results.end(), [](auto& r) { return r.places; });
  if (more && !unread.empty()) {
    for (auto k : unread) results[k].spec = Spec(std::vector<MeshAxes>(wanted[k].size(), unconstrained));
    auto asks = inside(i, b, in, has_now, results).in;
    for (auto k : unread) wanted[k] = asks[b.consts + k];
  }
  if (wanted == has_now) return has_now;
  auto x = with_carries(b, in, wanted);
  auto drafted = shard_program(b.program, x, outer_, {}, true).out;
  for (std::size_t k = 0; k < drafted.size(); ++k) {
    auto spec = k < b.carries ? wanted[k] : wished(i.out[k]), now = has(i.out[k]);
    if (k >= b.carries) spec.erase(0), now.erase(0);
    auto& o = drafted[k].spec;
    bool widens = false;  // the fixed point would split it along a further dimension
    for (std::size_t d = 0; d < o.size(); ++d) widens = widens || (spec[d].empty() && !o[d].empty());
    if (k < b.carries ? widens || drafted[k].partial != in[b.consts + k].partial : o != spec && o != now)
      return has_now;
  }
  auto sends = [&](const std::vector<Sharded>& y) {
    auto body = shard_program(b.program, y, outer_, forced(i, b, y, has_)).program;
    double n = collectives(*body);
    if (b.condition) {
      std::vector<Sharded> c;
      for (std::size_t j = 0; j < b.first; ++j) c.push_back(has_[at(i.in[j])]), c.back().symbolic = {};
      c.insert(c.end(), y.begin() + static_cast<std::ptrdiff_t>(b.consts), y.end());
      auto more = shard_program(b.condition, c, outer_, {Sharded{{}, {{}, Dtype::boolean}, {}}}).program;
      n += collectives(b.lanes ? *of_own_lanes(more, *body) : *more);
    }
    return n;
  };
  return sends(x) <= sends(in) ? wanted : has_now;
}
void Propagation::branches(const Instruction& i, const Body& b, Edit& e) {
  auto in = arguments_of(i, b, has_);
  auto force = forced(i, b, in, has_);
  std::vector<Result> results;
  for (int v : i.out) {
    results.push_back({wished(v), wished(v) != has(v)});
    made_[at(v)] = wished(v);
  }
  want(i.in[0], has(i.in[0]));
  std::map<const Program*, ProgramPtr> placed;
  for (auto& branch : {b.program, b.other}) {
    auto r = propagated(*branch, *shard_program(branch, in, outer_, force).values, results, outer_);
    if (r.program) placed[branch.get()] = r.program;
    add(all_, r.all, 0.5);
    add(saved_, r.saved, 0.5);
    for (std::size_t j = 0; j < in.size(); ++j) want(i.in[j + 1], r.in[j]);
  }
  if (placed.empty()) return;
  e.primitive = with_programs(i.primitive, [&](auto& q) { return placed.count(q.get()) ? placed[q.get()] : q; });
}
}  // namespace bora::fx
