// sets.h -- arrays as sets of values, and elements chosen by their values. The number of results depends on the values:
// without a size it is read from them, which throws TraceError inside transforms; there give {.size = n}. Fewer results
// are filled up, more are cut off.
#pragma once
#include "bora/ops/axes.h"

namespace bora {
struct SizeOptions {
  std::optional<std::int64_t> size = none;
  std::optional<Scalar> fill = none;  // default: positions 0; values the smallest one (0 where there is none)
};
struct UniqueOptions {
  std::optional<std::int64_t> size = none;
  std::optional<Scalar> fill = none;         // default: the smallest one (0 where there is none)
  std::optional<std::int64_t> axis = none;   // distinct slices along it, by their first difference; default: elements
  bool equal_nan = true;                     // all NaN are one; false: none equals another
};
/// The distinct elements, ascending, a vector; with .axis the distinct slices x[.., i, ..], of x's other dimensions.
Array unique(const Array& x, const UniqueOptions& options = {});
/// unique, with the i32 positions of the first occurrences in ravel(x) (along the axis), for each element of x (slice)
/// the i32 position of its value (x's shape; a vector), and how often each value occurs (i32). Filled up with the
/// position of the smallest one and with number 0.
struct Unique {
  Array values, indices, inverse, counts;
};
Unique unique_all(const Array& x, const UniqueOptions& options = {});
/// The distinct elements, ascending, that are in either, in both, in a but not in b, in only one of them.
Array union1d(const Array& a, const Array& b, const SizeOptions& options = {});
Array intersect1d(const Array& a, const Array& b, const SizeOptions& options = {});
Array setdiff1d(const Array& a, const Array& b, const SizeOptions& options = {});
Array setxor1d(const Array& a, const Array& b, const SizeOptions& options = {});
/// Is each element of x among those of `among`? boolean, of x's shape; NaN is in no set.
Array isin(const Array& x, const Array& among);

/// The i32 positions in ravel(x) of the elements that are not 0.
Array flatnonzero(const Array& x, const SizeOptions& options = {});
/// The same as one vector of positions for each dimension, and as rows [n, ndim].
Arrays nonzero(const Array& x, const SizeOptions& options = {});
Array argwhere(const Array& x, const SizeOptions& options = {});
/// The parts of x along axis (without one: the elements of ravel(x)) whose condition, a vector, holds; a shorter
/// condition is false from its end on.
Array compress(const Array& condition, const Array& x, std::optional<std::int64_t> axis = none,
               const SizeOptions& options = {});
/// The elements of x where the condition, of as many elements, holds.
Array extract(const Array& condition, const Array& x, const SizeOptions& options = {});

/// i32 positions that sort by the last key, equal ones by the key before it, ..; keys are of one shape, sorted along
/// axis.
Array lexsort(const Arrays& keys, std::int64_t axis = -1);
/// x with its kth smallest element in place kth, no larger ones before it and no smaller ones behind: sorted, as the
/// whole order costs little more. argpartition gives the i32 positions. Throws IndexError.
Array partition(const Array& x, std::int64_t kth, std::int64_t axis = -1);
Array argpartition(const Array& x, std::int64_t kth, std::int64_t axis = -1);
}  // namespace bora
