// searchsorted.h -- positions in a sorted array. Private.
#pragma once
#include "bora/array/array.h"

namespace bora::ops {
/// For each element of x how many of the sorted vector's are before it, i32 of x's shape; `right`: or equal to it. Both
/// have one ordered dtype; NaN is last.
Array elements_before(const Array& sorted, const Array& x, bool right);
}  // namespace bora::ops
