// print.h -- arrays as text.
#pragma once
#include <iosfwd>
#include <string>
#include "bora/array/array.h"

namespace bora {
struct PrintOptions {             // how an Array is printed
  int precision = 8;              // digits after the point, at most
  std::int64_t threshold = 1000;  // more elements than this are summarised
  std::int64_t edge = 3;          // elements shown at each end of a summarised dimension
  int width = 100;                // columns of a line
};
/// The numbers as NumPy prints them, with commas: "[[1., 2.],\n [3., 4.]]"; a scalar is its number alone. A value
/// without numbers at hand (traced, sharded) is its description: "traced f32[2, 3]".
std::string to_string(const Array& x, const PrintOptions& options = {});
std::ostream& operator<<(std::ostream& o, const Array& x);
}  // namespace bora
