// collective.h -- the words for communication between ranks, from operations down to the wire.
#pragma once
#include <cstdint>
#include <string_view>

namespace bora {
enum class CollectiveKind : std::uint8_t {
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
/// How numbers are combined: of an axis of an array, or over ranks. all, any: of booleans. max and min take NaN.
enum class Reduction : std::uint8_t { sum, max, min, prod, all, any, mean };

/// As messages and traces write them. A switch without default: the compiler asks for a new value's word.
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
constexpr std::string_view word(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return "sum";
    case Reduction::max: return "max";
    case Reduction::min: return "min";
    case Reduction::prod: return "prod";
    case Reduction::all: return "all";
    case Reduction::any: return "any";
    case Reduction::mean: return "mean";
  }
  return "?";
}
}  // namespace bora
