// gpt2.h -- GPT-2 (Radford et al. 2019): pre-norm blocks, learned positions, tied output. The code mentions no mesh.
#pragma once
#include "bora/nn/layers.h"
#include "bora/nn/policy.h"
#include "bora/nn/stacked.h"

namespace bora::models {
struct Gpt2Config {
  std::int64_t layers = 12, embed = 768, heads = 12, positions = 1024, vocab = 50257;
  std::int64_t mlp_ratio = 4;
  float eps = 1e-5F, dropout = 0;
  /// Throws ConfigError for invalid sizes.
  void validate() const;
  Axis layers_axis() const { return {nn::kLayers, layers}; }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  Axis heads_axis() const { return {nn::kHeads, heads}; }
  Axis head_size_axis() const { return {nn::kHeadSize, embed / heads}; }
  Axis mlp_axis() const { return {nn::kMlp, embed * mlp_ratio}; }
  Axis vocab_axis() const { return {nn::kVocab, vocab}; }
  Axis position_axis() const { return {nn::kPosition, positions}; }
};
struct Gpt2Block {
  nn::LayerNorm ln_1;
  nn::Attention attn;
  nn::LayerNorm ln_2;
  nn::Mlp mlp;
  nn::Dropout dropout;
  static Gpt2Block init(const Gpt2Config& config, const Array& key);
  /// x [batch, position, embed]; key: for dropout.
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key) const;
};
struct Gpt2 {
  nn::Embedding wte;
  NamedArray wpe;  // [position, embed]
  nn::Stacked<Gpt2Block> blocks;
  nn::LayerNorm ln_f;
  static Gpt2 init(const Gpt2Config& config, const Array& key);
  /// tokens i32 [batch, position] -> scores f32 [batch, position, vocab]. remat: values of a block that are kept for
  /// the backward pass, besides its input.
  NamedArray operator()(const NamedArray& tokens, const std::optional<Array>& dropout_key = none,
                        const remat::Policy& remat = remat::nothing) const;
};
}  // namespace bora::models
