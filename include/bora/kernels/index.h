// index.h -- gather and scatter: reads and writes at positions given by an array.
#pragma once
#include <cstddef>
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels {
/// Reads at an index outside [0, n) clamp it or give the fill value; writes there are always dropped. Negative indices
/// are outside.
enum class OutOfRange : std::uint8_t { clamp, fill };
/// out[outer, m, inner] = in[outer, indices[m], inner]; in is [outer, n, inner] with `size` bytes per element.
/// fill_bits: the fill value.
void take(const void* in, const std::int32_t* indices, void* out, std::int64_t outer, std::int64_t n, std::int64_t m,
          std::int64_t inner, std::size_t size, OutOfRange, std::uint64_t fill_bits);
/// out[outer, j, inner] = in[...] + sum over m with indices[m] = j of updates[outer, m, inner], in order of m for every
/// element: the same bits for every number of threads. out may be in. bf16 is accumulated in f32 for each target row
/// and rounded once.
void scatter_add(Dtype, const void* in, const std::int32_t* indices, const void* updates, void* out, std::int64_t outer,
                 std::int64_t n, std::int64_t m, std::int64_t inner);
/// As scatter_add with another operator; `set`: the last write wins.
enum class Combine : std::uint8_t { set, multiply, min, max };
void scatter(Combine, Dtype, const void* in, const std::int32_t* indices, const void* updates, void* out,
             std::int64_t outer, std::int64_t n, std::int64_t m, std::int64_t inner);
}  // namespace bora::kernels
