// views.h -- operands and results as a kernel gets them: a type, and memory that is row-major.
#pragma once
#include <span>
#include "bora/array/array.h"

namespace bora {
struct InputView {  // an operand that a kernel reads
  const Type& type;
  const void* data;
  template <class T> const T* as() const { return static_cast<const T*>(data); }
};
struct OutputView {  // a result that a kernel fills
  const Type& type;
  void* data;
  template <class T> T* as() const { return static_cast<T*>(data); }
};
using InputViews = std::span<const InputView>;    // the operands of one call, in order
using OutputViews = std::span<const OutputView>;  // the results of one call, in order
}                                                 // namespace bora
