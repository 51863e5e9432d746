// split.h -- whether an array's numbers are on this rank.
#pragma once
#include "bora/array/array.h"

namespace bora::fx {
/// Are numbers of it on other ranks alone, or sums of it still to be made, so that concrete() asks them? False for a
/// traced value, which has no numbers.
bool is_split(const Array&);
}  // namespace bora::fx
