// reduce.h -- reductions, scans along a dimension and positions of extremes. Arrays are seen as [outer, n, inner], row-major.
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"
#include "bora/kernels/loop.h"

namespace bora::kernels {
/// out[outer, inner] = reduction over n. Sums of bf16 accumulate in f32 and round once; integers wrap; bool sums are not defined.
/// The order of a sum is fixed by the shape: 32 interleaved partial sums along each segment of a row (inner = 1, as a fused loop does
/// it), or blocks of rows combined in order (inner > 1); the same bits for every number of threads. n = 0 gives the identity; max of
/// nothing is -inf (the smallest integer).
void reduce(Reduction, Dtype, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner);
std::string_view reduction_name(Reduction);
/// The same reduction over the rows of [n, columns] piece by piece, for a caller that makes the rows as it goes: each block of kBlockRows
/// rows (the last may be shorter) is begun and takes its rows in order, in any portions; then the blocks are combined. The same bits.
inline constexpr std::int64_t kBlockRows = 64;
/// Bytes of a partial result: f32 for bf16, else the dtype itself.
std::size_t partial_bytes(Dtype);
void begin_block(Reduction, Dtype, void* partial, std::int64_t columns);
/// in: the first of `rows` rows, each `pitch` elements behind the one before.
void add_rows(Reduction, Dtype, const void* in, void* partial, std::int64_t rows, std::int64_t columns,
              std::int64_t pitch);
/// out[columns] from partial[blocks, columns].
void combine_blocks(Reduction, Dtype, const void* partial, void* out, std::int64_t blocks, std::int64_t columns);
/// out i32[outer, inner] = first position of the maximum (minimum); NaN counts as the extreme.
void arg_reduce(bool max, Dtype, const void* in, std::int32_t* out, std::int64_t outer, std::int64_t n,
                std::int64_t inner);
/// Running sum along n, from the front or the back. bf16 accumulates in f32. May run in place. Rows (inner = 1) of 65536 elements and more
/// are summed in blocks of 16384, each of which starts from the sums of those before.
void cumsum(Dtype, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner, bool reverse);
}  // namespace bora::kernels
