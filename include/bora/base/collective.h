// collective.h -- the words for communication between ranks, from operations down to the wire.
#pragma once
#include <cstdint>

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
}  // namespace bora
