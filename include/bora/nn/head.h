// head.h -- the output layer of a language model.
#pragma once
#include "bora/named/array.h"
#include "bora/nn/axes.h"
#include "bora/nn/embedding.h"
#include "bora/nn/linear.h"

namespace bora::nn {
/// Scores of all tokens from a vector: dot(x, weight, embed) + bias; with a soft cap c, c tanh(score / c). Tied to an
/// embedding or a layer of its own; the parameters belong to the model.
struct Head {
  NamedArray weight;                      // axes vocab and embed, in any order
  std::optional<NamedArray> bias = none;  // [vocab]
  std::optional<double> soft_cap = none;
  std::optional<PackedWeight> packed = none;  // weight has integers (weight_format.h)
  /// Of a layer of its own, or tied to the table of the words.
  static Head of(const std::optional<Linear>& own, const Embedding& words, std::optional<double> soft_cap = none);
  const Axis& vocab() const { return packed ? packed->out.at(0) : weight.axis(kVocab); }
  /// x [..., embed] -> scores [..., vocab], split as the current mapping says.
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
