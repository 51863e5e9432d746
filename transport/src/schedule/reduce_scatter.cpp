// Reduce-scatter: its algorithms, their costs, and the choice among them where links were not measured.
#include "schedule/build.h"
#include "schedule/cost.h"

namespace bora::transport {
namespace {
namespace reduce_scatter {
void direct(Builder& b) {
  Parts part(b.call.recv_counts);
  for (int k = 1; k < b.size; ++k) b.send(b.at(k), part(b.at(k)));
  Range mine = part(b.rank);
  b.sum(mine, {0, mine.size()});
  b.s.in_turns = true;
}
void direct_cost(Model& m) {
  double part = m.S / m.n;
  m.e.reduced = part * (m.n - 1);
  m.pairs(part);
}
/// The running sums of all parts go up; the last member sends each part to its owner.
void chain(Builder& b) {
  Parts part(b.call.recv_counts);
  int r = b.rank, top = b.size - 1;
  for (int p = 0; p <= top; ++p)
    b.running_sum(r - 1, r, r + 1, r < top ? r + 1 : p < top ? p : -1, part(p), {0, part(p).size()}, p);
  if (r < top) b.receive(top, {0, part(r).size()}, r);
}
void chain_cost(Model& m) {
  m.e.reduced = m.S;
  m.chain(m.n, m.n, m.S / m.n);
}
/// The running sums of all parts go from host to host; the last host sends each part to its owner.
void hierarchical(Builder& b) {
  Hosts hosts(b);
  Parts part(b.call.recv_counts);
  int r = b.rank, h = hosts.mine, top = hosts.count - 1;
  for (int p = 0; p < b.size; ++p) {
    int home = 0;
    while (p >= hosts.first(home + 1)) ++home;
    auto worker = [&](int host) { return hosts.owner(host, p - hosts.first(home)); };
    Range to{0, part(p).size()};
    if (worker(h) == r)
      b.running_sum(h > 0 ? worker(h - 1) : -1, hosts.first(h), hosts.first(h + 1),
                    h < top  ? worker(h + 1)
                    : p == r ? -1
                             : p,
                    part(p), to, p);
    else b.send(worker(h), part(p), p);
    if (p == r && worker(top) != r) b.receive(worker(top), to, p);
  }
  b.s.in_order = true;
  b.s.running = true;
}
void hierarchical_cost(Model& m) {
  double S = m.S, L = m.L, H = m.H, n = m.n, part = S / n;
  m.e.reduced = S;
  m.e.here = {1, (n - n / L) * m.chunks(part), S * (L - 1) / L, 0};
  m.e.wire = {H, n / L * m.chunks(part), S, (H - 1) * m.piece(part)};
}
std::string_view unmeasured(std::int64_t bytes, const Layout& l) {
  if (!l.blocks.empty() && l.least > 2) return "hierarchical";
  return l.size > 32 && bytes > 1024 * kKiB ? "chain" : "direct";
}
constexpr auto kKind = CollectiveKind::reduce_scatter;
constexpr Algorithm kRows[] = {
    {kKind, "direct", direct, direct_cost},
    {kKind, "chain", chain, chain_cost, {.running = true}},
    {kKind, "hierarchical", hierarchical, hierarchical_cost, {.hierarchical = true, .running = true}},
};
}  // namespace reduce_scatter
}  // namespace
const AlgorithmTable kReduceScatter{reduce_scatter::kRows, reduce_scatter::unmeasured, "direct"};
}  // namespace bora::transport
