// All-gather: its algorithms, their costs, and the choice among them where links were not measured.
#include "schedule/build.h"
#include "schedule/cost.h"

namespace bora::transport {
namespace {
namespace all_gather {
void direct(Builder& b) {
  Parts part(b.call.recv_counts);
  Range mine = part(b.rank), in{0, mine.size()};
  for (int k = 1; k < b.size; ++k) b.send(b.at(k), in);
  b.copy(in, mine);
  for (int k = 1; k < b.size; ++k) b.receive(b.at(-k), part(b.at(-k)));
  b.s.in_turns = true;
}
void direct_cost(Model& m) { m.pairs(m.S / m.n); }
void ring(Builder& b) {
  Parts part(b.call.recv_counts);
  Range mine = part(b.rank), in{0, mine.size()};
  int got = -1;
  if (b.size > 1) b.send(b.at(1), in);
  b.copy(in, mine);
  for (int t = 0; t + 1 < b.size; ++t) {
    if (t > 0) b.forward(b.at(1), Place::out, part(b.at(-t)), got, t);
    got = b.receive(b.at(-1), part(b.at(-t - 1)), t);
  }
}
void ring_cost(Model& m) { m.chain(m.n - 1, m.n - 1, m.S / m.n); }
/// log2 P rounds with twice the bytes in each; then the parts are copied to their places.
void bruck(Builder& b) {
  int got = bruck_into_work(b, b.call.recv_counts), r = b.rank;
  Parts part(b.call.recv_counts);
  Range up = part.over(r, b.size), low = part.over(0, r);
  b.copy_after(Place::work, {0, up.size()}, Place::out, up, got);
  b.copy_after(Place::work, {up.size(), b.s.work}, Place::out, low, got);
}
void bruck_cost(Model& m) {
  double part = m.S / m.n;
  m.rounds(m.log_n(), m.log_n() - 1 + m.chunks(part * (m.n - 1)), part * (m.n - 1), m.L);
  m.e.reduced = part * (m.n - 1);  // copied once more
}
void hierarchical(Builder& b) { gather_by_host(b, b.call.recv_counts, Place::out); }
void hierarchical_cost(Model& m) { m.gather_by_host(m.S / m.n); }
std::string_view unmeasured(std::int64_t bytes, const Layout& l) {
  if (!l.blocks.empty()) return "hierarchical";
  if (l.size >= 16 && bytes <= 4 * kKiB * l.size) return "bruck";
  return l.size > 32 ? "ring" : "direct";
}
constexpr auto kKind = CollectiveKind::all_gather;
constexpr Algorithm kRows[] = {
    {kKind, "direct", direct, direct_cost, {.whole = true}},
    {kKind, "ring", ring, ring_cost},
    {kKind, "bruck", bruck, bruck_cost},
    {kKind, "hierarchical", hierarchical, hierarchical_cost, {.hierarchical = true}},
};
}  // namespace all_gather
}  // namespace
const AlgorithmTable kAllGather{all_gather::kRows, all_gather::unmeasured};
}  // namespace bora::transport
