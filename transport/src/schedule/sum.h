// sum.h -- reductions in group order over raw bytes.
#pragma once
#include <cstddef>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::transport {
/// out[i] = parts[0][i] op parts[1][i] op ...: from left to right, whatever the size; bf16 in f32 and rounded once;
/// integers wrap; NaN wins max and min; booleans: sum and max are or, min is and. `out` may be one of the parts;
/// nothing needs to be aligned.
void reduce_in_order(Reduction, Dtype, const std::vector<const std::byte*>& parts, std::byte* out, std::size_t n);
/// One stretch of a longer reduction: `before` is the running result of the parts to the left (nullptr: none), and
/// unless `ends` gives the total number of parts, `out` gets the running result. Running results have running_size
/// bytes an element. The bits are those of one reduction of all parts.
struct Stretch {
  const std::byte* before = nullptr;
  int ends = 0;
};
void reduce_in_order(Reduction, Dtype, const std::vector<const std::byte*>& parts, std::byte* out, std::size_t n,
                     Stretch);
std::size_t running_size(Dtype);
}  // namespace bora::transport
