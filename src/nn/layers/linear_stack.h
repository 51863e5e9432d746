// linear_stack.h -- linear layers that are stacked. Private.
#pragma once
#include "bora/nn/linear.h"
#include "bora/ops/manipulation.h"
#include "nn/core/support.h"

namespace bora::nn {
/// The axes of stacked layers: those that the weight has besides its inputs and outputs.
inline AxisList stack_of(const Linear& l) {
  AxisList r;
  for (auto& a : l.weight.axes())
    if (find_axis(l.in, a.name) < 0 && find_axis(l.out, a.name) < 0) r.push_back(a);
  if (l.packed) r.resize(l.weight.axes().size() - 3);
  return r;
}
/// A key of its own for each layer of the stack.
inline NamedArray keys_of_stack(const Linear& l, const Array& key) {
  auto stack = stack_of(l);
  auto shape = shape_of(stack);
  return NamedArray(stack.empty() ? key : reshape(random::split(key, volume(shape)), shape), stack);
}
}  // namespace bora::nn
