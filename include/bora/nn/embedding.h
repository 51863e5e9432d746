// embedding.h -- a table of vectors.
#pragma once
#include "bora/nn/init.h"
#include "bora/nn/weight_format.h"

namespace bora::nn {
/// Noise added to each vector that is looked up, uniform within alpha / sqrt(positions * embed) (NEFTune, Jain et al.
/// 2023, arXiv:2310.05914).
struct EmbeddingNoise {
  NamedArray key;  // a scalar
  float alpha = 0;
};
/// A table of vectors: lookup, and the product with all of them (a tied output layer).
struct Embedding {
  NamedArray weight;  // [vocab, embed]
  std::optional<PackedWeight> packed = none;  // weight has integers (weight_format.h); none: numbers
  std::optional<EmbeddingNoise> noise = none;  // of training
  static Embedding init(const Axis& vocab, const Axis& embed, const Array& key, const Init& weight);
  /// Init::truncated_normal(1 / size of embed), as Haliax draws it.
  static Embedding init(const Axis& vocab, const Axis& embed, const Array& key);
  /// The first `n` vectors; further ones are drawn like those that there are (resize_axis), or are 0 without a key.
  Embedding resize_embeddings(std::int64_t n, const std::optional<Array>& key = none) const;
  /// indices [...] -> [..., embed].
  NamedArray embed(const NamedArray& indices) const;
  /// x [..., embed] -> scores [..., vocab].
  NamedArray unembed(const NamedArray& x) const;
};
}  // namespace bora::nn
