// All-to-all: its algorithms, their costs, and the choice among them where links were not measured.
#include "schedule/build.h"
#include "schedule/cost.h"

namespace bora::transport {
namespace {
namespace all_to_all {
void direct(Builder& b) {
  Parts out(b.call.send_counts), in(b.call.recv_counts);
  auto travels = [&](const Range& part) { return !b.call.sparse || part.size() > 0; };
  for (int k = 1; k < b.size; ++k)
    if (auto part = out(b.at(k)); travels(part)) b.send(b.at(k), part);
  b.copy(out(b.rank), in(b.rank));
  for (int k = 1; k < b.size; ++k)
    if (auto part = in(b.at(-k)); travels(part)) b.receive(b.at(-k), part);
  b.s.in_turns = true;
}
void direct_cost(Model& m) { m.pairs(m.S / m.n); }
/// In the round of bit d all parts that still have to travel d members further go there in one message: log2 P rounds,
/// each with half of the bytes. All parts have the same length.
void bruck(Builder& b) {
  int P = b.size;
  auto n = b.call.send_counts[0];
  auto block = [&](std::int64_t k) { return Range{k * n, (k + 1) * n}; };
  struct Where {
    Place place;
    std::int64_t block;
  };
  std::vector<Where> at;  // where the part that travels k members lies
  for (int k = 0; k < P; ++k) at.push_back({Place::in, b.at(k)});
  std::int64_t used = 0;
  int got = -1;
  for (int d = 1, round = 0; d < P; d *= 2, ++round) {
    auto begin = used;
    int packed = got;
    std::vector<std::size_t> moved;
    for (int k = d; k < P; ++k) {
      if (!(k & d)) continue;
      auto& w = at[static_cast<std::size_t>(k)];
      packed = b.copy_after(w.place, block(w.block), Place::work, block(used++), got);
      moved.push_back(static_cast<std::size_t>(k));
    }
    b.send_after(b.at(d), Place::work, {begin * n, used * n}, packed, round);
    got = b.receive(b.at(-d), {used * n, (used + static_cast<std::int64_t>(moved.size())) * n}, round, Place::work);
    for (auto k : moved) at[k] = {Place::work, used++};
  }
  b.s.work = used * n;
  for (int k = 0; k < P; ++k) {
    auto& w = at[static_cast<std::size_t>(k)];
    b.copy_after(w.place, block(w.block), Place::out, block(b.at(-k)), got);
  }
}
void bruck_cost(Model& m) { m.rounds(m.log_n(), m.log_n(), m.S / 2 * m.log_n(), m.L); }
/// A host's parts for a member of another host are collected by the member with the receiver's local number and cross
/// in one stream: one per host and receiver instead of one per sender. All parts have the same length.
void hierarchical(Builder& b) {
  Hosts hosts(b);
  Parts part(b.call.send_counts);
  int r = b.rank, h = hosts.mine;
  auto n = b.call.send_counts[0], block = n * hosts.members(h);
  hosts.others(r, [&](int p) { b.send(p, part(p)); });
  b.copy(part(r), part(r));
  hosts.others(r, [&](int p) { b.receive(p, part(p)); });
  for (int k = 1; k < hosts.count; ++k) {
    int other = (h + k) % hosts.count;
    for (int to = hosts.first(other); to < hosts.first(other + 1); ++to) {
      int by = hosts.owner(h, to - hosts.first(other));
      if (by != r) {
        b.send(by, part(to), 1 + to);
        continue;
      }
      auto place = [&](int from) {
        auto begin = b.s.work + n * (from - hosts.first(h));
        return Range{begin, begin + n};
      };
      int got = b.copy(part(to), place(r), Place::work);
      hosts.others(r, [&](int p) { got = b.receive(p, place(p), 1 + to, Place::work); });
      b.send_after(to, Place::work, {b.s.work, b.s.work + block}, got, 0);
      b.s.work += block;
    }
  }
  for (int k = 1; k < hosts.count; ++k) {  // after all sends, none of which may wait for these
    int from = (h - k + hosts.count) % hosts.count;
    b.receive(hosts.owner(from, hosts.local), part.over(hosts.first(from), hosts.first(from + 1)));
  }
}
void hierarchical_cost(Model& m) {
  double part = m.S / m.n, away = m.n - m.L, near = (m.L - 1) * (1 + away / m.L);
  m.e.here = {1, near * m.chunks(part), near * part, 0};
  m.e.wire = {1, away / m.L * m.chunks(part * m.L), m.L * away * part, 0};
}
std::string_view unmeasured(std::int64_t bytes, const Layout& l) {
  if (!l.blocks.empty() && bytes <= 16 * kKiB * l.size) return "hierarchical";
  return l.size >= 8 && bytes < 256 * l.size ? "bruck" : "direct";
}
constexpr auto kKind = CollectiveKind::all_to_all;
constexpr Algorithm kRows[] = {
    {kKind, "direct", direct, direct_cost, {.whole = true}},
    {kKind, "bruck", bruck, bruck_cost, {.equal_parts = true}},
    {kKind, "hierarchical", hierarchical, hierarchical_cost, {.hierarchical = true, .equal_parts = true}},
};
}  // namespace all_to_all
}  // namespace
const AlgorithmTable kAllToAll{all_to_all::kRows, all_to_all::unmeasured};
}  // namespace bora::transport
