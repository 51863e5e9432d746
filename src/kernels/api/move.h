// move.h -- kernels that move elements of any dtype.
#pragma once
#include <cstddef>
#include <cstdint>
#include "bora/base/shape.h"

namespace bora::kernels {
/// dst[i] = src[i] for every index i of shape; strides in elements (0 and negative allowed in src), `size` bytes per
/// element (1, 2, 4, 8, 16). Transposes run in tiles, contiguous runs as memcpy; threaded; large copies bypass the
/// caches. src and dst must not overlap.
void copy(void* dst, const Dims& dst_strides, const void* src, const Dims& src_strides, const Dims& shape,
          std::size_t size);
/// The same for `bytes` contiguous bytes; does nothing if dst is src.
void copy_bytes(void* dst, const void* src, std::size_t bytes);
/// Fills n elements of `size` bytes with copies of the one at `element`.
void fill(void* dst, std::int64_t n, std::size_t size, const void* element);
}  // namespace bora::kernels
