// All-reduce: its algorithms, their costs, and the choice among them where links were not measured.
#include "schedule/build.h"
#include "schedule/cost.h"

namespace bora::transport {
namespace {
namespace all_reduce {
/// Every member sends its input to all others and sums in group order: one hop.
void one_shot(Builder& b) {
  Range all{0, b.call.send_counts[0]};
  for (int k = 1; k < b.size; ++k) b.send(b.at(k), all);
  b.sum(all, all);
  b.s.overwrites = true;
}
void one_shot_cost(Model& m) {
  m.e.reduced = m.S * (m.n - 1);
  m.pairs(m.S);
}
/// Piece p is summed by member p in group order, then sent to all: two hops, 2 (P-1)/P of the bytes.
void two_shot(Builder& b) {
  auto n = b.call.send_counts[0];
  for (int k = 1; k < b.size; ++k) b.send(b.at(k), part_of(n, b.at(k), b.size));
  Range mine = part_of(n, b.rank, b.size);
  int sum = b.sum(mine, mine);
  for (int k = 1; k < b.size; ++k) b.forward(b.at(k), Place::out, mine, sum, 1);
  for (int k = 1; k < b.size; ++k) b.receive(b.at(-k), part_of(n, b.at(-k), b.size), 1);
  b.s.in_turns = true;
}
void two_shot_cost(Model& m) {
  m.e.reduced = m.S * (m.n - 1) / m.n;
  m.pairs(m.S / m.n), m.pairs(m.S / m.n);
  m.slow().hops -= m.n > 1 && m.piece(m.S / m.n) < m.S / m.n;  // the second hop overlaps the chunks of the first
}
/// The running sum goes up from member to member while the result comes back down: 2 (P-1) hops in a pipeline; every
/// member sends and receives twice the bytes, to and from two neighbours.
void chain(Builder& b) {
  Range all{0, b.call.send_counts[0]};
  int r = b.rank;
  bool top = r + 1 == b.size;
  int result = b.running_sum(r - 1, r, r + 1, top ? -1 : r + 1, all, all, 0);
  if (!top) result = b.receive(r + 1, all, 1);
  if (r > 0) b.forward(r - 1, Place::out, all, result, 1);
}
void chain_cost(Model& m) {
  m.e.reduced = m.S;
  m.chain(2 * (m.n - 1), m.n > 2 ? 2 : 1, m.S);
}
/// Every member gathers all inputs in log2 P rounds and sums in group order.
void bruck(Builder& b) {
  auto n = b.call.send_counts[0];
  int got = bruck_into_work(b, std::vector<std::int64_t>(static_cast<std::size_t>(b.size), n));
  b.fold(n, b.rank, got);
}
void bruck_cost(Model& m) {
  m.e.reduced = m.S * (m.n - 1);
  m.rounds(m.log_n(), m.log_n() - 1 + m.chunks(m.S * (m.n - 1)), m.S * (m.n - 1), m.L);
  m.e.reduced += m.S * (m.n - 1);  // all inputs are stored before they are summed
}
/// Slice k is summed host by host by their members k: each adds its host's members, in order, to the running sum; the
/// result returns the same way. 2 S cross between hosts, whatever the number of members.
void hierarchical(Builder& b) {
  Hosts hosts(b);
  auto n = b.call.send_counts[0];
  int r = b.rank, h = hosts.mine;
  auto slice = [&](int k) { return part_of(n, k, hosts.slices); };
  hosts.others(r, [&](int p) {
    if (int k = p - hosts.first(h); k < hosts.slices) b.send(p, slice(k));
  });
  if (int k = hosts.local; k < hosts.slices) {
    bool top = h + 1 == hosts.count;
    int result = b.running_sum(h > 0 ? hosts.owner(h - 1, k) : -1, hosts.first(h), hosts.first(h + 1),
                               top ? -1 : hosts.owner(h + 1, k), slice(k), slice(k), 0);
    if (!top) result = b.receive(hosts.owner(h + 1, k), slice(k), 1);
    if (h > 0) b.forward(hosts.owner(h - 1, k), Place::out, slice(k), result, 1);
    hosts.others(r, [&](int p) { b.forward(p, Place::out, slice(k), result, 1); });
  }
  hosts.others(r, [&](int p) {
    if (int k = p - hosts.first(h); k < hosts.slices) b.receive(p, slice(k), 1);
  });
  b.s.running = true;
}
void hierarchical_cost(Model& m) {
  double S = m.S, L = m.L, H = m.H;
  m.e.reduced = S;
  m.e.here = {2, 2 * (L - 1) * m.chunks(S / L), 2 * S * (L - 1) / L, m.piece(S / L)};
  m.e.wire = {2 * (H - 1), (H > 2 ? 2 : 1) * m.chunks(S / L), (H > 2 ? 2 : 1) * S, L * (2 * H - 3) * m.piece(S / L)};
}
/// Every input crosses to each other host once; then every member sums all of them.
void one_shot_hierarchical(Builder& b) {
  auto n = b.call.send_counts[0];
  b.s.work = n * b.size;
  int got = gather_by_host(b, std::vector<std::int64_t>(static_cast<std::size_t>(b.size), n), Place::work);
  b.fold(n, 0, got);
  b.s.overwrites = true;
}
void one_shot_hierarchical_cost(Model& m) {
  m.e.reduced = m.S * (m.n - 1);
  m.gather_by_host(m.S);
}
std::string_view unmeasured(std::int64_t bytes, const Layout& l) {
  if (!l.blocks.empty()) return bytes <= 4 * kKiB ? "one_shot_hierarchical" : "hierarchical";
  // Two ranks send the same bytes either way, but one-shot sums all of them twice.
  if (l.size == 2) return bytes <= 256 * kKiB ? "one_shot" : "two_shot";
  if (l.size >= 16 && bytes <= 4 * kKiB) return "bruck";
  if (l.size > 32) return bytes <= 1024 * kKiB ? "two_shot" : "chain";
  return bytes <= 32 * kKiB ? "one_shot" : "two_shot";
}
constexpr auto kKind = CollectiveKind::all_reduce;
constexpr Algorithm kRows[] = {
    {kKind, "one_shot", one_shot, one_shot_cost},
    {kKind, "two_shot", two_shot, two_shot_cost},
    {kKind, "chain", chain, chain_cost, {.running = true}},
    {kKind, "bruck", bruck, bruck_cost},
    {kKind, "hierarchical", hierarchical, hierarchical_cost, {.hierarchical = true, .running = true}},
    {kKind, "one_shot_hierarchical", one_shot_hierarchical, one_shot_hierarchical_cost, {.hierarchical = true}},
};
}  // namespace all_reduce
}  // namespace
const AlgorithmTable kAllReduce{all_reduce::kRows, all_reduce::unmeasured, "two_shot"};
}  // namespace bora::transport
