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
/// One step of one rank. Steps run concurrently; a send of chunk k waits for chunk k of step `needs` and for every receive before that
/// step. Streams between two ranks are told apart by `tag`, which sender and receiver share.
struct Step {
  enum class Kind : std::uint8_t {
    copy,     // in[from] -> out[to]
    zero,     // out[to] = 0
    send,     // in[from], or out[from], to peer
    receive,  // from peer to out[to]
    sum,      // out[to] = the members' parts reduced in group order: own in[from], the others' received
  };
  Kind kind = Kind::copy;
  int peer = -1;
  bool from_out = false;
  Range from = {}, to = {};
  int needs = -1;
  std::uint16_t tag = 0;
};
struct Schedule {
  std::vector<Step> steps;
  /// `in` is still being sent where `out` is written: a send must be a copy when the two are the same memory.
  bool overwrites = false;
};
enum class Algorithm : std::uint8_t { direct, one_shot, two_shot, ring, binomial, chain, dissemination };
std::string_view algorithm_name(Algorithm);

/// What a schedule depends on, in elements; counts as in Collective.
struct Problem {
  Op op = Op::barrier;
  int rank = 0, size = 1;
  std::vector<std::int64_t> send_counts = {}, recv_counts = {};
  int root = 0, source = -1, target = -1;
};
/// The steps of one rank. Sources: one-shot, two-shot, ring (Patarasuk & Yuan 2009), binomial (Thakur et al. 2005), dissemination barrier
/// (Hensgen, Finkel & Manber 1988).
Schedule make_schedule(const Problem&, Algorithm);
/// The algorithms that can do op.
std::vector<Algorithm> algorithms_for(Op);
/// The one to use; depends only on what every member knows.
Algorithm choose_algorithm(Op, int size, std::int64_t bytes);
/// Part p of n elements in P parts, cut at multiples of 16 elements.
Range part_of(std::int64_t n, int p, int P);
/// Elements per message for a stream of n elements: at least four messages for a long stream, none above 256 KiB.
std::int64_t chunk_elements(std::int64_t n, std::size_t element_bytes);
inline constexpr std::int64_t kMaxChunkBytes = 256 << 10;
}  // namespace bora::transport
