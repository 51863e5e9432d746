// encoder_head.h -- what encoders have behind their blocks: the scores of hidden tokens, or a class or a number for a
// text or for each token. Private.
#pragma once
#include "bora/data/dataset.h"
#include "bora/models/contract.h"
#include "bora/nn/activation.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/norm.h"

namespace bora::models {
inline constexpr const char* kLabel = "label";  // the axis of classes
/// Words of the setting `head`.
enum class EncoderTask : std::uint8_t { mlm, classify, tag, regress };
inline constexpr config::Meaning kHeadMeaning{
    "head", "what is predicted. mlm: hidden tokens; classify: one of `labels` for a text; tag: one for each word; "
            "regress: a number for a text"},
    kLabelsMeaning{"labels", "the classes that are told apart: a list of their names"},
    kHeadDropoutMeaning{"head_dropout", "fraction of the head's inputs dropped in training, of heads but mlm"};
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
                                        : data::Prediction::classes;
}
/// norm(activation(dense(x))) for each position, and what gives scores of it: the table of the tokens' vectors with
/// `bias`, or `classifier`. At a text's first token stands what is predicted of the text.
struct EncoderHead {
  std::optional<nn::Linear> dense = none;  // [embed, mlp]
  nn::Activation activation = nn::Activation::identity;
  std::optional<nn::LayerNorm> norm = none;
  std::optional<nn::Linear> classifier = none;  // [embed, label]
  std::optional<NamedArray> bias = none;        // [vocab]
  nn::Dropout before = {}, after = {};          // of what comes in, and of what the classifier gets
  static constexpr bool decays(std::string_view field) { return field != "bias"; }
  NamedArray operator()(const NamedArray& x, const std::optional<Array>& key) const {
    std::array<std::optional<Array>, 2> keys;
    if (key) std::ranges::copy(random::split<2>(*key), keys.begin());
    auto y = before(x, keys[0]);
    if (dense) y = rename(nn::activate(activation, (*dense)(y)), {{nn::kMlp, nn::kEmbed}});
    if (norm) y = (*norm)(auto_sharded(y));
    return after(auto_sharded(y), keys[1]);
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
