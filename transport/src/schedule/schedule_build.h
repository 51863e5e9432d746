// schedule_build.h -- shared by the builders of schedules (schedule.cpp, schedule_sum.cpp, schedule_hierarchical.cpp).
#pragma once
#include <numeric>
#include "schedule/schedule.h"

namespace bora::transport {
/// Builds one rank's steps; each call returns the step's index, for `needs` and `after`.
struct Builder {
  using Kind = Step::Kind;
  const Problem& p;
  Schedule s = {};

  int at(int distance) const { return ((p.rank + distance) % p.size + p.size) % p.size; }
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
  int sum(Range from, Range to) { return add({.kind = Kind::sum, .from = from, .to = to, .last = p.size}); }
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
    return add({.kind = Kind::fold, .from = {0, n * p.size}, .to = {0, n}, .after = after, .first = first});
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
/// schedule_sum.cpp
void all_reduce_one_shot(Builder&);
void all_reduce_two_shot(Builder&);
void all_reduce_bruck(Builder&);
void all_reduce_chain(Builder&);
void reduce_scatter_direct(Builder&);
void reduce_scatter_chain(Builder&);
/// Gathers all parts into work in rotated order, this rank's first; returns the last step that writes there.
int bruck_into_work(Builder&, const std::vector<std::int64_t>& counts);
/// schedule_hierarchical.cpp
void all_gather_hierarchical(Builder&);
void all_reduce_hierarchical(Builder&);
void all_reduce_one_shot_hierarchical(Builder&);
void reduce_scatter_hierarchical(Builder&);
void broadcast_hierarchical(Builder&);
void gather_hierarchical(Builder&);
void scatter_hierarchical(Builder&);
void all_to_all_hierarchical(Builder&);
}  // namespace bora::transport
