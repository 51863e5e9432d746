// gpt2.h -- GPT-2 (Radford et al. 2019): pre-norm blocks, learned positions, tied output. The code mentions no mesh.
#pragma once
#include "bora/models/contract.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/stacked.h"

namespace bora::models {
/// GPT-2 small is {.layers = 12, .embed = 768, .heads = 12, .positions = 1024}.
struct Gpt2Config {
  static constexpr std::string_view type = "gpt2";
  std::int64_t layers = 4, embed = 128, heads = 4, positions = 128, mlp_ratio = 4;
  double dropout = 0;
  std::string checkpoint = "nothing";
  float eps = 1e-5F;
  std::int64_t hidden = 0;
  nn::Activation activation = nn::Activation::gelu_new;
  double embed_dropout = 0, attention_dropout = 0;
  bool scale_attention = true, scale_by_layer = false, tied = true;
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of attention in a block; embed is cut into as many equal parts"},
      {"positions", "tokens that the model sees at once"},
      {"mlp_ratio", "hidden units of a block's MLP are mlp_ratio * embed"},
      {"dropout", "fraction of attention's and the MLP's results dropped in training"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or values "
                     "by name: names(attn), everything_except(mlp) .. (docs/guide.md)"},
      {"eps", "of layer norms"},
      {"hidden", "hidden units of a block's MLP; 0: mlp_ratio * embed"},
      {"activation", "of the hidden units: relu, gelu (exact), gelu_new (its tanh form), silu ... (docs/models.md)"},
      {"embed_dropout", "fraction of the first block's input dropped in training"},
      {"attention_dropout", "fraction of attention's weights dropped in training"},
      {"scale_attention", "attention's scores are divided by the root of a head's size"},
      {"scale_by_layer", "attention's scores are also divided by the block's number, from 1 on"},
      {"tied", "the output layer is the table of the tokens' vectors"}};
  /// Throws ConfigError for invalid sizes.
  void check() const;
  std::vector<AxisSize> axes() const;
  bool draws() const { return dropout > 0 || embed_dropout > 0 || attention_dropout > 0; }
  Axis layers_axis() const { return {nn::kLayers, layers}; }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  Axis heads_axis() const { return {nn::kHeads, heads}; }
  Axis head_size_axis() const { return {nn::kHeadSize, embed / heads}; }
  Axis mlp_axis() const { return {nn::kMlp, hidden ? hidden : embed * mlp_ratio}; }
  Axis position_axis() const { return {nn::kPosition, positions}; }
};
struct Gpt2Block {  // attention and an Mlp, each behind a norm and beside a path that skips it
  nn::LayerNorm ln_1;
  nn::Attention attn;
  nn::LayerNorm ln_2;
  nn::Mlp mlp;
  nn::Dropout dropout;
  static Gpt2Block init(const Gpt2Config& config, const Array& key);
  /// x [batch, position, embed]; key: for dropout; scale: of attention's scores, beside 1 / sqrt(head_size).
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key,
                        const std::optional<Array>& scale) const;
  /// x [position, embed]: tokens of many sequences, with keys and values in pages.
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& pages, const nn::PagePlaces& at,
                                              const std::optional<Array>& scale) const;
};
/// GPT-2 (Radford et al. 2019).
struct Gpt2 {
  nn::Embedding wte;
  NamedArray wpe;  // [position, embed]
  nn::Stacked<Gpt2Block> blocks;
  nn::LayerNorm ln_f;
  std::optional<nn::Linear> lm_head = none;  // none: tied
  nn::Dropout embed_dropout = {};
  bool scale_attention = true, scale_by_layer = false;
  using Config = Gpt2Config;
  static constexpr bool in_stages = true;
  /// vocabulary: number of tokens.
  static Gpt2 init(const Gpt2Config& config, std::int64_t vocabulary, const Array& key);
  /// Vectors before the head: [batch, position, embed]. key: for dropout; none: without. how: .checkpoint has the
  /// values of a block kept for the backward pass, besides its input; .microbatches and .schedule are of stages. loss:
  /// asks for the loss of these vectors in their place.
  NamedArray hidden(const training::Example&, const std::optional<Array>& key = none,
                    const nn::PipelineOptions& how = {}, const nn::RowsLoss& loss = {}) const;
  nn::Head head() const;
  /// Factors of each layer's scores, beside 1 / sqrt(head_size): f32 [layers]; none: 1.
  std::optional<Array> scales() const;
  /// Room for keys and values in n pages, in the dtype of the parameters.
  nn::KeyValues pages(const nn::PageOptions&) const;
  /// hidden() of tokens [position] of many sequences, whose keys and values are in pages: {vectors, the pages with
  /// theirs}.
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& tokens, const nn::KeyValues& pages,
                                              const StepPlaces& at) const;
  /// tokens i32 [batch, position] -> scores f32 [batch, position, vocab].
  NamedArray operator()(const NamedArray& tokens, const std::optional<Array>& key = none,
                        const remat::Policy& remat = remat::nothing) const {
    return head()(hidden({.tokens = tokens}, key, {.checkpoint = remat})).astype(f32);
  }
  // Hugging Face's folders (hugging_face.h).
  static constexpr std::string_view hf_types[] = {"gpt2"}, hf_prefix = "transformer.",
                                    hf_ignored[] = {"attn.bias", "attn.masked_bias"};
  static Gpt2Config from_hf(HfConfig&);
  static void to_hf(const Gpt2Config&, HfConfig&);
  static std::vector<HfWeight> hf_weights(const Gpt2Config&);
};
}  // namespace bora::models
