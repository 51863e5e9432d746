// schedule_sum.cpp -- schedules that reduce, within one level of ranks.
#include <algorithm>
#include "schedule/schedule_build.h"

namespace bora::transport {
using Kind = Step::Kind;

/// Every member sends its input to all others and sums in group order: one hop.
void all_reduce_one_shot(Builder& b) {
  Range all{0, b.p.send_counts[0]};
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), all);
  b.sum(all, all);
  b.s.overwrites = true;
}
/// Piece p is summed by member p in group order, then sent to all: two hops, 2 (P-1)/P of the bytes.
void all_reduce_two_shot(Builder& b) {
  auto n = b.p.send_counts[0];
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), part_of(n, b.at(k), b.p.size));
  Range mine = part_of(n, b.p.rank, b.p.size);
  int sum = b.sum(mine, mine);
  for (int k = 1; k < b.p.size; ++k) b.forward(b.at(k), Place::out, mine, sum, 1);
  for (int k = 1; k < b.p.size; ++k) b.receive(b.at(-k), part_of(n, b.at(-k), b.p.size), 1);
  b.s.in_turns = true;
}
/// Every member gathers all inputs in log2 P rounds and sums in group order.
void all_reduce_bruck(Builder& b) {
  auto n = b.p.send_counts[0];
  int got = bruck_into_work(b, std::vector<std::int64_t>(static_cast<std::size_t>(b.p.size), n));
  b.fold(n, b.p.rank, got);
}
/// The running sum goes up from member to member while the result comes back down: 2 (P-1) hops in a pipeline; every
/// member sends and receives twice the bytes, to and from two neighbours.
void all_reduce_chain(Builder& b) {
  Range all{0, b.p.send_counts[0]};
  int r = b.p.rank;
  bool top = r + 1 == b.p.size;
  int result = b.running_sum(r - 1, r, r + 1, top ? -1 : r + 1, all, all, 0);
  if (!top) result = b.receive(r + 1, all, 1);
  if (r > 0) b.forward(r - 1, Place::out, all, result, 1);
}
/// The running sums of all parts go up; the last member sends each part to its owner.
void reduce_scatter_chain(Builder& b) {
  Parts part(b.p.recv_counts);
  int r = b.p.rank, top = b.p.size - 1;
  for (int p = 0; p <= top; ++p)
    b.running_sum(r - 1, r, r + 1, r < top ? r + 1 : p < top ? p : -1, part(p), {0, part(p).size()}, p);
  if (r < top) b.receive(top, {0, part(r).size()}, r);
}
void reduce_scatter_direct(Builder& b) {
  Parts part(b.p.recv_counts);
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), part(b.at(k)));
  Range mine = part(b.p.rank);
  b.sum(mine, {0, mine.size()});
  b.s.in_turns = true;
}
int bruck_into_work(Builder& b, const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> rotated;
  for (int k = 0; k < b.p.size; ++k) rotated.push_back(counts[static_cast<std::size_t>(b.at(k))]);
  Parts part(rotated);
  b.s.work = part.over(0, b.p.size).end;
  int got = b.copy({0, part(0).size()}, part(0), Place::work);
  for (int d = 1, round = 0; d < b.p.size; d *= 2, ++round) {
    int n = std::min(d, b.p.size - d);
    b.send_after(b.at(-d), Place::work, part.over(0, n), got, round);
    got = b.receive(b.at(d), part.over(d, d + n), round, Place::work);
  }
  return got;
}
}  // namespace bora::transport
