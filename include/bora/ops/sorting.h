// sorting.h -- order: sorted elements, the positions that sort, the largest ones, searches.
#pragma once
#include "bora/ops/arguments.h"

namespace bora {
/// Ascending, stable, NaN last. argsort gives i32 positions.
Array sort(const Array& x, std::int64_t axis = -1);
Array argsort(const Array& x, std::int64_t axis = -1);  // i32 positions that sort x
// The k largest of the last dimension, descending, and their i32 positions.
struct TopKResult {
  Array values, indices;
};
TopKResult top_k(const Array& x, std::int64_t k);
/// x's elements along its last dimension by their real, then by their imaginary parts; complex.
Array sort_complex(const Array& x);
/// i32 positions that sort by the last key, equal ones by the key before it, ..; keys are of one shape, sorted along
/// axis.
Array lexsort(const Arrays& keys, std::int64_t axis = -1);
/// x with its kth smallest element in place kth, no larger ones before it and no smaller ones behind: sorted, as the
/// whole order costs little more. argpartition gives the i32 positions. Throws IndexError.
Array partition(const Array& x, std::int64_t kth, std::int64_t axis = -1);
Array argpartition(const Array& x, std::int64_t kth, std::int64_t axis = -1);  // its i32 positions
enum class Side : std::uint8_t { left, right };                                // of equal elements
/// i32 positions at which v's elements would be inserted into the ascending vector a: before (left) or behind (right)
/// equal elements. NaN is the largest. A binary search: log2(n) gathers.
Array searchsorted(const Array& a, const Array& v, Side side = Side::left);
}  // namespace bora
