#include <algorithm>
#include "schedule/schedule_build.h"

namespace bora::transport {
namespace {
using Kind = Step::Kind;
void all_gather_direct(Builder& b) {
  Parts part(b.p.recv_counts);
  Range mine = part(b.p.rank), in{0, mine.size()};
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), in);
  b.copy(in, mine);
  for (int k = 1; k < b.p.size; ++k) b.receive(b.at(-k), part(b.at(-k)));
  b.s.in_turns = true;
}
void all_gather_ring(Builder& b) {
  Parts part(b.p.recv_counts);
  Range mine = part(b.p.rank), in{0, mine.size()};
  int got = -1;
  if (b.p.size > 1) b.send(b.at(1), in);
  b.copy(in, mine);
  for (int t = 0; t + 1 < b.p.size; ++t) {
    if (t > 0) b.forward(b.at(1), Place::out, part(b.at(-t)), got, t);
    got = b.receive(b.at(-1), part(b.at(-t - 1)), t);
  }
}
/// log2 P rounds with twice the bytes in each; then the parts are copied to their places.
void all_gather_bruck(Builder& b) {
  int got = bruck_into_work(b, b.p.recv_counts), r = b.p.rank;
  Parts part(b.p.recv_counts);
  Range up = part.over(r, b.p.size), low = part.over(0, r);
  b.copy_after(Place::work, {0, up.size()}, Place::out, up, got);
  b.copy_after(Place::work, {up.size(), b.s.work}, Place::out, low, got);
}
/// Position v, counted from the root, in a binomial tree: its children are v + mask, each the root of at most `mask`
/// members.
struct Binomial {
  int parent = -1, span = 1;  // span: members of its subtree, itself included
  std::vector<int> children = {};
  Binomial(int v, int P) {
    int mask = 1;
    for (; mask < P && !(v & mask); mask <<= 1) {}
    span = std::min(mask, P - v);
    if (v != 0) parent = v - mask;
    for (mask >>= 1; mask > 0; mask >>= 1)
      if (v + mask < P) children.push_back(v + mask);
  }
};
/// From the root to all members, along the tree of `a`.
void broadcast(Builder& b, Algorithm a) {
  Range all{0, b.p.send_counts[0]};
  int P = b.p.size, v = (b.p.rank - b.p.root + P) % P;  // position counted from the root
  auto member = [&](int position) { return (position + b.p.root) % P; };
  int parent = v == 0 ? -1 : 0;
  std::vector<int> children;
  if (a == Algorithm::direct) {
    for (int c = 1; v == 0 && c < P; ++c) children.push_back(c);
  } else if (a == Algorithm::chain) {
    parent = v - 1;
    if (v + 1 < P) children.push_back(v + 1);
  } else {
    Binomial tree(v, P);
    parent = tree.parent, children = tree.children;
  }
  if (v == 0) {
    for (int c : children) b.send(member(c), all);
    b.copy(all, all);
    return;
  }
  int got = b.receive(member(parent), all);
  for (int c : children) b.forward(member(c), Place::out, all, got, 0);
}
/// Scatters pieces down a binomial tree, then all-gathers them round a ring.
void broadcast_scatter_gather(Builder& b) {
  int P = b.p.size, v = (b.p.rank - b.p.root + P) % P;
  auto n = b.p.send_counts[0];
  auto member = [&](int position) { return (position + b.p.root) % P; };
  auto pieces = [&](int first, int last) { return Range{part_of(n, first, P).begin, part_of(n, last - 1, P).end}; };
  auto piece = [&](int k) { return part_of(n, k, P); };
  Binomial tree(v, P);
  auto source = v == 0 ? Place::in : Place::out;
  int got = v == 0 ? -1 : b.receive(member(tree.parent), pieces(v, v + tree.span));
  for (int c : tree.children) b.send_after(member(c), source, pieces(c, c + Binomial(c, P).span), got, 0);
  if (v == 0) b.copy({0, n}, {0, n});
  // Pieces that the tree brought do not go round the ring to that member again: it may still be sending them from the
  // memory that they would be written to. The root has all pieces; the member before it sends none.
  auto from_tree = [P](int member, int k) { return k >= member && k < member + Binomial(member, P).span; };
  int brought = got;
  for (int t = 0; t + 1 < P; ++t) {
    auto tag = t + 1;
    int mine = (v - t + P) % P, next = (v - t - 1 + P) % P;
    if (v + 1 < P && !from_tree(v + 1, mine)) {
      if (from_tree(v, mine)) b.send_after(member(v + 1), source, piece(mine), brought, tag);
      else b.forward(member(v + 1), Place::out, piece(mine), got, tag);
    }
    if (v > 0 && !from_tree(v, next)) got = b.receive(member(v - 1), piece(next), tag);
  }
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
void broadcast_double_tree(Builder& b) {
  int P = b.p.size, v = (b.p.rank - b.p.root + P) % P, n = P - 1;
  auto member = [&](int position) { return (position + b.p.root) % P; };
  auto count = b.p.send_counts[0];
  for (int tree = 0; tree < 2 && n > 0; ++tree) {
    Range half = part_of(count, tree, 2);
    // Positions 1..n are the other members; the second tree has them in reverse, or rotated by one where reversing
    // would not swap leaves.
    auto other = [&](int k) { return 1 + (tree == 0 ? k : n % 2 == 0 ? n - 1 - k : (k + 1) % n); };
    if (v == 0) {
      b.send(member(other(0)), half, tree);
      continue;
    }
    int mine = tree == 0 ? v - 1 : n % 2 == 0 ? n - v : (v - 2 + n) % n;
    Binary place(mine, n);
    int got = b.receive(member(place.parent < 0 ? 0 : other(place.parent)), half, tree);
    for (int c : place.children) b.forward(member(other(c)), Place::out, half, got, tree);
  }
  if (v == 0) b.copy({0, count}, {0, count});
}
void gather_direct(Builder& b) {
  Parts part(b.p.recv_counts);
  Range mine = part(b.p.rank), in{0, mine.size()};
  if (b.p.rank != b.p.root) {
    b.send(b.p.root, in);
    return;
  }
  b.copy(in, mine);
  for (int k = 1; k < b.p.size; ++k) b.receive(b.at(-k), part(b.at(-k)));
}
void scatter_direct(Builder& b) {
  Parts part(b.p.recv_counts);
  Range mine = part(b.p.rank), out{0, mine.size()};
  if (b.p.rank != b.p.root) {
    b.receive(b.p.root, out);
    return;
  }
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), part(b.at(k)));
  b.copy(mine, out);
}
/// Parts on a binomial tree: every member holds the parts of its subtree, its own first. Positions count from the root.
struct PartsOnTree {
  int P, root, v;
  Parts part;
  Binomial tree;
  Range own{0, part(v).size()};
  explicit PartsOnTree(const Problem& p)
      : P(p.size), root(p.root), v((p.rank - root + P) % P), part(turned(p)), tree(v, P) {}
  static Parts turned(const Problem& p) {
    auto counts = p.recv_counts;
    std::rotate(counts.begin(), counts.begin() + p.root, counts.end());
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
  PartsOnTree at(b.p);
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
  Parts place(b.p.recv_counts);
  Range up = place.over(b.p.root, b.p.size), low = place.over(0, b.p.root);
  b.copy_after(Place::work, {0, up.size()}, Place::out, up, got);
  b.copy_after(Place::work, {up.size(), b.s.work}, Place::out, low, got);
}
/// The same downwards.
void scatter_binomial(Builder& b) {
  PartsOnTree at(b.p);
  if (at.leaf()) {
    b.receive(at.parent(), at.own);
    return;
  }
  b.s.work = at.held(at.v).size();
  int got = -1;
  if (at.v == 0) {
    Parts place(b.p.recv_counts);
    Range up = place.over(b.p.root, b.p.size), low = place.over(0, b.p.root);
    b.copy(up, {0, up.size()}, Place::work);
    got = b.copy(low, {up.size(), b.s.work}, Place::work);
  } else {
    got = b.receive(at.parent(), {0, b.s.work}, 0, Place::work);
  }
  for (int c : at.tree.children) b.send_after(at.member(c), Place::work, at.held(c), got, 0);
  b.copy_after(Place::work, at.own, Place::out, at.own, got);
}
void all_to_all_direct(Builder& b) {
  Parts out(b.p.send_counts), in(b.p.recv_counts);
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), out(b.at(k)));
  b.copy(out(b.p.rank), in(b.p.rank));
  for (int k = 1; k < b.p.size; ++k) b.receive(b.at(-k), in(b.at(-k)));
  b.s.in_turns = true;
}
/// In the round of bit d all parts that still have to travel d members further go there in one message: log2 P rounds,
/// each with half of the bytes. All parts have the same length.
void all_to_all_bruck(Builder& b) {
  int P = b.p.size;
  auto n = b.p.send_counts[0];
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
void permute_direct(Builder& b) {
  Range all{0, b.p.send_counts[0]};
  if (b.p.target >= 0 && b.p.target != b.p.rank) b.send(b.p.target, all);
  if (b.p.source == b.p.rank) b.copy(all, all);
  else if (b.p.source >= 0) b.receive(b.p.source, all);
  else if (b.p.op == Op::permute) b.add({.kind = Kind::zero, .to = all});
}
/// In round k every member signals the member 2^k further on; log2 P rounds.
void barrier_dissemination(Builder& b) {
  int got = -1;
  for (int d = 1, tag = 0; d < b.p.size; d *= 2, ++tag) {
    b.send_after(b.at(d), Place::in, {}, got, tag);
    got = b.receive(b.at(-d), {}, tag);
  }
}
using Build = void (*)(Builder&);
struct Entry {
  Op op;
  Algorithm algorithm;
  Build build;
};
using A = Algorithm;
constexpr Entry kEntries[] = {
    {Op::all_reduce, A::one_shot, all_reduce_one_shot},
    {Op::all_reduce, A::two_shot, all_reduce_two_shot},
    {Op::all_reduce, A::chain, all_reduce_chain},
    {Op::all_reduce, A::bruck, all_reduce_bruck},
    {Op::all_reduce, A::hierarchical, all_reduce_hierarchical},
    {Op::all_reduce, A::one_shot_hierarchical, all_reduce_one_shot_hierarchical},
    {Op::all_gather, A::direct, all_gather_direct},
    {Op::all_gather, A::ring, all_gather_ring},
    {Op::all_gather, A::bruck, all_gather_bruck},
    {Op::all_gather, A::hierarchical, all_gather_hierarchical},
    {Op::reduce_scatter, A::direct, reduce_scatter_direct},
    {Op::reduce_scatter, A::chain, reduce_scatter_chain},
    {Op::reduce_scatter, A::hierarchical, reduce_scatter_hierarchical},
    {Op::broadcast, A::direct, [](Builder& b) { broadcast(b, A::direct); }},
    {Op::broadcast, A::binomial, [](Builder& b) { broadcast(b, A::binomial); }},
    {Op::broadcast, A::chain, [](Builder& b) { broadcast(b, A::chain); }},
    {Op::broadcast, A::scatter_gather, broadcast_scatter_gather},
    {Op::broadcast, A::double_tree, broadcast_double_tree},
    {Op::broadcast, A::hierarchical, broadcast_hierarchical},
    {Op::gather, A::direct, gather_direct},
    {Op::gather, A::binomial, gather_binomial},
    {Op::gather, A::hierarchical, gather_hierarchical},
    {Op::scatter, A::direct, scatter_direct},
    {Op::scatter, A::binomial, scatter_binomial},
    {Op::scatter, A::hierarchical, scatter_hierarchical},
    {Op::all_to_all, A::direct, all_to_all_direct},
    {Op::all_to_all, A::bruck, all_to_all_bruck},
    {Op::all_to_all, A::hierarchical, all_to_all_hierarchical},
    {Op::permute, A::direct, permute_direct},
    {Op::send_recv, A::direct, permute_direct},
    {Op::barrier, A::dissemination, barrier_dissemination},
};
}  // namespace

std::string_view algorithm_name(Algorithm a) {
  static constexpr std::string_view names[] = {
      "direct",        "one_shot", "two_shot",       "ring",        "binomial",     "chain",
      "dissemination", "bruck",    "scatter_gather", "double_tree", "hierarchical", "one_shot_hierarchical"};
  return names[static_cast<std::size_t>(a)];
}
std::vector<Algorithm> algorithms_for(Op op, bool blocks, bool uniform) {
  std::vector<Algorithm> found;
  for (auto& e : kEntries) {
    bool needs_blocks = e.algorithm == A::hierarchical || e.algorithm == A::one_shot_hierarchical;
    bool needs_uniform = e.op == Op::all_to_all && e.algorithm != A::direct;
    if (e.op == op && (blocks || !needs_blocks) && (uniform || !needs_uniform)) found.push_back(e.algorithm);
  }
  return found;
}
Schedule make_schedule(const Problem& p, Algorithm a) {
  for (auto& e : kEntries) {
    if (e.op != p.op || e.algorithm != a) continue;
    Builder b{p};
    e.build(b);
    return std::move(b.s);
  }
  fail<ValueError>(word(p.op), ": there is no algorithm ", algorithm_name(a));
}
Range part_of(std::int64_t n, int p, int P) {
  auto cut = [&](int k) { return k == P ? n : n * k / P / 16 * 16; };
  return {cut(p), cut(p + 1)};
}
std::int64_t chunk_elements(std::int64_t n, std::size_t element_bytes, std::int64_t limit) {
  auto e = static_cast<std::int64_t>(element_bytes);
  auto least = limit < kMaxChunkBytes ? 16 << 10 : 64 << 10;
  auto bytes = std::clamp<std::int64_t>((n * e + 3) / 4, least, limit);
  return std::min((bytes / e + 63) / 64 * 64, limit / e);
}
}  // namespace bora::transport
