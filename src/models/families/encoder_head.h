// encoder_head.h -- what encoders have behind their blocks: the scores of hidden tokens, a class or a number for a text
// or for each token, where an answer stands; or a vector of a text. Private.
#pragma once
#include <cmath>
#include "bora/data/dataset.h"
#include "bora/models/contract.h"
#include "bora/nn/activation.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/norm.h"
#include "models/families/settings.h"
#include "models/families/weight_norm.h"
#include "models/lm/encoder.h"

namespace bora::models {
inline constexpr const char* kLabel = "label";  // the axis of classes
/// Words of the setting `head`.
enum class EncoderTask : std::uint8_t { mlm, classify, tag, regress, qa, embed };
/// Words of the setting `pool`.
enum class TextPool : std::uint8_t { mean, first };
inline constexpr config::Meaning kHeadMeaning{
    "head", "what is predicted. mlm: hidden tokens; classify: one of `labels` for a text; tag: one for each word; "
            "regress: a number for a text; qa: where the answer to a question begins and ends in a text; "
            "embed: how alike two texts are, by their vectors"},
    kPoolMeaning{"pool", "of the head embed: a text's vector is the mean of its tokens' vectors, or that of the first "
                         "one"},
    kScaleMeaning{"scale", "of the head embed, where pairs have no scores: cosines times this number are compared "
                           "(1 / temperature)"},
    kLabelsMeaning{"labels", "the classes that are told apart: a list of their names"},
    kHeadDropoutMeaning{"head_dropout", "fraction of the head's inputs dropped in training, of heads but mlm"},
    kEncoderHeadsMeaning{"heads", "of attention in a block; embed is cut into as many equal parts"},
    kPaddingMeaning{"padding", "token whose vector learns nothing where it is an input; none: each learns"};
/// Throws ConfigError unless the head has the labels that it needs.
inline void check_head(EncoderTask head, const std::vector<std::string>& labels) {
  bool classes = head == EncoderTask::classify || head == EncoderTask::tag;
  check<ConfigError>(classes ? labels.size() >= 2 : labels.empty(), "labels: the head ", config::print_value(head),
                     classes ? " needs two or more, as in labels=[no, yes]; there are " : " has none; there are ",
                     labels.size());
  for (auto& label : labels)
    check<ConfigError>(!label.empty() && std::count(labels.begin(), labels.end(), label) == 1, "labels: '", label,
                       label.empty() ? "' is no name" : "' is there twice");
}
inline data::Prediction predicted_by(EncoderTask head) {
  return head == EncoderTask::mlm       ? data::Prediction::tokens
         : head == EncoderTask::regress ? data::Prediction::numbers
         : head == EncoderTask::qa      ? data::Prediction::spans
         : head == EncoderTask::embed   ? data::Prediction::similarities
                                        : data::Prediction::classes;
}
/// Scores of a position, of a head without scores of tokens: of an answer's begin and of its end.
inline std::int64_t scores_of_head(EncoderTask head, const std::vector<std::string>& labels) {
  return head == EncoderTask::qa ? 2 : std::max<std::int64_t>(1, std::ssize(labels));
}
/// The axis of these scores, as errors name it.
inline AxisSize head_axis(EncoderTask head, const std::vector<std::string>& labels) {
  if (head == EncoderTask::qa) return {kLabel, "model.head", 2, "score"};
  return {kLabel, "model.labels", scores_of_head(head, labels), "label"};
}
/// Whether an encoder with these settings draws random numbers in training.
template <class C> bool encoder_draws(const C& c) {
  return c.dropout > 0 || c.attention_dropout > 0 || c.head_dropout > 0;
}
/// Checks what encoders' settings share; pairs: heads are of an even size.
template <class C> void check_encoder(const C& c, bool pairs) {
  check_head(c.head, c.labels);
  config::domain(std::isfinite(c.scale) && c.scale > 0, "scale", c.scale, "above 0");
  check_sizes({{"layers", c.layers}, {"embed", c.embed}, {"heads", c.heads}, {"positions", c.positions}});
  check_optional_sizes({{"hidden", c.hidden}});
  check_heads(c.embed, c.heads, pairs);
  check_rates({{"dropout", c.dropout}, {"attention_dropout", c.attention_dropout}, {"head_dropout", c.head_dropout}});
  check_eps(c.eps);
  if (c.padding) config::domain(*c.padding >= 0 && *c.padding < 1 << 30, "padding", *c.padding, "a token");
  check_checkpoint(c.checkpoint);
}
/// Throws ConfigError unless the padding is a token.
template <class C> void check_padding(const C& c, std::int64_t vocabulary) {
  check<ConfigError>(c.padding.value_or(-1) < vocabulary, "model.padding: ", c.padding.value_or(0),
                     " is no token: there are ", vocabulary);
}
/// The axes of an encoder's blocks, and of its head's scores.
template <class C> std::vector<AxisSize> encoder_axes(const C& c) {
  auto all = block_axes(c.heads, c.hidden_units(), c.embed);
  if (c.head != EncoderTask::mlm && c.head != EncoderTask::embed) all.push_back(head_axis(c.head, c.labels));
  return all;
}
/// norm(activation(dense(x))) for each position, and what gives scores of it: the table of the tokens' vectors with
/// `bias`, or `classifier`. At a text's first token stands what is predicted of the text.
struct EncoderHead {
  std::optional<nn::Linear> dense = none;  // [embed, mlp]
  nn::Activation activation = nn::Activation::identity;
  std::optional<nn::LayerNorm> norm = none;
  std::optional<WeightNorm> bare_norm = none;
  std::optional<nn::Linear> classifier = none;  // [embed, label]
  std::optional<NamedArray> bias = none;        // [vocab]
  nn::Dropout before = {}, after = {};          // of what comes in, and of what the classifier gets
  std::optional<TextPool> pool = none;          // of the head embed
  double length = 1;                            // of texts' vectors
  static constexpr bool decays(std::string_view field) { return field != "bias"; }
  NamedArray operator()(const NamedArray& x, const std::optional<Array>& key) const {
    std::array<std::optional<Array>, 2> keys;
    if (key) std::ranges::copy(random::split<2>(*key), keys.begin());
    auto y = before(x, keys[0]);
    if (dense) y = rename(nn::activate(activation, (*dense)(y)), {{nn::kMlp, nn::kEmbed}});
    if (norm) y = (*norm)(auto_sharded(y));
    if (bare_norm) y = (*bare_norm)(auto_sharded(y));
    return after(auto_sharded(y), keys[1]);
  }
  /// The mean of the vectors of a text's tokens, or the first one, f32 [batch, embed].
  static NamedArray pooled(const NamedArray& x, const training::Example& e, TextPool how) {
    auto mask = encoder_mask(e).explicit_mask;
    auto axes = e.tokens.axes();
    NamedArray weights;
    if (how == TextPool::first)
      weights = broadcast_to((arange(e.tokens.axis(nn::kPosition)) == 0).astype(f32), axes);
    else if (mask) weights = rename(*mask, {{nn::kKeyPosition, nn::kPosition}}).astype(f32);
    else weights = ones(axes);
    auto of_tokens = x.astype(f32);
    auto v = sum(of_tokens * broadcast_to(weights, of_tokens.axes()), nn::kPosition);
    return v / broadcast_to(maximum(sum(weights, nn::kPosition), 1.0), v.axes());
  }
  /// Of the head embed: at each position of x the vector of its text.
  NamedArray of_texts(const NamedArray& x, const training::Example& e) const {
    auto v = pooled(x, e, *pool);
    auto squares = broadcast_to(sum(v * v, nn::kEmbed), v.axes());
    return broadcast_to((v * rsqrt(maximum(squares, 1e-24)) * length).astype(x.dtype()), x.axes());
  }
  nn::Head head(const nn::Embedding& words) const {
    auto h = nn::Head::of(none, words);
    if (classifier) {
      auto of_scores = [](const NamedArray& p) { return rename(p, {{kLabel, nn::kVocab}}); };
      h = {auto_sharded(of_scores(classifier->weight)), of_scores(*classifier->bias)};
    } else h.bias = bias;
    return h;
  }
};
}  // namespace bora::models
