// sets.h -- arrays as sets of values. The number of results depends on the values: see SizeOptions.
#pragma once
#include "bora/ops/arguments.h"

namespace bora {
struct UniqueOptions {                      // of unique and unique_all
  std::optional<std::int64_t> size = none;  // of the result; default: as many as there are, which reads values
  std::optional<Scalar> fill = none;        // default: the smallest one (0 where there is none)
  std::optional<std::int64_t> axis = none;  // distinct slices along it, by their first difference; default: elements
  bool equal_nan = true;                    // all NaN are one; false: none equals another
};
/// The distinct elements, ascending, a vector; with .axis the distinct slices x[.., i, ..], of x's other dimensions.
Array unique(const Array& x, const UniqueOptions& options = {});
// unique, with the i32 positions of the first occurrences in ravel(x) (along the axis), for each element of x (slice)
// the i32 position of its value (x's shape; a vector), and how often each value occurs (i32). Filled up with the
// position of the smallest one and with number 0.
struct Unique {
  Array values, indices, inverse, counts;
};
Unique unique_all(const Array& x, const UniqueOptions& options = {});
// The distinct elements, ascending, that are in either, in both, in a but not in b, in only one of them.
Array union1d(const Array& a, const Array& b, const SizeOptions& options = {});
Array intersect1d(const Array& a, const Array& b, const SizeOptions& options = {});
Array setdiff1d(const Array& a, const Array& b, const SizeOptions& options = {});
Array setxor1d(const Array& a, const Array& b, const SizeOptions& options = {});
/// Is each element of x among those of `among`? boolean, of x's shape; NaN is in no set.
Array isin(const Array& x, const Array& among);
}  // namespace bora
