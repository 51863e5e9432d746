// order.h -- sorting along the last dimension. Total order: -0 = +0, NaN last (as in JAX).
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels {
/// out [rows, n] = each row ascending, stable (-0 and +0 keep their order, and so do NaNs).
void sort(Dtype, const void* in, void* out, std::int64_t rows, std::int64_t n);
/// out i32[rows, n] = the stable permutation that sorts each row ascending.
void argsort(Dtype, const void* in, std::int32_t* out, std::int64_t rows, std::int64_t n);
/// The k largest of each row in descending order, with their positions: values [rows, k], indices i32[rows, k]. Ties
/// keep the lower position first; NaN counts as largest.
void top_k(Dtype, const void* in, void* values, std::int32_t* indices, std::int64_t rows, std::int64_t n,
           std::int64_t k);
/// keys[i] = the number without sign that has the order of element at[i] of x.
void order_keys(Dtype, const void* x, const std::int64_t* at, std::uint64_t* keys, std::int64_t n);
/// For each of m elements x of a row how many of the row's n sorted elements are before it; `right`: or equal to it.
/// sorted [rows, n], x and out [rows, m].
void searchsorted(Dtype, const void* sorted, const void* x, std::int32_t* out, std::int64_t rows, std::int64_t n,
                  std::int64_t m, bool right);
}  // namespace bora::kernels
