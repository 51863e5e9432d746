// fold.h -- what loops over tiles of short rows need besides loops: transposing, and reductions across the tile.
#pragma once
#include <cstddef>
#include <cstdint>
#include "bora/base/collective.h"
#include "bora/base/dtype.h"

namespace bora::kernels {
/// Rows and columns with any strides, in elements.
struct Matrix {
  void* at;
  std::int64_t row, column;
};
/// to = from, `size` bytes an element.
void turn(Matrix from, Matrix to, std::int64_t rows, std::int64_t columns, std::size_t size);
/// out[r] = reduction of in[i * pitch + r] over i < n, in the order of a loop: element i into partial result i % 32,
/// which are combined by halving. r < rows, rounded up to a multiple of kFoldedRows: the memory has them all.
inline constexpr std::int64_t kFoldedRows = 16;
void fold(Reduction, Dtype, const void* in, std::int64_t pitch, void* out, std::int64_t n, std::int64_t rows);
}  // namespace bora::kernels
