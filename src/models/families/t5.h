// T5 (Raffel et al. 2020), an encoder and a decoder: versions 1.0 and 1.1, and "scalable T5" (Roberts et al. 2022),
// whose layers are stacked. The code mentions no mesh.
#pragma once
#include "bora/models/contract.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/mlp.h"
#include "bora/nn/relative_bias.h"
#include "bora/nn/stacked.h"

namespace bora::models {
struct T5Config {
  static constexpr std::string_view type = "t5";
  enum class Bias : std::uint8_t { shared, per_layer };
  std::int64_t layers = 4, decoder_layers = 0, embed = 128, heads = 4, head_size = 0, hidden = 0, positions = 128;
  nn::Activation activation = nn::Activation::gelu_new;
  bool gated = true, tied = false, scale_scores = false;
  Bias bias = Bias::shared;
  std::int64_t buckets = 32, max_distance = 128;
  double dropout = 0;
  float eps = 1e-6F;
  std::int64_t decoder_start = 0;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of the encoder's blocks"},
      {"decoder_layers", "number of the decoder's blocks; 0: as many"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of attention in a block"},
      {"head_size", "size of a head's vectors; 0: embed / heads"},
      {"hidden", "hidden units of a block's MLP; 0: 8/3 of embed, rounded up to a multiple of 64"},
      {"positions", "tokens that the decoder sees at once"},
      {"activation", "of a block's hidden units: relu (version 1.0), gelu (exact), gelu_new (its tanh form; 1.1), silu "
                     "... (docs/models.md)"},
      {"gated", "hidden units are multiplied by others without activation, as in version 1.1"},
      {"tied", "the output layer is the table of the tokens' vectors, as in version 1.0"},
      {"scale_scores", "scores are divided by the root of embed: where they come from the tokens' vectors (T5X, 1.0)"},
      {"bias", "the table of the relative positions. shared: one for the encoder and one for the decoder; per_layer: "
               "one in each block, as scalable T5 and umT5 have it"},
      {"buckets", "of distances between positions"},
      {"max_distance", "from which on distances share one bucket"},
      {"dropout", "rate, in training; a number of a vector is dropped in all positions of a sequence"},
      {"eps", "of norms"},
      {"decoder_start", "token before the decoder's first one"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or values "
                     "by name: names(attn), everything_except(mlp) .. (docs/guide.md); T5X's words: full (nothing), "
                     "minimal (dots_no_batch)"}};
  std::int64_t decoder_blocks() const { return decoder_layers ? decoder_layers : layers; }
  std::int64_t size_of_head() const { return head_size ? head_size : embed / heads; }
  std::int64_t hidden_units() const { return hidden ? hidden : (embed * 8 / 3 + 63) / 64 * 64; }
  void check() const;
  std::vector<AxisSize> axes() const;
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  Axis heads_axis() const { return {nn::kHeads, heads}; }
};

/// A decoder's view of the encoder: its vectors, and which of them.
struct T5Encoded {
  NamedArray x;  // [batch, position, embed]
  nn::AttentionMask mask;
};
/// A block of the encoder, or, with `cross`, of the decoder: pre-norm. Each part adds to x.
struct T5Block {
  nn::RmsNorm norm_1;
  nn::Attention attn;
  std::optional<nn::RelativeBias> bias;  // its own, where blocks do not share one
  std::optional<nn::RmsNorm> norm_2;
  std::optional<nn::Attention> cross;
  nn::RmsNorm norm_3;
  nn::Mlp mlp;
  nn::Dropout dropout;
  static T5Block init(const T5Config&, bool decoder, const Array& key);
  /// mask: of attention to x itself, whose bias is the shared one; cross: the decoder's.
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<T5Encoded>& encoded,
                        const std::optional<Array>& key) const;
  /// x [position, embed] of many sequences. shared: the bias by distance, where blocks share one.
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& own,
                                              const nn::KeyValues& inputs, const StepPlaces&,
                                              const std::optional<NamedArray>& shared) const;

 private:
  NamedArray add_cross(const NamedArray& x, const nn::KeyValues&, const nn::AttentionMask&,
                       const std::optional<Array>& key) const;
  NamedArray add_mlp(const NamedArray& x, const std::optional<Array>& key) const;
};
struct T5Stack {
  nn::Stacked<T5Block> blocks;
  std::optional<nn::RelativeBias> bias;  // the one that blocks share
  nn::RmsNorm norm;
  static T5Stack init(const T5Config&, bool decoder, const Array& key);
  /// Embedded tokens through all blocks; dropout at both ends.
  NamedArray operator()(NamedArray x, nn::AttentionMask mask, const std::optional<T5Encoded>&,
                        const std::optional<Array>& key, const remat::Policy&) const;
};
/// Keys and values of the decoder's tokens, and of the encoder's vectors, of all of the decoder's layers.
struct T5Pages {
  nn::KeyValues own, inputs;
};
struct T5 {
  nn::Embedding shared;  // of the encoder's and the decoder's tokens
  T5Stack encoder, decoder;
  std::optional<nn::Linear> lm_head;
  float score_scale = 1;
  using Config = T5Config;
  static T5 init(const T5Config&, std::int64_t vocabulary, const Array& key);
  /// inputs: i32 [batch, input] -> [batch, position, embed], where position is the inputs'.
  T5Encoded encode(const NamedArray& inputs, const std::optional<NamedArray>& mask,
                   const std::optional<NamedArray>& segments, const std::optional<Array>& key,
                   const remat::Policy&) const;
  NamedArray hidden(const training::Example&, const std::optional<Array>& key, const nn::PipelineOptions& how) const;
  nn::Head head() const { return nn::Head::of(lm_head, shared); }
  T5Pages pages(const nn::PageOptions&) const;
  T5Pages read(const NamedArray& inputs, const NamedArray& mask, const T5Pages&, const Array& slots) const;
  std::pair<NamedArray, T5Pages> decode(const NamedArray& tokens, const T5Pages&, const StepPlaces&) const;

  static constexpr std::string_view hf_types[] = {"t5", "mt5", "umt5"};
  static constexpr std::string_view hf_ignored[] = {
      "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};
  static Config from_hf(HfConfig&);
  static void to_hf(const Config&, HfConfig&);
  static std::vector<HfWeight> hf_weights(const Config&);
};
}  // namespace bora::models
