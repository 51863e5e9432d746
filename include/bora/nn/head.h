// head.h -- the output layer of a language model.
#pragma once
#include "bora/named/array.h"
#include "bora/nn/axes.h"

namespace bora::nn {
/// Scores of all tokens from a vector: dot(x, weight, embed) + bias; with a soft cap c, c tanh(score / c). Tied to an
/// embedding or a layer of its own; the parameters belong to the model.
struct Head {
  NamedArray weight;                      // axes vocab and embed, in any order
  std::optional<NamedArray> bias = none;  // [vocab]
  std::optional<double> soft_cap = none;
  /// x [..., embed] -> scores [..., vocab], split as the current mapping says.
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
