// index.h -- gather and scatter: reads and writes at positions given by an array.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include "bora/base/dtype.h"

namespace bora::kernels {
/// Reads at an index outside [0, n) clamp it or give the fill value; writes there are always dropped. Negative indices
/// are outside.
enum class OutOfRange : std::uint8_t { clamp, fill };
/// out[outer, m, inner] = in[outer, indices[m], inner]; in is [outer, n, inner] with `size` bytes per element.
/// filler: the fill value's `size` bytes.
void take(const void* in, const std::int32_t* indices, void* out, std::int64_t outer, std::int64_t n, std::int64_t m,
          std::int64_t inner, std::size_t size, OutOfRange, const void* filler);
/// How a scatter combines an element with an update. set: the last update wins.
enum class ScatterMode : std::uint8_t { add, set, multiply, min, max };
/// out[outer, j, inner] = in[...] combined with updates[outer, m, inner] for all m with indices[m] = j, in order of m
/// for every element: the same bits for every number of threads. out may be in. Sums and products of bf16 are made in
/// f32 for each target row and rounded once.
void scatter(ScatterMode, Dtype, const void* in, const std::int32_t* indices, const void* updates, void* out,
             std::int64_t outer, std::int64_t n, std::int64_t m, std::int64_t inner);

/// As messages write it. A switch without default: the compiler asks for a new value's word.
constexpr std::string_view word(ScatterMode mode) {
  switch (mode) {
    case ScatterMode::add: return "add";
    case ScatterMode::set: return "set";
    case ScatterMode::multiply: return "multiply";
    case ScatterMode::min: return "min";
    case ScatterMode::max: return "max";
  }
  return "?";
}
}  // namespace bora::kernels
