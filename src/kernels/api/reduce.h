// reduce.h -- reductions, scans along a dimension and positions of extremes. Arrays are viewed as [outer, n, inner],
// row-major.
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"
#include "kernels/api/loop.h"

namespace bora::kernels {
/// out[outer, inner] = reduction over n. Sums of bf16 accumulate in f32 and round once; integers wrap; bool sums are
/// not defined. The shape fixes the order of a sum: 32 interleaved partial sums along each segment of a row (inner = 1,
/// as in a fused loop), or blocks of rows combined in order (inner > 1); the same bits for every number of threads.
/// n = 0 gives the identity; for max that is -inf (the smallest integer).
void reduce(Reduction, Dtype, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner);
/// The same reduction over the rows of [n, columns] piece by piece, for a caller that produces the rows as it goes:
/// begin each block of kBlockRows rows (the last may be shorter), add its rows in order, in any portions, then combine
/// the blocks. The same bits.
inline constexpr std::int64_t kBlockRows = 64;
/// Bytes of a partial result: f32 for bf16, else the dtype itself.
std::size_t partial_bytes(Dtype);
void begin_block(Reduction, Dtype, void* partial, std::int64_t columns);
/// in: the first of `rows` rows, `pitch` elements apart.
void add_rows(Reduction, Dtype, const void* in, void* partial, std::int64_t rows, std::int64_t columns,
              std::int64_t pitch);
/// out[columns] from partial[blocks, columns].
void combine_blocks(Reduction, Dtype, const void* partial, void* out, std::int64_t blocks, std::int64_t columns);
/// out i32[outer, inner] = first position of the maximum (minimum); NaN counts as the extreme.
void arg_reduce(bool max, Dtype, const void* in, std::int32_t* out, std::int64_t outer, std::int64_t n,
                std::int64_t inner);
/// Running sum along n, from the front or the back. bf16 accumulates in f32. May run in place. Rows (inner = 1) of
/// 65536 elements and more are summed in blocks of 16384, each starting from the sums of the blocks before it.
void cumsum(Dtype, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner, bool reverse);
}  // namespace bora::kernels
