// embedding.h -- a table of vectors.
#pragma once
#include "bora/nn/init.h"

namespace bora::nn {
/// A table of vectors: lookup, and the product with all of them (a tied output layer).
struct Embedding {
  NamedArray weight;  // [vocab, embed]
  static Embedding init(const Axis& vocab, const Axis& embed, const Array& key, const Init& weight);
  /// Init::truncated_normal(1 / size of embed), as Haliax draws it.
  static Embedding init(const Axis& vocab, const Axis& embed, const Array& key);
  /// indices [...] -> [..., embed].
  NamedArray embed(const NamedArray& indices) const;
  /// x [..., embed] -> scores [..., vocab].
  NamedArray unembed(const NamedArray& x) const;
};
}  // namespace bora::nn
