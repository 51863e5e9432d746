// Gather and scatter: their algorithms, their costs, and the choice among them where links were not measured. A
// scatter is a gather whose messages go the other way, at the same cost.
#include <algorithm>
#include "schedule/build.h"
#include "schedule/cost.h"

namespace bora::transport {
namespace {
namespace gather_scatter {
void gather_direct(Builder& b) {
  Parts part(b.call.recv_counts);
  Range mine = part(b.rank), in{0, mine.size()};
  if (b.rank != b.call.root) {
    b.send(b.call.root, in);
    return;
  }
  b.copy(in, mine);
  for (int k = 1; k < b.size; ++k) b.receive(b.at(-k), part(b.at(-k)));
}
void scatter_direct(Builder& b) {
  Parts part(b.call.recv_counts);
  Range mine = part(b.rank), out{0, mine.size()};
  if (b.rank != b.call.root) {
    b.receive(b.call.root, out);
    return;
  }
  for (int k = 1; k < b.size; ++k) b.send(b.at(k), part(b.at(k)));
  b.copy(mine, out);
}
void direct_cost(Model& m) { m.rounds(1, (m.n - 1) * m.chunks(m.S / m.n), m.S / m.n * (m.n - 1), 1); }
/// Parts on a binomial tree: every member holds the parts of its subtree, its own first. Positions count from the root.
struct PartsOnTree {
  int P, root, v;
  Parts part;
  Binomial tree;
  Range own{0, part(v).size()};
  explicit PartsOnTree(const Builder& b)
      : P(b.size), root(b.call.root), v((b.rank - root + P) % P), part(turned(b.call)), tree(v, P) {}
  static Parts turned(const CollectiveCall& c) {
    auto counts = c.recv_counts;
    std::rotate(counts.begin(), counts.begin() + c.root, counts.end());
    return Parts(counts);
  }
  int member(int position) const { return (position + root) % P; }
  int parent() const { return member(tree.parent); }
  bool leaf() const { return tree.children.empty() && v != 0; }
  /// The range of the subtree of position c in this member's memory.
  Range held(int c) const {
    auto r = part.over(c, c + Binomial(c, P).span);
    return {r.begin - part(v).begin, r.end - part(v).begin};
  }
};
/// Up a binomial tree; the root copies all parts to their places.
void gather_binomial(Builder& b) {
  PartsOnTree at(b);
  if (at.leaf()) {
    b.send(at.parent(), at.own);
    return;
  }
  b.s.work = at.held(at.v).size();
  int got = b.copy(at.own, at.own, Place::work);
  for (int c : at.tree.children) got = b.receive(at.member(c), at.held(c), 0, Place::work);
  if (at.v != 0) {
    b.send_after(at.parent(), Place::work, {0, b.s.work}, got, 0);
    return;
  }
  Parts place(b.call.recv_counts);
  Range up = place.over(b.call.root, b.size), low = place.over(0, b.call.root);
  b.copy_after(Place::work, {0, up.size()}, Place::out, up, got);
  b.copy_after(Place::work, {up.size(), b.s.work}, Place::out, low, got);
}
/// The same downwards.
void scatter_binomial(Builder& b) {
  PartsOnTree at(b);
  if (at.leaf()) {
    b.receive(at.parent(), at.own);
    return;
  }
  b.s.work = at.held(at.v).size();
  int got = -1;
  if (at.v == 0) {
    Parts place(b.call.recv_counts);
    Range up = place.over(b.call.root, b.size), low = place.over(0, b.call.root);
    b.copy(up, {0, up.size()}, Place::work);
    got = b.copy(low, {up.size(), b.s.work}, Place::work);
  } else {
    got = b.receive(at.parent(), {0, b.s.work}, 0, Place::work);
  }
  for (int c : at.tree.children) b.send_after(at.member(c), Place::work, at.held(c), got, 0);
  b.copy_after(Place::work, at.own, Place::out, at.own, got);
}
void binomial_cost(Model& m) { m.rounds(m.log_n(), m.log_n(), m.S / m.n * (m.n - 1) * 1.5, 1); }
/// Gather and scatter pass through one member of each host, its door (on the root's host: the root).
struct Doors {
  Hosts hosts;
  Parts part;
  int root, home = 0, mine;
  explicit Doors(const Builder& b) : hosts(b), part(b.call.recv_counts), root(b.call.root) {
    while (root >= hosts.first(home + 1)) ++home;
    mine = door(hosts.mine);
  }
  int door(int h) const { return h == home ? root : hosts.owner(h, root - hosts.first(home)); }
  Range of_host(int h) const { return part.over(hosts.first(h), hosts.first(h + 1)); }
  /// The place of member p's part at a door: the root among all parts, other doors among those of their host.
  Range placed(int p) const {
    auto begin = mine == root ? 0 : of_host(hosts.mine).begin;
    return {part(p).begin - begin, part(p).end - begin};
  }
  template <class F> void other_hosts(F f) const {  // the next one first
    for (int k = 1; k < hosts.count; ++k) f((hosts.mine + k) % hosts.count);
  }
};
/// A door collects its host's parts and sends them in one stream.
void gather_hierarchical(Builder& b) {
  Doors at(b);
  int r = b.rank;
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
  Doors at(b);
  int r = b.rank, got = -1;
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
void hierarchical_cost(Model& m) {
  double part = m.S / m.n;
  m.e.here = {1, (m.L - 1) * m.chunks(part), (m.L - 1) * part, 0};
  m.e.wire = {1, (m.H - 1) * m.chunks(part * m.L), (m.n - m.L) * part, 0};
}
std::string_view unmeasured(std::int64_t bytes, const Layout& l) {
  if (!l.blocks.empty() && bytes <= 16 * kKiB * l.size) return "hierarchical";
  return l.size >= 16 && bytes <= 4 * kKiB * l.size ? "binomial" : "direct";
}
using enum CollectiveKind;
constexpr Algorithm kGatherRows[] = {
    {gather, "direct", gather_direct, direct_cost, {.whole = true}},
    {gather, "binomial", gather_binomial, binomial_cost},
    {gather, "hierarchical", gather_hierarchical, hierarchical_cost, {.hierarchical = true}},
};
constexpr Algorithm kScatterRows[] = {
    {scatter, "direct", scatter_direct, direct_cost, {.whole = true}},
    {scatter, "binomial", scatter_binomial, binomial_cost},
    {scatter, "hierarchical", scatter_hierarchical, hierarchical_cost, {.hierarchical = true}},
};
}  // namespace gather_scatter
}  // namespace
const AlgorithmTable kGather{gather_scatter::kGatherRows, gather_scatter::unmeasured},
    kScatter{gather_scatter::kScatterRows, gather_scatter::unmeasured};
}  // namespace bora::transport
