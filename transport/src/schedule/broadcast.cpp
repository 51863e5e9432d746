// Broadcast: its algorithms, their costs, and the choice among them where links were not measured.
#include "schedule/build.h"
#include "schedule/cost.h"

namespace bora::transport {
namespace {
namespace broadcast {
/// This member's place, counted from the root.
struct FromRoot {
  int P, root, v;
  explicit FromRoot(const Builder& b) : P(b.size), root(b.call.root), v((b.rank - root + P) % P) {}
  int member(int position) const { return (position + root) % P; }
};
/// The whole down a tree; `parent` and `children` are positions counted from the root.
void down_tree(Builder& b, int parent, const std::vector<int>& children) {
  FromRoot at(b);
  Range all{0, b.call.send_counts[0]};
  if (at.v == 0) {
    for (int c : children) b.send(at.member(c), all);
    b.copy(all, all);
    return;
  }
  int got = b.receive(at.member(parent), all);
  for (int c : children) b.forward(at.member(c), Place::out, all, got, 0);
}
void direct(Builder& b) {
  std::vector<int> children;
  for (int c = 1; FromRoot(b).v == 0 && c < b.size; ++c) children.push_back(c);
  down_tree(b, 0, children);
}
void direct_cost(Model& m) { m.rounds(1, (m.n - 1) * m.chunks(m.S), m.S * (m.n - 1), 1); }
void binomial(Builder& b) {
  Binomial tree(FromRoot(b).v, b.size);
  down_tree(b, tree.parent, tree.children);
}
void binomial_cost(Model& m) { m.rounds(m.log_n(), m.log_n() * m.chunks(m.S), m.S * m.log_n(), 1); }
void chain(Builder& b) {
  int v = FromRoot(b).v;
  std::vector<int> children;
  if (v + 1 < b.size) children.push_back(v + 1);
  down_tree(b, v - 1, children);
}
void chain_cost(Model& m) { m.chain(m.n - 1, 1, m.S); }
/// Scatters pieces down a binomial tree, then all-gathers them round a ring.
void scatter_gather(Builder& b) {
  FromRoot at(b);
  int P = at.P, v = at.v;
  auto n = b.call.send_counts[0];
  auto pieces = [&](int first, int last) { return Range{part_of(n, first, P).begin, part_of(n, last - 1, P).end}; };
  auto piece = [&](int k) { return part_of(n, k, P); };
  Binomial tree(v, P);
  auto source = v == 0 ? Place::in : Place::out;
  int got = v == 0 ? -1 : b.receive(at.member(tree.parent), pieces(v, v + tree.span));
  for (int c : tree.children) b.send_after(at.member(c), source, pieces(c, c + Binomial(c, P).span), got, 0);
  if (v == 0) b.copy({0, n}, {0, n});
  // Pieces that the tree brought do not go round the ring to that member again: it may still be sending them from the
  // memory that they would be written to. The root has all pieces; the member before it sends none.
  auto from_tree = [P](int member, int k) { return k >= member && k < member + Binomial(member, P).span; };
  int brought = got;
  for (int t = 0; t + 1 < P; ++t) {
    auto tag = t + 1;
    int mine = (v - t + P) % P, next = (v - t - 1 + P) % P;
    if (v + 1 < P && !from_tree(v + 1, mine)) {
      if (from_tree(v, mine)) b.send_after(at.member(v + 1), source, piece(mine), brought, tag);
      else b.forward(at.member(v + 1), Place::out, piece(mine), got, tag);
    }
    if (v > 0 && !from_tree(v, next)) got = b.receive(at.member(v - 1), piece(next), tag);
  }
}
void scatter_gather_cost(Model& m) {
  m.rounds(m.log_n(), m.log_n() * m.chunks(m.S / m.n), m.S * (m.n - 1) / m.n, 1);
  m.chain(m.n - 1, m.n - 1, m.S / m.n);
}
/// Member r of n in a binary tree whose root 0 has one child, above all others; odd members are leaves.
struct Binary {
  int parent = -1;
  std::vector<int> children = {};
  Binary(int r, int n) {
    int bit = 1;
    for (; bit < n && !(r & bit); bit <<= 1) {}
    if (r == 0) {
      if (n > 1) children = {bit >> 1};
      return;
    }
    parent = (r ^ bit) | (bit << 1);
    if (parent >= n) parent = r ^ bit;
    int low = bit >> 1;
    if (low == 0) return;
    children = {r - low};
    for (; low > 0 && r + low >= n; low >>= 1) {}
    if (low > 0) children.push_back(r + low);
  }
};
/// Half of the bytes down each of two binary trees; a member with children in one is a leaf of the other, or nearly so.
/// The root feeds both.
void double_tree(Builder& b) {
  FromRoot at(b);
  int v = at.v, n = at.P - 1;
  auto count = b.call.send_counts[0];
  for (int tree = 0; tree < 2 && n > 0; ++tree) {
    Range half = part_of(count, tree, 2);
    // Positions 1..n are the other members; the second tree has them in reverse, or rotated by one where reversing
    // would not swap leaves.
    auto other = [&](int k) { return 1 + (tree == 0 ? k : n % 2 == 0 ? n - 1 - k : (k + 1) % n); };
    if (v == 0) {
      b.send(at.member(other(0)), half, tree);
      continue;
    }
    int mine = tree == 0 ? v - 1 : n % 2 == 0 ? n - v : (v - 2 + n) % n;
    Binary place(mine, n);
    int got = b.receive(at.member(place.parent < 0 ? 0 : other(place.parent)), half, tree);
    for (int c : place.children) b.forward(at.member(other(c)), Place::out, half, got, tree);
  }
  if (v == 0) b.copy({0, count}, {0, count});
}
void double_tree_cost(Model& m) {
  m.rounds(m.log_n() + 1, 3 * m.chunks(m.S / 2), m.S * 1.5, m.L);
  m.slow().fill += 2 * m.log_n() * m.piece(m.S / 2);
}
/// The root scatters slices to its host's members; each slice goes from host to host, and to all members of every host.
void hierarchical(Builder& b) {
  Hosts hosts(b);
  auto n = b.call.send_counts[0];
  int r = b.rank, h = hosts.mine, home = 0;
  while (b.call.root >= hosts.first(home + 1)) ++home;
  auto slice = [&](int k) { return part_of(n, k, hosts.slices); };
  bool root = r == b.call.root;
  for (int k = 0; k < hosts.slices; ++k) {
    int mine = hosts.owner(h, k), got = -1;
    int from = h == home ? b.call.root : hosts.owner((h - 1 + hosts.count) % hosts.count, k);
    auto send = [&](int p) { b.forward(p, root ? Place::in : Place::out, slice(k), got, k); };
    if (mine != r) {
      if (root) send(mine);
      else got = b.receive(mine, slice(k), k);
      continue;
    }
    if (!root) got = b.receive(from, slice(k), k);
    if (int next = (h + 1) % hosts.count; next != home) send(hosts.owner(next, k));
    hosts.others(r, [&](int p) {
      if (p != b.call.root) send(p);
    });
  }
  if (root) b.copy({0, n}, {0, n});
}
void hierarchical_cost(Model& m) {
  double S = m.S, L = m.L, H = m.H;
  m.e.here = {2, L * m.chunks(S / L), S, m.piece(S / L)};
  m.e.wire = {H - 1, m.chunks(S / L), S, L * (H - 2) * m.piece(S / L)};
}
std::string_view unmeasured(std::int64_t bytes, const Layout& l) {
  if (l.size <= (l.hosts == 1 ? 8 : 2)) return "direct";  // within a host all read the root's buffer in place
  if (!l.blocks.empty() && bytes > 64 * kKiB) return "hierarchical";
  if (bytes <= 64 * kKiB) return "binomial";
  return l.size <= 16 ? "chain" : l.size < 64 ? "scatter_gather" : "double_tree";
}
constexpr auto kKind = CollectiveKind::broadcast;
constexpr Algorithm kRows[] = {
    {kKind, "direct", direct, direct_cost, {.whole = true}},
    {kKind, "binomial", binomial, binomial_cost},
    {kKind, "chain", chain, chain_cost},
    {kKind, "scatter_gather", scatter_gather, scatter_gather_cost},
    {kKind, "double_tree", double_tree, double_tree_cost},
    {kKind, "hierarchical", hierarchical, hierarchical_cost, {.hierarchical = true}},
};
}  // namespace broadcast
}  // namespace
const AlgorithmTable kBroadcast{broadcast::kRows, broadcast::unmeasured};
}  // namespace bora::transport
