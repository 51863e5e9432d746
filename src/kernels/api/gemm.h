// gemm.h -- matrix products. One interface; the implementation chooses the back end for a shape.
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels {
/// c[b, m, n] = sum over k of a[b, m, k] * b[b, k, n], for b in [0, batch).
/// a and b are given by strides in elements: of the two strides of a matrix one must be 1 (or its extent 1); c is
/// row-major with leading dimension ldc. f32, f64, bf16 (f32 accumulation, one rounding) and integers (wrapping; plain
/// loops).
enum class Into { set, add, subtract };
struct Gemm {
  Dtype dtype;
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  const void* a = nullptr;
  std::int64_t a_batch = 0, a_row = 0, a_col = 1;  // strides of a: batch, m, k
  const void* b = nullptr;
  std::int64_t b_batch = 0, b_row = 0, b_col = 1;  // strides of b: batch, k, n
  void* c = nullptr;
  std::int64_t c_batch = 0, ldc = 0;
  Into into = Into::set;  // add: c += a b, subtract: c -= a b; of f32, f64 and complex numbers only
};
/// Threaded over products, rows, columns or slabs of k, each part one single-threaded call of our own kernel
/// (src/kernels/gemm/block.h): the same bits for every number of threads and on every machine. Large bf16 products go
/// to oneDNN where there is a bf16 unit: their bits differ from those of machines without one. Zero sizes are allowed.
void gemm(const Gemm&);
/// Makes the code that gemm will run for such a product, which may lie in a cache of its own: a plan counts it.
void prepare_gemm(const Gemm&);
/// Bytes of working memory that products keep for each thread, those among them that were prepared or run so far.
std::int64_t gemm_scratch_bytes();
}  // namespace bora::kernels
