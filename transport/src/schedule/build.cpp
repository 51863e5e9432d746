#include "schedule/build.h"
#include <algorithm>

namespace bora::transport {
Binomial::Binomial(int v, int P) {
  int mask = 1;
  for (; mask < P && !(v & mask); mask <<= 1) {}
  span = std::min(mask, P - v);
  if (v != 0) parent = v - mask;
  for (mask >>= 1; mask > 0; mask >>= 1)
    if (v + mask < P) children.push_back(v + mask);
}
Hosts::Hosts(const Builder& b) : begin(b.layout.blocks), count(static_cast<int>(begin.size()) - 1), slices(b.size) {
  for (int h = 0; h < count; ++h) {
    slices = std::min(slices, members(h));
    if (b.rank >= first(h) && b.rank < first(h + 1)) mine = h;
  }
  local = b.rank - first(mine);
}
int bruck_into_work(Builder& b, const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> rotated;
  for (int k = 0; k < b.size; ++k) rotated.push_back(counts[static_cast<std::size_t>(b.at(k))]);
  Parts part(rotated);
  b.s.work = part.over(0, b.size).end;
  int got = b.copy({0, part(0).size()}, part(0), Place::work);
  for (int d = 1, round = 0; d < b.size; d *= 2, ++round) {
    int n = std::min(d, b.size - d);
    b.send_after(b.at(-d), Place::work, part.over(0, n), got, round);
    got = b.receive(b.at(d), part.over(d, d + n), round, Place::work);
  }
  return got;
}
int gather_by_host(Builder& b, const std::vector<std::int64_t>& counts, Place target) {
  Hosts hosts(b);
  Parts part(counts);
  int r = b.rank;
  Range mine = part(r), in{0, mine.size()};
  for (int k = 1; k < hosts.count; ++k) b.send(hosts.owner((hosts.mine + k) % hosts.count, hosts.local), in);
  hosts.others(r, [&](int p) { b.send(p, in); });
  int got = b.copy(in, mine, target);
  hosts.others(r, [&](int p) { got = b.receive(p, part(p), 0, target); });
  for (int k = 1; k < hosts.count; ++k) {
    int h = (hosts.mine - k + hosts.count) % hosts.count;
    for (int p = hosts.first(h); p < hosts.first(h + 1); ++p) {
      int by = hosts.owner(hosts.mine, p - hosts.first(h));
      got = b.receive(by == r ? p : by, part(p), by == r ? 0 : 1 + p, target);
      if (by == r) hosts.others(r, [&](int q) { b.forward(q, target, part(p), got, 1 + p); });
    }
  }
  return static_cast<int>(b.s.steps.size()) - 1;
}
}  // namespace bora::transport
