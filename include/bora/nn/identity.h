// identity.h -- layers without parameters: x itself, and any function of x.
#pragma once
#include <type_traits>
#include "bora/named/array.h"

namespace bora::nn {
/// x itself: a place where a model may have a layer.
struct Identity {
  NamedArray operator()(const NamedArray& x) const { return x; }
};
// A function as a layer, for Sequential: lambda([](const NamedArray& x) { return tanh(x); }). It has no values of its
// own, so the function captures nothing; a layer with values is a struct with fields.
template <class F> struct Lambda {
  NamedArray operator()(const NamedArray& x) const { return F{}(x); }
};
template <class F> Lambda<F> lambda(const F&) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F> && std::is_invocable_v<F, const NamedArray&>,
                "nn::lambda: the function takes a const NamedArray& and captures nothing; write a struct with fields "
                "for a layer that holds values");
  return {};
}
}  // namespace bora::nn
