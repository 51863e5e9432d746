// schedule.h -- a collective algorithm is data: a pure function (op, rank, size) -> steps, executed, simulated and costed by code that is
// written once. Positions are those in the group, ranges are elements.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::transport {
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};
/// Memory of one rank: the caller's, or `work` elements of the schedule's own.
enum class Place : std::uint8_t { in, out, work };
/// One step of one rank. Steps run concurrently, each as soon as what it waits for is there: chunk k of step `needs`, which has the same
/// length, and the whole of every copy, receive, sum and fold up to step `after`. Streams between two ranks are told apart by `tag`, which
/// sender and receiver share.
struct Step {
  enum class Kind : std::uint8_t {
    copy,     // source[from] -> target[to]
    zero,     // out[to] = 0
    send,     // source[from] to peer
    receive,  // from peer to target[to]
    sum,      // out[to] = the parts of members first..last-1 reduced in group order: own in[from], the others' received; before them comes
              // what `peer` sends, the running sum of all members before `first`. With `next` the result is sent there instead. It is a
              // running sum, in the dtype in which sums are made, until the last member is in it.
    fold,     // out[to] = blocks of to.size() elements in work[from] reduced in group order; block 0 is member `first`'s, and so on round
  };
  Kind kind = Kind::copy;
  int peer = -1;
  Place source = Place::in, target = Place::out;
  Range from = {}, to = {};
  int needs = -1, after = -1;
  std::uint16_t tag = 0;
  int first = 0, last = 0, next = -1;
};
struct Schedule {
  std::vector<Step> steps;
  /// `in` is still being sent where `out` is written: a send must be a copy when the two are the same memory.
  bool overwrites = false;
  bool running = false;   // some rank's schedule sends running sums
  /// Streams from one rank to another are sent one after the other, in the order of the steps. Where a rank makes several sums out of several
  /// streams each, all must be fed in the same order: the window of a peer could fill with what waits for what cannot be sent.
  bool in_order = false;
  /// Everybody sends to everybody: a rank sends the k-th messages of its streams to one member after the other, then the next ones, and what
  /// it has summed after all of that. A member without room is waited for. Ranks that keep to it rarely meet in front of one host.
  bool in_turns = false;
  std::int64_t work = 0;  // elements
};
enum class Algorithm : std::uint8_t {
  direct,
  one_shot,
  two_shot,
  ring,
  binomial,
  chain,
  dissemination,
  bruck,
  scatter_gather,
  double_tree,
  hierarchical,
  one_shot_hierarchical
};
std::string_view algorithm_name(Algorithm);

/// What a schedule depends on, in elements; counts as in Collective.
struct Problem {
  Op op = Op::barrier;
  int rank = 0, size = 1;
  std::vector<std::int64_t> send_counts = {}, recv_counts = {};
  int root = 0, source = -1, target = -1;
  std::vector<int> blocks = {};  // as in Layout
};
/// The steps of one rank. Sums are made in group order by all of them, so large ones pass a running sum along a chain of ranks where others
/// would go round a ring. Sources: one-shot, two-shot, ring all-gather, binomial trees and scatter + all-gather broadcast (Thakur et al.
/// 2005); Bruck all-gather and all-to-all (Bruck et al. 1997); two trees (Sanders, Speck & Traff 2009); dissemination barrier (Hensgen,
/// Finkel & Manber 1988).
Schedule make_schedule(const Problem&, Algorithm);
/// The algorithms there are for op; `hierarchical` ones need blocks, and all but the direct all_to_all equal parts (`uniform`).
std::vector<Algorithm> algorithms_for(Op, bool blocks = false, bool uniform = false);
/// Part p of n elements in P parts, cut at multiples of 16 elements.
Range part_of(std::int64_t n, int p, int P);
inline constexpr std::int64_t kMaxChunkBytes = 256 << 10;
/// Elements per message for a stream of n elements: at least four messages for a long stream, none above `limit` bytes. A limit below the
/// largest is that of a slow link, where four messages pay from 64 KiB on: what the first one brought goes on while the others come.
std::int64_t chunk_elements(std::int64_t n, std::size_t element_bytes, std::int64_t limit = kMaxChunkBytes);
}  // namespace bora::transport
