// mask_table.h -- functions with a mask, a condition, weights or numbers of segments, and which elements these exclude.
#pragma once
#include <functional>
#include "laws/laws.h"

namespace bora::laws {
/// f of its floating operands, of which `counts` (boolean, of the same shapes) are the elements that count.
struct Masked {
  std::string name;
  Arrays x, counts;
  std::function<Array(const Arrays&)> f;
  bool nan_only = false;  // only NaN is excluded: it is what the function skips
  bool wide = false;      // takes f32 and f64 only
};
using MaskedCases = std::vector<Masked>;
namespace mask_ops_test { void add_ops(MaskedCases&); }
namespace mask_nn_test { void add_nn(MaskedCases&); }
/// A boolean array of this shape with false at some places.
inline Array holes(const Shape& shape, const std::vector<std::int64_t>& at) {
  auto i = iota({volume(shape)}, 0, i32);
  auto r = full_of({{volume(shape)}, boolean}, true);
  for (auto n : at) r = r && i != n;
  return reshape(r, shape);
}
}  // namespace bora::laws
