#include "schedule/plan.h"
#include <algorithm>
#include <numeric>
#include "schedule/sum.h"
#include "wire/hash.h"

namespace bora::transport {
namespace {
using Kind = Step::Kind;
std::int64_t total(const std::vector<std::int64_t>& v) { return std::accumulate(v.begin(), v.end(), std::int64_t{0}); }
bool rooted(Op op) { return op == Op::broadcast || op == Op::gather || op == Op::scatter; }
bool one_count(Op op) {
  return op == Op::all_reduce || op == Op::broadcast || op == Op::permute || op == Op::send_recv;
}
bool all_parts(Op op) {  // every member knows every part
  return op == Op::all_gather || op == Op::reduce_scatter || op == Op::gather || op == Op::scatter;
}
bool part_counts(Op op) { return all_parts(op) || op == Op::all_to_all; }

void validate(const Collective& c, const Group& g, int rank) {
  auto n = g.ranks.size();
  auto name = word(c.op);
  if (one_count(c.op))
    check<ValueError>(c.send_counts.size() == 1, name, ": send_counts must be {n}, it has ", c.send_counts.size(),
                      " entries");
  if (part_counts(c.op))
    check<ValueError>(c.recv_counts.size() == n, name, ": recv_counts has ", c.recv_counts.size(),
                      " entries for a group of ", n);
  if (c.op == Op::all_to_all) {
    check<ValueError>(c.send_counts.size() == n, name, ": send_counts has ", c.send_counts.size(),
                      " entries for a group of ", n);
    auto me = static_cast<std::size_t>(rank);
    check<ValueError>(c.send_counts[me] == c.recv_counts[me], name, ": sends ", c.send_counts[me],
                      " elements to itself and expects ", c.recv_counts[me]);
    auto same = [&](auto& counts) {
      return std::all_of(counts.begin(), counts.end(), [&](auto k) { return k == c.send_counts[0]; });
    };
    check<ValueError>(!c.uniform || (same(c.send_counts) && same(c.recv_counts)), name,
                      ": uniform, but its parts differ in length");
  }
  for (auto* counts : {&c.send_counts, &c.recv_counts})
    for (auto k : *counts) check<ValueError>(k >= 0, name, ": a count is negative: ", k);
  auto member = [&](int p) { return p >= -1 && p < static_cast<int>(n); };
  if (rooted(c.op))
    check<ValueError>(c.root >= 0 && member(c.root), name, ": root ", c.root, " is not a position in a group of ", n);
  check<ValueError>(member(c.source) && member(c.target), name, ": source ", c.source, " or target ", c.target,
                    " is not a position in a group of ", n);
  if (c.wire)
    check<DtypeError>(reduces(c.op) && c.dtype == Dtype::f32 && *c.wire == Dtype::bf16, name, ": ", c.dtype,
                      " cannot travel as ", *c.wire, "; only f32 sums can, as bf16");
  if (!reduces(c.op)) return;
  check<DtypeError>(is_numeric(c.dtype), name, ": random keys cannot be reduced");
  auto r = c.reduce;
  bool known = r == Reduce::sum || r == Reduce::mean || r == Reduce::max || r == Reduce::min;
  check<ValueError>(known, name, ": ranks combine by sum, mean, max or min");
  check<DtypeError>(c.reduce != Reduce::mean || is_float(c.dtype), name, ": a mean needs a floating dtype, got ",
                    c.dtype);
}
}  // namespace

std::int64_t count_of(const Collective& c) {
  if (c.op == Op::barrier) return 0;
  if (c.op == Op::all_to_all) return total(c.send_counts);
  return one_count(c.op) ? c.send_counts.empty() ? 0 : c.send_counts[0] : total(c.recv_counts);
}
namespace {
std::uint64_t fingerprint_of(const Group& g, const Collective& c) {
  Hash h;
  h.text(g.name).list(g.ranks).num(c.op).num(c.dtype).num(c.wire.value_or(c.dtype)).num(c.fingerprint);
  if (reduces(c.op)) h.num(c.reduce);
  if (one_count(c.op)) h.num(count_of(c));
  if (all_parts(c.op)) h.list(c.recv_counts);
  if (rooted(c.op)) h.num(c.root);
  if (c.op == Op::all_to_all) h.num(c.uniform && !c.send_counts.empty() ? c.send_counts[0] : -1);
  return h.value();
}
}  // namespace

bool same_but_buffers(const Collective& a, const Collective& b) {
  auto rest = [](const Collective& c) {
    return std::tie(c.op, c.reduce, c.dtype, c.root, c.source, c.target, c.uniform, c.wire, c.fingerprint,
                    c.send_counts, c.recv_counts);
  };
  return rest(a) == rest(b);
}
Plan make_plan(const Group& group, const Collective& c, const Layout& layout, const Tuning& tuning, int rank) {
  validate(c, group, rank);
  Plan plan{.like = c,
            .group = group.name,
            .count = count_of(c),
            .dtype = c.wire.value_or(c.dtype),
            .fingerprint = fingerprint_of(group, c)};
  plan.like.in = plan.like.out = nullptr;
  plan.like.describe = nullptr;
  auto size = static_cast<int>(group.ranks.size());
  auto element = static_cast<std::int64_t>(dtype_size(plan.dtype)),
       running = static_cast<std::int64_t>(running_size(plan.dtype));
  plan.algorithm = choose_algorithm({c.op, plan.count * element, c.uniform}, layout, tuning);
  auto limit = chunk_limit(layout, tuning);
  plan.schedule = make_schedule(
      {c.op, rank, size, c.send_counts, c.recv_counts, c.root, c.source, c.target, layout.blocks}, plan.algorithm);
  plan.schedule.in_turns = plan.schedule.in_turns && layout.hosts > 1;  // memory has no switch
  // Within a host the receiver fetches such a stream itself, and cutting it finer only costs system calls.
  bool whole = layout.hosts == 1 && plan.algorithm == Algorithm::direct && !reduces(c.op);
  plan.expected.resize(group.ranks.size());
  auto talks_to = [&](int position) { plan.peers.push_back(group.ranks[static_cast<std::size_t>(position)]); };
  std::vector<int> latest(group.ranks.size(), -1);  // step that sends to each
  for (auto& step : plan.schedule.steps) {
    auto n = step.kind == Kind::send || step.kind == Kind::copy ? step.from.size() : step.to.size();
    Plan::Messages m{.first = plan.streams.size()};
    bool travels = step.kind == Kind::send || receives(step);
    m.chunk = !travels ? std::max<std::int64_t>(n, 1)
              : whole  ? limit / element
                       : chunk_elements(n, static_cast<std::size_t>(plan.schedule.running ? running : element), limit);
    // An empty range is one empty message: ranks still synchronise.
    m.chunks = std::max<std::int64_t>(1, (n + m.chunk - 1) / m.chunk);
    auto expect = [&](int peer, std::int64_t bytes) {
      plan.streams.push_back({peer, bytes});
      plan.expected[static_cast<std::size_t>(peer)] += n * bytes;
      talks_to(peer);
    };
    if (step.kind == Kind::receive) expect(step.peer, element);
    if (step.kind == Kind::sum) {
      if (step.peer >= 0) expect(step.peer, running);
      for (int k = step.first; k < step.last; ++k)
        if (k != rank) expect(k, element);
      if (step.next >= 0) talks_to(step.next);
    }
    if (step.kind == Kind::send) talks_to(step.peer);
    if (int to = step.kind == Kind::send  ? step.peer
                 : step.kind == Kind::sum ? step.next
                                          : -1;
        to >= 0 && plan.schedule.in_order)
      m.before = std::exchange(latest[static_cast<std::size_t>(to)], static_cast<int>(plan.messages.size()));
    m.last = plan.streams.size();
    plan.messages.push_back(m);
  }
  std::sort(plan.peers.begin(), plan.peers.end());
  plan.peers.erase(std::unique(plan.peers.begin(), plan.peers.end()), plan.peers.end());
  return plan;
}
}  // namespace bora::transport
