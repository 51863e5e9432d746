// collective.h -- communication between ranks in words and as a call, the same from operations down to the wire.
#pragma once
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>
#include "bora/base/dtype.h"
#include "bora/base/reduction.h"
#include "bora/base/wire.h"

namespace bora {
enum class CollectiveKind : std::uint8_t {  // the kinds of communication; word() spells them
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  gather,
  scatter,
  all_to_all,
  permute,
  send_recv,
  barrier
};

/// As messages and traces write it. A switch without default: the compiler asks for a new value's word.
constexpr std::string_view word(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::gather: return "gather";
    case CollectiveKind::scatter: return "scatter";
    case CollectiveKind::all_to_all: return "all_to_all";
    case CollectiveKind::permute: return "permute";
    case CollectiveKind::send_recv: return "send_recv";
    case CollectiveKind::barrier: return "barrier";
  }
  return "?";
}

/// One collective of one rank. Buffers are contiguous and must live until it has completed. All sums are made in group
/// order, element by element, whatever the size, chunking or algorithm; bf16 is summed in f32 and rounded once;
/// integers wrap; a mean is the sum divided by the number of members before it is rounded (floating dtypes only).
///   all_reduce      in [n], out [n] (may be the same memory)          send_counts = {n}
///   all_gather      in [mine], out [sum of recv_counts]               recv_counts: every member's part, in group order
///   reduce_scatter  in [sum of recv_counts], out [mine]               recv_counts: every member's part, in group order
///   broadcast       root's in [n] to out [n] on all members           send_counts = {n}; root: position in the group
///   gather          in [mine], root's out [sum of recv_counts]        recv_counts as for all_gather; root
///   scatter         root's in [sum of recv_counts], out [mine]        recv_counts as for reduce_scatter; root
///   all_to_all      in: a part for each member, out: one from each    send_counts, recv_counts; `uniform` if all parts
///                                                                     of all members have one length (each rank knows
///                                                                     only its own; small ones take fewer messages);
///                                                                     `sparse`: no message for an empty part
///   permute         in [n] to member target, out [n] from source      send_counts = {n}; source or target -1: none
///                                                                     (out = 0)
///   send_recv       permute that keeps out as it is without a source
///   barrier         no buffers
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::barrier;
  Reduction reduce = Reduction::sum;  // sum, max, min or mean
  Dtype dtype = Dtype::f32;
  /// The wire of an f32 all_reduce or reduce_scatter by sum or mean (bf16: by any). Every algorithm that can be used
  /// gives the same bits; int8 and int4 cannot use those that pass running sums on.
  Wire wire = {};
  const void* in = nullptr;
  void* out = nullptr;
  std::vector<std::int64_t> send_counts = {}, recv_counts = {};  // in elements
  int root = 0, source = -1, target = -1;                        // positions in the group
  bool uniform = false;
  bool sparse = false;  // the same on all members, each of which knows which parts are empty for both sides
  std::uint64_t fingerprint = 0;  // hash of the operation as the program sees it; every data header has it, equal
  /// The operation in words, asked for only when the ranks disagree or one is lost.
  std::function<std::string()> describe = {};
};
}  // namespace bora
