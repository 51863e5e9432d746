#include "schedule/plan.h"
#include <algorithm>
#include <numeric>
#include "schedule/codec.h"
#include "schedule/sum.h"
#include "wire/hash.h"

namespace bora::transport {
namespace {
using Kind = Step::Kind;
std::int64_t total(const std::vector<std::int64_t>& v) { return std::accumulate(v.begin(), v.end(), std::int64_t{0}); }
bool rooted(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
}
bool one_count(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::broadcast || kind == CollectiveKind::permute ||
         kind == CollectiveKind::send_recv;
}
bool all_parts(CollectiveKind kind) {  // every member knows every part
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
}
bool part_counts(CollectiveKind kind) { return all_parts(kind) || kind == CollectiveKind::all_to_all; }

void validate(const CollectiveCall& c, const Group& g, int rank) {
  auto n = g.ranks.size();
  auto name = word(c.kind);
  if (one_count(c.kind))
    check<ValueError>(c.send_counts.size() == 1, name, ": send_counts must be {n}, it has ", c.send_counts.size(),
                      " entries");
  if (part_counts(c.kind))
    check<ValueError>(c.recv_counts.size() == n, name, ": recv_counts has ", c.recv_counts.size(),
                      " entries for a group of ", n);
  if (c.kind == CollectiveKind::all_to_all) {
    check<ValueError>(c.send_counts.size() == n, name, ": send_counts has ", c.send_counts.size(),
                      " entries for a group of ", n);
    auto me = static_cast<std::size_t>(rank);
    check<ValueError>(c.send_counts[me] == c.recv_counts[me], name, ": sends ", c.send_counts[me],
                      " elements to itself and expects ", c.recv_counts[me]);
    auto same = [&](auto& counts) {
      return std::all_of(counts.begin(), counts.end(), [&](auto k) { return k == c.send_counts[0]; });
    };
    check<ValueError>(!c.uniform || !c.sparse, name, ": uniform parts are not sparse; one of the two must be off");
    check<ValueError>(!c.uniform || (same(c.send_counts) && same(c.recv_counts)), name,
                      ": uniform, but its parts differ in length");
  }
  for (auto* counts : {&c.send_counts, &c.recv_counts})
    for (auto k : *counts) check<ValueError>(k >= 0, name, ": a count is negative: ", k);
  auto member = [&](int p) { return p >= -1 && p < static_cast<int>(n); };
  if (rooted(c.kind))
    check<ValueError>(c.root >= 0 && member(c.root), name, ": root ", c.root, " is not a position in a group of ", n);
  check<ValueError>(member(c.source) && member(c.target), name, ": source ", c.source, " or target ", c.target,
                    " is not a position in a group of ", n);
  if (!c.wire.exact()) {
    auto wire = word(c.wire.codec);
    check_block(c.wire, name);
    check<DtypeError>(reduces(c.kind) && c.dtype == Dtype::f32, name, ": ", c.dtype, " cannot travel as ", wire,
                      "; only f32 sums can");
    check<ValueError>(!c.wire.blocks() || c.reduce == Reduction::sum || c.reduce == Reduction::mean, name, ": a ",
                      word(c.reduce), " cannot travel as ", wire, "; only a sum or mean can");
  }
  if (!reduces(c.kind)) return;
  check<DtypeError>(is_numeric(c.dtype), name, ": random keys cannot be reduced");
  bool ordered = c.reduce == Reduction::max || c.reduce == Reduction::min;
  check<DtypeError>(!ordered || !is_complex(c.dtype), name, ": complex numbers have no order");
  auto r = c.reduce;
  bool known = r == Reduction::sum || r == Reduction::mean || r == Reduction::max || r == Reduction::min;
  check<ValueError>(known, name, ": ranks combine by sum, mean, max or min");
  check<DtypeError>(c.reduce != Reduction::mean || is_float(c.dtype), name, ": a mean needs a floating dtype, got ",
                    c.dtype);
}
}  // namespace

std::int64_t count_of(const CollectiveCall& c) {
  if (c.kind == CollectiveKind::barrier) return 0;
  if (c.kind == CollectiveKind::all_to_all) return total(c.send_counts);
  return one_count(c.kind) ? c.send_counts.empty() ? 0 : c.send_counts[0] : total(c.recv_counts);
}
namespace {
std::uint64_t fingerprint_of(const Group& g, const CollectiveCall& c) {
  Hash h;
  h.text(g.name).list(g.ranks).num(c.kind).num(c.dtype).num(c.wire.codec).num(c.fingerprint);
  if (c.wire.blocks()) h.num(c.wire.block);
  if (reduces(c.kind)) h.num(c.reduce);
  if (one_count(c.kind)) h.num(count_of(c));
  if (all_parts(c.kind)) h.list(c.recv_counts);
  if (rooted(c.kind)) h.num(c.root);
  if (c.kind == CollectiveKind::all_to_all)
    h.num(c.sparse ? -2 : c.uniform && !c.send_counts.empty() ? c.send_counts[0] : -1);
  return h.value();
}
}  // namespace

bool same_but_buffers(const CollectiveCall& a, const CollectiveCall& b) {
  auto rest = [](const CollectiveCall& c) {
    return std::tie(c.kind, c.reduce, c.dtype, c.root, c.source, c.target, c.uniform, c.sparse, c.wire,
                    c.fingerprint, c.send_counts, c.recv_counts);
  };
  return rest(a) == rest(b);
}
namespace {
/// The call with lengths in units of its codec.
CollectiveCall in_units(CollectiveCall c) {
  for (auto* counts : {&c.send_counts, &c.recv_counts})
    for (auto& n : *counts) n = encoded_units(c.wire, n);
  return c;
}
}  // namespace
Plan make_plan(const Group& group, const CollectiveCall& call, const Layout& layout, const Tuning& tuning, int rank) {
  validate(call, group, rank);
  auto c = call.wire.exact() ? call : in_units(call);
  Plan plan{.like = call,
            .group = group.name,
            .count = count_of(call),
            .dtype = call.wire.exact() ? call.dtype : info(call.wire.codec).dtype,
            .fingerprint = fingerprint_of(group, call)};
  plan.like.in = plan.like.out = nullptr;
  plan.like.describe = nullptr;
  auto& element = plan.element;
  auto& running = plan.running;
  element = call.wire.exact() ? static_cast<std::int64_t>(dtype_size(call.dtype)) : encoded_bytes(call.wire, 1);
  running = static_cast<std::int64_t>(running_size(plan.dtype));
  plan.bytes = count_of(c) * element;
  plan.algorithm = &choose_algorithm(c.kind, plan.bytes, c.uniform, layout, tuning, call.wire);
  auto limit = chunk_limit(layout, tuning);
  plan.schedule = make_schedule(*plan.algorithm, c, layout, rank);
  plan.schedule.in_turns = plan.schedule.in_turns && layout.hosts > 1;  // memory has no switch
  bool whole = layout.hosts == 1 && plan.algorithm->traits.whole;  // cutting it finer only costs system calls
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
