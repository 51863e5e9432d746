// axes.h -- positional axis arguments and options of reductions.
#pragma once
#include "bora/array/array.h"

namespace bora {
/// Positional axes of an operation: 0, {0, -1}, or none for all of them; {} is no axis, as in NumPy.
class Dimensions {
 public:
  Dimensions(std::nullopt_t) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Dimensions(T a) : axes_{{static_cast<std::int64_t>(a)}} {}
  Dimensions(std::initializer_list<int> a) : axes_(std::in_place, a.begin(), a.end()) {}
  Dimensions(Dims a) : axes_(std::move(a)) {}
  /// Sorted, in [0, ndim). Throws IndexError for an axis that does not exist, ValueError for one given twice.
  Dims resolve(std::string_view what, std::int64_t ndim) const;
 private:
  std::optional<Dims> axes_;
};
struct Reduce {
  bool keepdims = false;
  std::optional<Dtype> dtype = none;  // accumulate and return in this dtype
};
}  // namespace bora
