// schedule_hierarchical.cpp -- schedules for groups over several hosts with several members each, side by side in group
// order: members of a host exchange with each other, and each member exchanges only its slice with other hosts.
#include <algorithm>
#include "schedule/schedule_build.h"

namespace bora::transport {
namespace {
using Kind = Step::Kind;
/// This rank's place among hosts.
struct Hosts {
  const std::vector<int>& begin;
  int count, mine = 0, local = 0, slices;

  explicit Hosts(const Problem& p) : begin(p.blocks), count(static_cast<int>(p.blocks.size()) - 1), slices(p.size) {
    for (int h = 0; h < count; ++h) {
      slices = std::min(slices, members(h));
      if (p.rank >= first(h) && p.rank < first(h + 1)) mine = h;
    }
    local = p.rank - first(mine);
  }
  int first(int h) const { return begin[static_cast<std::size_t>(h)]; }
  int members(int h) const { return first(h + 1) - first(h); }
  /// The member of host h that handles slice, or part, k.
  int owner(int h, int k) const { return first(h) + k % members(h); }
  template <class F> void others(int rank, F f) const {  // of this host, this rank's successor first
    for (int k = 1, n = members(mine); k < n; ++k) f(first(mine) + (rank - first(mine) + k) % n);
  }
};
/// Every part crosses to each other host once, to the member with the sender's local number, which forwards it. Returns
/// the last step.
int gather(Builder& b, const std::vector<std::int64_t>& counts, Place target) {
  Hosts hosts(b.p);
  Parts part(counts);
  int r = b.p.rank;
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
}  // namespace

void all_gather_hierarchical(Builder& b) { gather(b, b.p.recv_counts, Place::out); }
void all_reduce_one_shot_hierarchical(Builder& b) {
  auto n = b.p.send_counts[0];
  b.s.work = n * b.p.size;
  int got = gather(b, std::vector<std::int64_t>(static_cast<std::size_t>(b.p.size), n), Place::work);
  b.fold(n, 0, got);
  b.s.overwrites = true;
}
/// Slice k is summed host by host by their members k: each adds its host's members, in order, to the running sum; the
/// result returns the same way. 2 S cross between hosts, whatever the number of members.
void all_reduce_hierarchical(Builder& b) {
  Hosts hosts(b.p);
  auto n = b.p.send_counts[0];
  int r = b.p.rank, h = hosts.mine;
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
/// As above, but the last host sends each part to its owner.
void reduce_scatter_hierarchical(Builder& b) {
  Hosts hosts(b.p);
  Parts part(b.p.recv_counts);
  int r = b.p.rank, h = hosts.mine, top = hosts.count - 1;
  for (int p = 0; p < b.p.size; ++p) {
    int home = 0;
    while (p >= hosts.first(home + 1)) ++home;
    auto worker = [&](int host) { return hosts.owner(host, p - hosts.first(home)); };
    Range to{0, part(p).size()};
    if (worker(h) == r)
      b.running_sum(h > 0 ? worker(h - 1) : -1, hosts.first(h), hosts.first(h + 1),
                    h < top ? worker(h + 1) : p == r ? -1 : p, part(p), to, p);
    else b.send(worker(h), part(p), p);
    if (p == r && worker(top) != r) b.receive(worker(top), to, p);
  }
  b.s.in_order = true;
  b.s.running = true;
}
/// The root scatters slices to its host's members; each slice goes from host to host, and to all members of every host.
void broadcast_hierarchical(Builder& b) {
  Hosts hosts(b.p);
  auto n = b.p.send_counts[0];
  int r = b.p.rank, h = hosts.mine, home = 0;
  while (b.p.root >= hosts.first(home + 1)) ++home;
  auto slice = [&](int k) { return part_of(n, k, hosts.slices); };
  bool root = r == b.p.root;
  for (int k = 0; k < hosts.slices; ++k) {
    int mine = hosts.owner(h, k), got = -1;
    int from = h == home ? b.p.root : hosts.owner((h - 1 + hosts.count) % hosts.count, k);
    auto send = [&](int p) { b.forward(p, root ? Place::in : Place::out, slice(k), got, k); };
    if (mine != r) {
      if (root) send(mine);
      else got = b.receive(mine, slice(k), k);
      continue;
    }
    if (!root) got = b.receive(from, slice(k), k);
    if (int next = (h + 1) % hosts.count; next != home) send(hosts.owner(next, k));
    hosts.others(r, [&](int p) {
      if (p != b.p.root) send(p);
    });
  }
  if (root) b.copy({0, n}, {0, n});
}
namespace {
/// Gather and scatter pass through one member of each host, its door (on the root's host: the root).
struct Doors {
  Hosts hosts;
  Parts part;
  int root, home = 0, mine;
  explicit Doors(const Problem& p) : hosts(p), part(p.recv_counts), root(p.root) {
    while (root >= hosts.first(home + 1)) ++home;
    mine = door(hosts.mine);
  }
  int door(int h) const { return h == home ? root : hosts.owner(h, root - hosts.first(home)); }
  Range of_host(int h) const { return part.over(hosts.first(h), hosts.first(h + 1)); }
  /// Where a door holds member p's part: the root among all parts, other doors among those of their host.
  Range placed(int p) const {
    auto begin = mine == root ? 0 : of_host(hosts.mine).begin;
    return {part(p).begin - begin, part(p).end - begin};
  }
  template <class F> void other_hosts(F f) const {  // the next one first
    for (int k = 1; k < hosts.count; ++k) f((hosts.mine + k) % hosts.count);
  }
};
}  // namespace
/// A door collects its host's parts and sends them in one stream.
void gather_hierarchical(Builder& b) {
  Doors at(b.p);
  int r = b.p.rank;
  Range own{0, at.part(r).size()};
  if (r != at.mine) {
    b.send(at.mine, own);
    return;
  }
  bool root = r == at.root;
  auto target = root ? Place::out : Place::work;
  int got = b.copy(own, at.placed(r), target);
  at.hosts.others(r, [&](int p) { got = b.receive(p, at.placed(p), 0, target); });
  if (root) {
    at.other_hosts([&](int h) { b.receive(at.door(h), at.of_host(h), 1); });
  } else {
    b.s.work = at.of_host(at.hosts.mine).size();
    b.send_after(at.root, Place::work, {0, b.s.work}, got, 1);
  }
}
/// The reverse.
void scatter_hierarchical(Builder& b) {
  Doors at(b.p);
  int r = b.p.rank, got = -1;
  Range own{0, at.part(r).size()};
  if (r != at.mine) {
    b.receive(at.mine, own);
    return;
  }
  bool root = r == at.root;
  auto source = root ? Place::in : Place::work;
  if (root) {
    at.other_hosts([&](int h) { b.send(at.door(h), at.of_host(h), 1); });
  } else {
    b.s.work = at.of_host(at.hosts.mine).size();
    got = b.receive(at.root, {0, b.s.work}, 1, Place::work);
  }
  at.hosts.others(r, [&](int p) { b.send_after(p, source, at.placed(p), got, 0); });
  b.copy_after(source, at.placed(r), Place::out, own, got);
}
/// A host's parts for a member of another host are collected by the member with the receiver's local number and cross
/// in one stream: one per host and receiver instead of one per sender. All parts have the same length.
void all_to_all_hierarchical(Builder& b) {
  Hosts hosts(b.p);
  Parts part(b.p.send_counts);
  int r = b.p.rank, h = hosts.mine;
  auto n = b.p.send_counts[0], block = n * hosts.members(h);
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
}  // namespace bora::transport
