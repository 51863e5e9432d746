// reduction.h -- how numbers are combined: of an axis of an array, or over ranks.
#pragma once
#include <cstdint>
#include <string_view>

namespace bora {
/// all, any: of booleans. max and min take NaN.
enum class Reduction : std::uint8_t { sum, max, min, prod, all, any, mean };

/// As messages and traces write it. A switch without default: the compiler asks for a new value's word.
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
