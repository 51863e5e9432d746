// build.h -- parts shared by the builders of schedules (all_reduce.cpp, all_gather.cpp, ...), and the list of their
// tables.
#pragma once
#include <numeric>
#include "schedule/schedule.h"

namespace bora::transport {
/// Builds one rank's steps; each call returns the step's index, for `needs` and `after`.
struct Builder {
  using Kind = Step::Kind;
  const CollectiveCall& call;
  const Layout& layout;
  int rank, size = layout.size;
  Schedule s = {};

  int at(int distance) const { return ((rank + distance) % size + size) % size; }
  int add(Step step) {
    s.steps.push_back(step);
    return static_cast<int>(s.steps.size()) - 1;
  }
  int send(int peer, Range from, int tag = 0) {
    return add({.kind = Kind::send, .peer = peer, .from = from, .tag = static_cast<std::uint16_t>(tag)});
  }
  int forward(int peer, Place source, Range from, int needs, int tag) {
    return add({.kind = Kind::send,
                .peer = peer,
                .source = source,
                .from = from,
                .needs = needs,
                .tag = static_cast<std::uint16_t>(tag)});
  }
  int send_after(int peer, Place source, Range from, int after, int tag) {
    return add({.kind = Kind::send,
                .peer = peer,
                .source = source,
                .from = from,
                .after = after,
                .tag = static_cast<std::uint16_t>(tag)});
  }
  int receive(int peer, Range to, int tag = 0, Place target = Place::out) {
    return add(
        {.kind = Kind::receive, .peer = peer, .target = target, .to = to, .tag = static_cast<std::uint16_t>(tag)});
  }
  int copy(Range from, Range to, Place target = Place::out) {
    return add({.kind = Kind::copy, .target = target, .from = from, .to = to});
  }
  int copy_after(Place source, Range from, Place target, Range to, int after) {
    return add({.kind = Kind::copy, .source = source, .target = target, .from = from, .to = to, .after = after});
  }
  int sum(Range from, Range to) { return add({.kind = Kind::sum, .from = from, .to = to, .last = size}); }
  /// Adds members first..last-1 to the running sum from `peer` (-1: none); the result goes to `next` (-1: out[to]).
  int running_sum(int peer, int first, int last, int next, Range from, Range to, int tag) {
    s.running = true;
    return add({.kind = Kind::sum,
                .peer = peer,
                .from = from,
                .to = to,
                .tag = static_cast<std::uint16_t>(tag),
                .first = first,
                .last = last,
                .next = next});
  }
  /// Reduces the members' blocks of n elements in work, of which the first one is member `first`'s.
  int fold(std::int64_t n, int first, int after) {
    return add({.kind = Kind::fold, .from = {0, n * size}, .to = {0, n}, .after = after, .first = first});
  }
};
/// The ranges of consecutive parts of these lengths.
class Parts {
 public:
  explicit Parts(const std::vector<std::int64_t>& counts) : o_(counts.size() + 1, 0) {
    std::partial_sum(counts.begin(), counts.end(), o_.begin() + 1);
  }
  Range operator()(int r) const { return over(r, r + 1); }
  Range over(int first, int last) const {
    return {o_[static_cast<std::size_t>(first)], o_[static_cast<std::size_t>(last)]};
  }

 private:
  std::vector<std::int64_t> o_;
};
/// Position v, counted from the root, in a binomial tree: its children are v + mask, each the root of at most `mask`
/// members.
struct Binomial {
  int parent = -1, span = 1;  // span: members of its subtree, itself included
  std::vector<int> children = {};
  Binomial(int v, int P);
};
/// This rank's place among hosts, for groups over several hosts with several members each, side by side in group order
/// (hierarchical algorithms): members of a host exchange with each other, and each member exchanges only its slice with
/// other hosts.
struct Hosts {
  const std::vector<int>& begin;
  int count, mine = 0, local = 0, slices;

  explicit Hosts(const Builder&);
  int first(int h) const { return begin[static_cast<std::size_t>(h)]; }
  int members(int h) const { return first(h + 1) - first(h); }
  /// The member of host h that handles slice, or part, k.
  int owner(int h, int k) const { return first(h) + k % members(h); }
  template <class F> void others(int rank, F f) const {  // of this host, this rank's successor first
    for (int k = 1, n = members(mine); k < n; ++k) f(first(mine) + (rank - first(mine) + k) % n);
  }
};
/// Gathers all parts into work in rotated order, this rank's first: log2 P rounds with twice the bytes in each. Returns
/// the last step that writes there.
int bruck_into_work(Builder&, const std::vector<std::int64_t>& counts);
/// Every part crosses to each other host once, to the member with the sender's local number, which forwards it. Returns
/// the last step.
int gather_by_host(Builder&, const std::vector<std::int64_t>& counts, Place target);

inline constexpr std::int64_t kKiB = 1 << 10;
extern const AlgorithmTable kAllReduce, kAllGather, kReduceScatter, kBroadcast, kGather, kScatter, kAllToAll, kPermute,
    kSendRecv, kBarrier;
}  // namespace bora::transport
