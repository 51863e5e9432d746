// growth.h -- the bytes that a tokenizer's rules may make of a text: a few rules in a row, each of them small, would
// make gigabytes of one byte.
#pragma once
#include <cstddef>
#include <string_view>
#include "bora/base/error.h"

namespace bora::text {
constexpr std::size_t kMostGrowth = 64, kFreeGrowth = 64 << 10;
inline std::size_t most_of(std::size_t bytes) { return kFreeGrowth + kMostGrowth * bytes; }
/// Throws ValueError if `rules` (a normalizer, ..) have made more of so many bytes.
inline void check_growth(std::string_view rules, std::size_t bytes, std::size_t made) {
  check<ValueError>(made <= most_of(bytes), "tokenizer: its ", rules, " makes more than ", most_of(bytes), " bytes of ",
                    bytes, "; at most ", kMostGrowth, " times as many and ", kFreeGrowth,
                    " more are made. Give it fewer or shorter replacements");
}
}  // namespace bora::text
