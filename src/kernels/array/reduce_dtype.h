// reduce_dtype.h -- reductions of one dtype. Their loops (reduce_loops.h) take long to compile, so each class of dtypes
// is a file, reduce_*.cpp. Private to the files that reduce, search and sum.
#pragma once
#include "kernels/api/reduce.h"
#include "kernels/array/reduction_operators.h"

namespace bora::kernels::reductions {
using I = std::int64_t;
// ns per element; per element of a running sum or a search; per row besides its elements
inline constexpr double kElement = 0.1, kOrdered = 0.2, kRow = 30;
/// Columns at a time: pieces of rows long enough to be prefetched, sums that stay in L1.
inline constexpr I kColumns = 2048;

/// The functions of kernels/api/reduce.h, and reductions of one row of n elements.
template <class T> struct DtypeReductions {
  using A = typename AccOf<T>::type;
  static void reduce(Reduction, const T* in, T* out, I outer, I n, I inner);
  static void begin_block(Reduction, A* partial, I columns);
  static void add_rows(Reduction, const T* in, A* partial, I rows, I columns, I pitch);
  static void combine_blocks(Reduction, const A* partial, T* out, I blocks, I columns);
  static A max_of_row(const T* in, I n);
  static A min_of_row(const T* in, I n);
  static A sum_of_row(const T* in, I n) requires(!std::is_same_v<T, bool>);
};
}  // namespace bora::kernels::reductions
