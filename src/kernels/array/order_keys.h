// order_keys.h -- values as unsigned keys whose order is the total order of values: -0 = +0, NaN last.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include "bora/base/dtype.h"

namespace bora::kernels {
template <class Key, class F> Key float_key(F x) {
  if (x != x) return std::numeric_limits<Key>::max();
  auto bits = std::bit_cast<Key>(x == 0 ? F(0) : x);
  constexpr Key sign = Key(1) << (8 * sizeof(Key) - 1);
  return bits & sign ? static_cast<Key>(~bits) : static_cast<Key>(bits | sign);
}
template <class T> auto key_of(T x) {
  if constexpr (std::is_same_v<T, bfloat16>)
    return static_cast<std::uint16_t>(float_key<std::uint32_t>(static_cast<float>(x)) >> 16);
  else if constexpr (std::is_same_v<T, float>) return float_key<std::uint32_t>(x);
  else if constexpr (std::is_same_v<T, double>) return float_key<std::uint64_t>(x);
  else if constexpr (std::is_same_v<T, bool>) return static_cast<std::uint8_t>(x);
  else if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(static_cast<U>(x) ^ (U(1) << (8 * sizeof(U) - 1)));
  } else return x;
}
/// The value of a key: +0 for both zeros, one fixed NaN for all NaNs.
template <class T, class Key> T value_of(Key k) {
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bfloat16>) {
    constexpr Key sign = Key(1) << (8 * sizeof(Key) - 1);
    return std::bit_cast<T>(static_cast<Key>(k & sign ? k ^ sign : ~k));
  } else if constexpr (std::is_signed_v<T>) return static_cast<T>(k ^ (Key(1) << (8 * sizeof(Key) - 1)));
  else return static_cast<T>(k);
}
}  // namespace bora::kernels
