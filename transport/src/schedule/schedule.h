// schedule.h -- a collective algorithm is data: a pure function (call, layout, rank) -> steps, executed and simulated
// by code that is written once, and a cost. Positions are positions in the group, ranges are in elements.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::transport {
/// Bytes under way from one member to another, for each collective.
inline constexpr std::int64_t kWindow = 2 << 20;
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};
/// Memory of one rank: the caller's, or `work` elements of scratch.
enum class Place : std::uint8_t { in, out, work };
/// One step of one rank. Steps run concurrently, each as soon as its inputs are there: chunk k of step `needs`, which
/// has the same length, and the whole of every copy, receive, sum and fold up to step `after`. `tag`, equal at sender
/// and receiver, tells streams between two ranks apart.
struct Step {
  enum class Kind : std::uint8_t {
    copy,     // source[from] -> target[to]
    zero,     // out[to] = 0
    send,     // source[from] to peer
    receive,  // from peer to target[to]
    // out[to] = the parts of members first..last-1 reduced in group order: own in[from], the others' received; before
    // them comes the running sum of all members before `first`, received from `peer`. With `next` the result is sent
    // there instead. It is a running sum, in the dtype in which sums are made, until the last member is in it.
    sum,
    // out[to] = blocks of to.size() elements in work[from] reduced in group order; block 0 is member `first`'s, and so
    // on round.
    fold,
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
  /// `out` is written while `in` is still being sent: a send must copy where both are the same memory.
  bool overwrites = false;
  bool running = false;  // some rank's schedule sends running sums
  /// Streams from one rank to another are sent one after the other, in the order of the steps. Where a rank makes
  /// several sums out of several streams each, all senders must keep one order: otherwise a peer's window could fill
  /// with chunks that wait for chunks that cannot be sent.
  bool in_order = false;
  /// All members send to all: a rank sends message k of its streams to one member after the other, then messages k + 1,
  /// and its sums after all of that; it waits for a member without room. Ranks in step rarely send to one host at the
  /// same time.
  bool in_turns = false;
  std::int64_t work = 0;  // elements
};
/// The distribution of a group's members over hosts.
struct Layout {
  int size = 1;
  int hosts = 1;            // with members
  int most = 1, least = 1;  // members of a host
  // Position of every host's first member, then size; empty unless the members of each host are side by side, there are
  // several hosts, and some have several members.
  std::vector<int> blocks = {};
};
/// `hosts`: a host number for every rank of the job; empty: all on one.
Layout layout_of(const std::vector<int>& ranks, const std::vector<int>& hosts);
struct Builder;  // build.h
struct Model;    // cost.h
struct AlgorithmTraits {
  bool hierarchical = false;      // needs several hosts with several members each, side by side (Layout::blocks)
  bool equal_parts = false;  // needs parts of one length (CollectiveCall::uniform)
  bool whole = false;        // within a host the receiver fetches each stream itself, so that it is not cut finer
  bool running = false;      // passes running sums on: not for codecs of blocks, which would round at every hop
};
/// One algorithm of one collective. All of them sum in group order, so large ones pass a running sum along a chain of
/// ranks where other libraries use a ring. Sources: one-shot, two-shot, ring all-gather, binomial trees and scatter +
/// all-gather broadcast (Thakur et al. 2005); Bruck all-gather and all-to-all (Bruck et al. 1997); two trees (Sanders,
/// Speck & Traff 2009); dissemination barrier (Hensgen, Finkel & Manber 1988).
struct Algorithm {
  CollectiveKind kind;
  std::string_view name;
  void (*steps)(Builder&);  // the steps of one rank
  void (*cost)(Model&);     // the work of the busiest rank
  AlgorithmTraits traits = {};
};
/// The algorithms of one collective; the first one can always be used. `unmeasured`: the name of the one to use where
/// links were not measured, for `bytes` in all elements (count_of). Without it, or where that one cannot be used, the
/// first one is.
struct AlgorithmTable {
  std::span<const Algorithm> rows;
  std::string_view (*unmeasured)(std::int64_t bytes, const Layout&) = nullptr;
  std::string_view unmeasured_blocks = {};  // of integers, where that one passes running sums on
};
std::span<const AlgorithmTable* const> algorithm_tables();
const AlgorithmTable& algorithm_table(CollectiveKind);
/// Throws ValueError if there is none.
const Algorithm& algorithm(CollectiveKind, std::string_view name);
/// The algorithms that can be used: with blocks as in Layout, with parts of one length.
std::vector<const Algorithm*> algorithms_for(CollectiveKind, bool blocks = false, bool uniform = false);
/// The steps of one rank; `rank` is its position in the group.
Schedule make_schedule(const Algorithm&, const CollectiveCall&, const Layout&, int rank);
/// Part p of n elements in P parts, cut at multiples of 16 elements.
Range part_of(std::int64_t n, int p, int P);
inline constexpr std::int64_t kMaxChunkBytes = 256 << 10;
/// Elements per message for a stream of n elements: at least four messages for a long stream, none above `limit` bytes.
/// A limit below kMaxChunkBytes means a slow link, where four messages pay from 64 KiB on: the first chunk is forwarded
/// while the others arrive.
std::int64_t chunk_elements(std::int64_t n, std::size_t element_bytes, std::int64_t limit = kMaxChunkBytes);
}  // namespace bora::transport
