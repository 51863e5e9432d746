// BERT (Devlin et al. 2018), an encoder alone, and its kin: RoBERTa (Liu et al. 2019), whose positions count from its
// padding on, and DistilBERT (Sanh et al. 2019), without types of tokens. The code mentions no mesh.
#pragma once
#include "bora/models/contract.h"
#include "bora/nn/attention.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/stacked.h"
#include "models/families/encoder_head.h"

namespace bora::models {
/// BERT base is {.layers = 12, .embed = 768, .heads = 12, .positions = 512}.
struct BertConfig {
  static constexpr std::string_view type = "bert";
  enum class Form : std::uint8_t { bert, roberta, distilbert };
  std::int64_t layers = 4, embed = 128, heads = 4, hidden = 0, positions = 128, types = 2;
  nn::Activation activation = nn::Activation::gelu;
  double dropout = 0, attention_dropout = 0;
  float eps = 1e-12F;
  std::optional<std::int64_t> padding = {};
  Form form = Form::bert;
  EncoderTask head = EncoderTask::mlm;
  std::vector<std::string> labels = {};
  double head_dropout = 0;
  TextPool pool = TextPool::mean;
  double scale = 20;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers,
      said::embed,
      kEncoderHeadsMeaning,
      {"hidden", "hidden units of a block's feed-forward part; 0: 4 * embed"},
      said::positions,
      {"types", "of tokens (of the first text, of the second one), each with a vector; 0: none, as in DistilBERT"},
      {"activation", "of the hidden units: gelu (exact), gelu_new (its tanh form), relu, silu ... (docs/models.md)"},
      {"dropout", "fraction of the results of attention, of the feed-forward part and of the first vectors dropped in "
                  "training"},
      {"attention_dropout", "fraction of attention's weights dropped in training"},
      {"eps", "of layer norms"},
      kPaddingMeaning,
      {"form", "what differs between the kin. bert; roberta: positions count the tokens that are not `padding`, from "
               "padding + 1 on; distilbert: attention's results are not dropped"},
      kHeadMeaning,
      kLabelsMeaning,
      kHeadDropoutMeaning,
      kPoolMeaning,
      kScaleMeaning,
      said::checkpoint};
  void check() const;
  std::vector<AxisSize> axes() const;
  bool draws() const { return encoder_draws(*this); }
  data::Prediction prediction() const { return predicted_by(head); }
  bool of_words() const { return head == EncoderTask::tag; }
  std::int64_t hidden_units() const { return hidden ? hidden : 4 * embed; }
  /// The row of the table of positions that a text's first token has.
  std::int64_t first_position() const { return form == Form::roberta ? padding.value_or(-1) + 1 : 0; }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
};
/// Attention and a feed-forward part, each with a norm behind the sum.
struct BertBlock {
  nn::MultiheadAttention attn;
  nn::LayerNorm norm_1;
  nn::Mlp mlp;
  nn::LayerNorm norm_2;
  nn::Dropout attn_dropout, dropout;
  static BertBlock init(const BertConfig&, const Array& key);
  /// x [batch, position, embed]; key: for dropout.
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key) const;
};
/// An encoder with a head.
struct Bert {
  nn::Embedding words;
  NamedArray places;                   // [position, embed]
  std::optional<nn::Embedding> types;  // [token_type, embed]
  nn::LayerNorm norm;
  nn::Dropout dropout;
  nn::Stacked<BertBlock> blocks;
  EncoderHead top;
  bool draws;
  bool counts_tokens;  // positions count the tokens that are not `padding`
  std::optional<std::int64_t> padding;
  using Config = BertConfig;
  static constexpr bool in_stages = true;
  static Bert init(const BertConfig&, std::int64_t vocabulary, const Array& key);
  NamedArray hidden(const training::Example&, const std::optional<Array>& key, const nn::PipelineOptions& how,
                    const nn::RowsLoss& loss) const;
  nn::Head head() const { return top.head(words); }
  NamedArray encode(const training::Example&) const;
  /// The first block's input.
  NamedArray embedded(const training::Example&, const std::optional<Array>& key) const;
  /// The example through all blocks: last(x), or with a loss that of last(x).
  template <class Last>
  NamedArray through_blocks(const training::Example&, const std::optional<Array>& key, const nn::PipelineOptions& how,
                            const Last& last, const nn::RowsLoss& loss) const;

  static constexpr std::string_view hf_types[] = {"bert", "roberta", "distilbert"};
  static constexpr std::string_view hf_ignored[] = {"position_ids", "pooler.dense.weight", "pooler.dense.bias"};
  static BertConfig from_hf(HfConfig&);
  static void to_hf(const BertConfig&, HfConfig&);
  static std::vector<HfWeight> hf_weights(const BertConfig&);
};
}  // namespace bora::models
