#include "schedule.h"
#include <algorithm>
#include <numeric>

namespace bora::transport {
namespace {
using Kind = Step::Kind;
/// Builds one rank's steps; `add` returns the step's index for `needs`.
struct Builder {
  const Problem& p;
  Schedule s = {};

  int at(int distance) const { return ((p.rank + distance) % p.size + p.size) % p.size; }
  int add(Step step) {
    s.steps.push_back(step);
    return static_cast<int>(s.steps.size()) - 1;
  }
  int send(int peer, Range from, std::uint16_t tag = 0) {
    return add({.kind = Kind::send, .peer = peer, .from = from, .tag = tag});
  }
  int forward(int peer, Range from, int needs, std::uint16_t tag) {
    return add({.kind = Kind::send, .peer = peer, .from_out = true, .from = from, .needs = needs, .tag = tag});
  }
  int receive(int peer, Range to, std::uint16_t tag = 0) {
    return add({.kind = Kind::receive, .peer = peer, .to = to, .tag = tag});
  }
  int copy(Range from, Range to) { return add({.kind = Kind::copy, .from = from, .to = to}); }
  int sum(Range from, Range to) { return add({.kind = Kind::sum, .from = from, .to = to}); }
};
/// Parts of these lengths, one after the other.
class Parts {
 public:
  explicit Parts(const std::vector<std::int64_t>& counts) : o_(counts.size() + 1, 0) {
    std::partial_sum(counts.begin(), counts.end(), o_.begin() + 1);
  }
  Range operator()(int r) const { return {o_[static_cast<std::size_t>(r)], o_[static_cast<std::size_t>(r) + 1]}; }

 private:
  std::vector<std::int64_t> o_;
};

/// Everybody sends everything to everybody and sums in group order: one hop.
void all_reduce_one_shot(Builder& b) {
  Range all{0, b.p.send_counts[0]};
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), all);
  b.sum(all, all);
  b.s.overwrites = true;
}
/// Piece p is summed by member p in group order, then sent to everybody: two hops, 2 (P-1)/P of the bytes.
void all_reduce_two_shot(Builder& b) {
  auto n = b.p.send_counts[0];
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), part_of(n, b.at(k), b.p.size));
  Range mine = part_of(n, b.p.rank, b.p.size);
  int sum = b.sum(mine, mine);
  for (int k = 1; k < b.p.size; ++k) b.forward(b.at(k), mine, sum, 1);
  for (int k = 1; k < b.p.size; ++k) b.receive(b.at(-k), part_of(n, b.at(-k), b.p.size), 1);
}
void reduce_scatter_direct(Builder& b) {
  Parts part(b.p.recv_counts);
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), part(b.at(k)));
  Range mine = part(b.p.rank);
  b.sum(mine, {0, mine.size()});
}
void all_gather_direct(Builder& b) {
  Parts part(b.p.recv_counts);
  Range mine = part(b.p.rank), in{0, mine.size()};
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), in);
  b.copy(in, mine);
  for (int k = 1; k < b.p.size; ++k) b.receive(b.at(-k), part(b.at(-k)));
}
void all_gather_ring(Builder& b) {
  Parts part(b.p.recv_counts);
  Range mine = part(b.p.rank), in{0, mine.size()};
  int got = -1;
  if (b.p.size > 1) b.send(b.at(1), in);
  b.copy(in, mine);
  for (int t = 0; t + 1 < b.p.size; ++t) {
    if (t > 0) b.forward(b.at(1), part(b.at(-t)), got, static_cast<std::uint16_t>(t));
    got = b.receive(b.at(-1), part(b.at(-t - 1)), static_cast<std::uint16_t>(t));
  }
}
/// The tree of a broadcast: who sends to whom, counted from the root.
void broadcast(Builder& b, Algorithm a) {
  Range all{0, b.p.send_counts[0]};
  int P = b.p.size, v = (b.p.rank - b.p.root + P) % P;  // position counted from the root
  auto member = [&](int position) { return (position + b.p.root) % P; };
  int parent = -1;
  std::vector<int> children;
  if (a == Algorithm::direct) {
    if (v != 0) parent = 0;
    else
      for (int c = 1; c < P; ++c) children.push_back(c);
  } else if (a == Algorithm::chain) {
    parent = v - 1;
    if (v + 1 < P) children.push_back(v + 1);
  } else {
    int mask = 1;
    for (; mask < P && !(v & mask); mask <<= 1) {}
    if (v != 0) parent = v - mask;
    for (mask >>= 1; mask > 0; mask >>= 1)
      if (v + mask < P) children.push_back(v + mask);
  }
  if (v == 0) {
    for (int c : children) b.send(member(c), all);
    b.copy(all, all);
    return;
  }
  int got = b.receive(member(parent), all);
  for (int c : children) b.forward(member(c), all, got, 0);
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
void all_to_all_direct(Builder& b) {
  Parts out(b.p.send_counts), in(b.p.recv_counts);
  for (int k = 1; k < b.p.size; ++k) b.send(b.at(k), out(b.at(k)));
  b.copy(out(b.p.rank), in(b.p.rank));
  for (int k = 1; k < b.p.size; ++k) b.receive(b.at(-k), in(b.at(-k)));
}
void permute_direct(Builder& b) {
  Range all{0, b.p.send_counts[0]};
  if (b.p.target >= 0 && b.p.target != b.p.rank) b.send(b.p.target, all);
  if (b.p.source == b.p.rank) b.copy(all, all);
  else if (b.p.source >= 0) b.receive(b.p.source, all);
  else if (b.p.op == Op::permute) b.add({.kind = Kind::zero, .to = all});
}
/// In round k everybody tells the member 2^k further on; log2 P rounds.
void barrier_dissemination(Builder& b) {
  int got = -1;
  std::uint16_t tag = 0;
  for (int d = 1; d < b.p.size; d *= 2, ++tag) {
    b.forward(b.at(d), {}, got, tag);
    got = b.receive(b.at(-d), {}, tag);
  }
}
}  // namespace

std::string_view algorithm_name(Algorithm a) {
  static constexpr std::string_view names[] = {"direct",   "one_shot", "two_shot",     "ring",
                                               "binomial", "chain",    "dissemination"};
  return names[static_cast<std::size_t>(a)];
}
std::vector<Algorithm> algorithms_for(Op op) {
  switch (op) {
    case Op::all_reduce: return {Algorithm::one_shot, Algorithm::two_shot};
    case Op::all_gather: return {Algorithm::direct, Algorithm::ring};
    case Op::broadcast: return {Algorithm::direct, Algorithm::binomial, Algorithm::chain};
    case Op::barrier: return {Algorithm::dissemination};
    default: return {Algorithm::direct};
  }
}
Schedule make_schedule(const Problem& p, Algorithm a) {
  Builder b{p};
  switch (p.op) {
    case Op::all_reduce: a == Algorithm::one_shot ? all_reduce_one_shot(b) : all_reduce_two_shot(b); break;
    case Op::all_gather: a == Algorithm::ring ? all_gather_ring(b) : all_gather_direct(b); break;
    case Op::reduce_scatter: reduce_scatter_direct(b); break;
    case Op::broadcast: broadcast(b, a); break;
    case Op::gather: gather_direct(b); break;
    case Op::scatter: scatter_direct(b); break;
    case Op::all_to_all: all_to_all_direct(b); break;
    case Op::permute:
    case Op::send_recv: permute_direct(b); break;
    case Op::barrier: barrier_dissemination(b); break;
  }
  return std::move(b.s);
}
Algorithm choose_algorithm(Op op, int size, std::int64_t bytes) {
  switch (op) {
    // Two ranks send the same bytes either way, but one-shot sums all of them twice.
    case Op::all_reduce: return bytes <= (size == 2 ? 256 << 10 : 32 << 10) ? Algorithm::one_shot : Algorithm::two_shot;
    case Op::all_gather: return size > 32 ? Algorithm::ring : Algorithm::direct;
    case Op::broadcast:
      return size <= 2 ? Algorithm::direct : bytes <= (64 << 10) ? Algorithm::binomial : Algorithm::chain;
    case Op::barrier: return Algorithm::dissemination;
    default: return Algorithm::direct;
  }
}
Range part_of(std::int64_t n, int p, int P) {
  auto cut = [&](int k) { return k == P ? n : n * k / P / 16 * 16; };
  return {cut(p), cut(p + 1)};
}
std::int64_t chunk_elements(std::int64_t n, std::size_t element_bytes) {
  auto e = static_cast<std::int64_t>(element_bytes);
  auto bytes = std::clamp<std::int64_t>((n * e + 3) / 4, 64 << 10, kMaxChunkBytes);
  return std::min((bytes / e + 63) / 64 * 64, kMaxChunkBytes / e);
}
}  // namespace bora::transport
