// block.h -- one single-threaded product on one instruction set. Every element of c is computed the same way, in any
// block and on any instruction set: k is cut into slabs (slab_count), within a slab one chain of fused multiply-adds
// runs over k from zero, and the slabs' results are added in order. So no partition over threads and no kernel class
// can change a bit.
#pragma once
#include <cstddef>
#include <cstdint>
#include "kernels/api/gemm.h"

namespace bora::kernels {
struct Patches;
/// Rows of an operand that lie in parts, and where this block begins in a matrix of patches (patches.h), which is a.
struct GemmWindows {
  const Patches* patches = nullptr;
  std::int64_t i0 = 0, k0 = 0;
  const std::int64_t* b_parts = nullptr;  // row k of b is row k % part of the part b_parts[k / part] elements behind b
  std::int64_t part = 0;
};
/// c[m, n] (+ or -)= a[m, k] b[k, n]. dtype f32, f64 or bf16 (of a, b and, unless wide, of c; wide: c is f32).
struct GemmBlock {
  Dtype dtype;
  std::int64_t m, n, k;
  const void* a;
  std::int64_t a_row, a_col;
  const void* b;
  std::int64_t b_row, b_col;
  void* c;
  std::int64_t ldc;
  bool wide;
  Into into = Into::set;
  GemmWindows windows = {};
};
/// Most elements of k in a slab. Slab i of s is [k * i / s, k * (i + 1) / s).
constexpr std::int64_t slab_size(Dtype d) { return d == Dtype::f64 ? 128 : 256; }
constexpr std::int64_t slab_count(Dtype d, std::int64_t k) { return (k + slab_size(d) - 1) / slab_size(d); }

/// Products of at most this many rows or columns are thin.
inline constexpr std::int64_t kThinRows = 16, kThin = 8;

/// Scratch memory of a product, 64-byte aligned: a packed strip of a, a packed slab of b (at most `packed` bytes, to
/// stay in the second-level cache), and for bf16 the f32 sums.
inline constexpr std::int64_t kStripBytes = 32 << 10, kMostPacked = 1 << 20, kSumsBytes = 1 << 20;
inline constexpr std::int64_t kScratchBytes = kStripBytes + kMostPacked + kSumsBytes;
struct GemmScratch {
  void* memory;
  std::int64_t packed = kMostPacked;
};

namespace v3 {
void gemm_block(const GemmBlock&, const GemmScratch&);
/// The same for a few rows (at most kThinRows) or columns (at most kThin), without packing; false, with nothing done,
/// for other shapes.
bool gemm_thin(const GemmBlock&, const GemmScratch&);
}  // namespace v3
namespace v4 {
void gemm_block(const GemmBlock&, const GemmScratch&);
bool gemm_thin(const GemmBlock&, const GemmScratch&);
}  // namespace v4
}  // namespace bora::kernels
