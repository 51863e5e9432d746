// patches.h -- products with the patches of an image, as convolutions need them, without a matrix of patches in memory.
#pragma once
#include <cstdint>
#include <vector>
#include "kernels/api/gemm.h"

namespace bora::kernels {
/// The matrix of an image's patches: a row for each window (image, position..), a column for each element of a window
/// (tap.., channel). Along dimension d, tap u of window t is pixel t * step + u * reach + origin, zero outside of
/// [0, size).
struct Patches {
  struct Along {
    std::int64_t size, stride;  // pixels, and elements of memory from one to the next
    std::int64_t windows, taps;
    std::int64_t step, reach, origin;  // reach >= 1
  };
  std::vector<Along> dims;            // at least one, the last of them innermost
  std::int64_t images, image_stride;  // the outermost dimension of the windows
  std::int64_t channels;              // contiguous
  bool turned = false;                // the matrix is transposed: a window is a column

  std::int64_t windows() const {
    auto n = images;
    for (auto& d : dims) n *= d.windows;
    return n;
  }
  std::int64_t elements() const {
    auto n = channels;
    for (auto& d : dims) n *= d.taps;
    return n;
  }
};
/// gemm(g) with the patches of the image at g.a as its first operand; a's strides and those of batches have no meaning
/// (g.batch is 1). b_parts, unless null: rows [i * part, (i + 1) * part) of b begin b_parts[i] elements behind g.b.
/// Every element is computed as gemm() does from the matrix of patches: the same bits.
void gemm_patches(const Gemm& g, const Patches&, const std::int64_t* b_parts = nullptr, std::int64_t part = 0);
}  // namespace bora::kernels
