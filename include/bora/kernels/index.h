// index.h -- reading and writing at positions that are data.
#pragma once
#include <cstddef>
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels {
/// What happens to an index outside [0, n): reads clamp, or give `fill`; writes are always dropped. Negative indices are outside.
enum class OutOfRange : std::uint8_t { clamp, fill };
/// out[outer, m, inner] = in[outer, indices[m], inner]; in is [outer, n, inner]; `size` bytes an element. fill_bits: the element to give.
void take(const void* in, const std::int32_t* indices, void* out, std::int64_t outer, std::int64_t n, std::int64_t m,
          std::int64_t inner, std::size_t size, OutOfRange, std::uint64_t fill_bits);
/// out[outer, j, inner] = in[...] + sum over m with indices[m] = j of updates[outer, m, inner], in order of m for every element: the
/// same bits for every number of threads. out may be in. bf16 is accumulated in f32 for each target row and rounded once.
void scatter_add(Dtype, const void* in, const std::int32_t* indices, const void* updates, void* out, std::int64_t outer,
                 std::int64_t n, std::int64_t m, std::int64_t inner);
/// As scatter_add with another way to combine; `set`: the last write wins.
enum class Combine : std::uint8_t { set, multiply, min, max };
void scatter(Combine, Dtype, const void* in, const std::int32_t* indices, const void* updates, void* out,
             std::int64_t outer, std::int64_t n, std::int64_t m, std::int64_t inner);
}  // namespace bora::kernels
