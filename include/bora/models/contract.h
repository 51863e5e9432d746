// contract.h -- the contract of a language model, and the registry from which the settings choose one. A model M is a
// tree of parameters in one source file:
//   struct Config { static constexpr std::string_view type; .. ; void check() const; };   also with
//     positions, checkpoint (the values kept for a block's backward pass): fields; perhaps dropout, or draws(): whether
//     training draws random numbers
//     axes(): the logical axes that a layout may split, each with the key and the noun of its size
//   static M init(const Config&, std::int64_t vocabulary, const Array& key);
//   NamedArray hidden(const training::Example&, key, const nn::PipelineOptions& how) const;   before the head:
//     [batch, position, embed]; how.checkpoint: the values kept of each block.
//     A model whose layers can be stages of a pipeline has in_stages = true and a last parameter
//     `const nn::RowsLoss& loss` (nn/pipeline.h): their loss is asked for in their place; {}: they are.
//   nn::Head head() const;                                  the scores of all tokens from a vector
//   Pages pages(const nn::PageOptions&) const;  room for keys and values, as a tree of NamedArrays
//   std::pair<NamedArray, Pages> decode(const NamedArray& tokens, const Pages&, const StepPlaces&) const;
//     hidden() of tokens [position] of many sequences, each after those before it in its sequence
// A model without pages() and decode() is an encoder alone: its positions see all others, targets are of their own
// position, and it generates nothing. NamedArray encode(const training::Example&) const has its vectors in front of
// the head, [batch, position, embed].
// A model with an encoder reads Example's inputs, input_mask, input_segments in hidden(). Config has decoder_start, the
// token before the decoder's first one; read(inputs [input], mask [input], Pages, slots [input]) -> Pages runs the
// encoder and puts the keys and values of its vectors at these slots.
// A model whose training adds a loss of its own (of routers) has hidden_and_report(..), hidden() and a tree, and Config
// has NamedArray extra_loss(const Report&) const: a scalar, added for each unit of the tokens' weight.
// A model that predicts classes or numbers has data::Prediction prediction() const and bool of_words() const in its
// Config, and labels, the names of classes, as a field: the head's scores, along vocab, are those of classes, or one
// number.
// and, if Hugging Face's folders hold such models, the members that hugging_face.h lists.
// A line at the end of the file adds it: template const bool bora::config::added<bora::models::ModelOf<M>>;
#pragma once
#include <algorithm>
#include "bora/fx/checkpoint.h"
#include "bora/models/hugging_face.h"
#include "bora/models/model.h"
#include "bora/named/mapping.h"
#include "bora/nn/adapters.h"
#include "bora/nn/attention.h"
#include "bora/nn/axes.h"
#include "bora/nn/head.h"
#include "bora/nn/pipeline.h"
#include "bora/ops/creation.h"
#include "bora/train/example.h"
#include "bora/tree/any_base.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"
#include "bora/named/random.h"

namespace bora::models {
/// The example as this mesh computes it: unchanged, or if the mapping splits `position` by the mesh axis `context`, in
/// the zigzag order of its ranks, with `positions` and split by the mapping. ValueError: twice their number does not
/// divide the positions; the example has padding (mask) or an encoder's inputs.
training::Example in_context(const training::Example&);
/// The keys that a causal model's positions may attend to.
inline nn::AttentionMask causal_mask(const training::Example& e) {
  nn::AttentionMask mask{.causal = true, .segments = e.segments, .zigzag = e.zigzag};
  if (e.mask) mask.explicit_mask = rename(auto_sharded(*e.mask), {{nn::kPosition, nn::kKeyPosition}}) != 0;
  return mask;
}
/// Where the tokens of a step lie: in their own sequences, and in the encoder's inputs of these.
struct StepPlaces {
  nn::PagePlaces own;
  std::optional<nn::PagePlaces> inputs = none;
};
/// A model that adds a loss of its own in training: extra_loss of the report.
template <class M> concept HasExtraLoss = requires(const M& m, const typename M::Config& c,
                                                   const training::Example& e, const std::optional<Array>& key,
                                                   const nn::PipelineOptions& how) {
  c.extra_loss(m.hidden_and_report(e, key, how).second);
};
/// Whether a model with this configuration has such a loss: all, unless their configuration says.
template <class M> bool adds_loss(const typename M::Config& c) {
  if constexpr (!HasExtraLoss<M>) return false;
  else if constexpr (requires { c.has_extra_loss(); }) return c.has_extra_loss();
  else return true;
}
template <class M> concept StagesOf = requires { requires M::in_stages; };  // its layers may be stages over ranks
template <class M> concept EncoderDecoder = requires { &M::read; };         // an encoder reads inputs
template <class M> concept Generates = requires { &M::decode; };            // else it is an encoder alone
/// How many of the last positions a token sees at most, its own included: all, unless each layer has a window.
template <class C> std::int64_t window_of(const C& c) {
  std::int64_t most = c.positions;
  if constexpr (requires { c.options().windows; })
    if (auto all = c.options().windows; !all.empty()) most = std::min(most, *std::ranges::max_element(all));
  return most;
}
/// A model without its type: its functions, for code that is compiled once for all models. `model` is what init() made,
/// perhaps in other dtypes; `pages` what pages(), decode() or read() gave.
struct AnyModel {
  using Any = tree::Any;
  using Key = std::optional<Array>;
  using Example = training::Example;
  std::int64_t positions, window;  // window: of the last positions, those that a token sees
  std::string checkpoint;
  bool encoder_decoder, has_extra_loss;  // has_extra_loss: training adds a loss of the model's own
  data::Prediction prediction;
  std::function<Any(const Array& key)> init;
  std::function<NamedArray(const Any& model, const Example&, const Key&, const nn::PipelineOptions&)> hidden;
  /// loss.of(hidden(..), loss.rows), in the order of the schedule where layers are stages.
  std::function<NamedArray(const Any& model, const Example&, const Key&, const nn::PipelineOptions&,
                           const nn::RowsLoss&)> loss;
  std::function<nn::Head(const Any& model)> head;
  std::function<void(Any& model, const VisitLinear&)> each_linear;
  std::function<void(Any& model, const VisitEmbedding&)> each_embedding;
  // For training with a loss of the model's own, which is extra_loss of the report; else empty:
  std::function<std::pair<NamedArray, Any>(const Any& model, const Example&, const Key&, const nn::PipelineOptions&)>
      hidden_and_report = {};
  std::function<NamedArray(const Any& report)> extra_loss = {};
  // Of an encoder alone, else empty: its vectors in front of the head.
  std::function<NamedArray(const Any& model, const Example&)> encode = {};
  // Of a model that generates; else empty:
  std::function<Any(const Any& model, const nn::PageOptions&)> pages = {};
  std::function<std::pair<NamedArray, Any>(const Any& model, const NamedArray& tokens, const Any& pages,
                                           const StepPlaces&)> decode = {};
  // Of a model with an encoder; else empty:
  std::function<Any(const Any& model, const NamedArray& inputs, const NamedArray& mask, const Any& pages,
                    const Array& slots)> read = {};
};
/// What a model with this configuration predicts.
template <class C> data::Prediction prediction_of(const C& c) {
  if constexpr (requires { c.prediction(); }) return c.prediction();
  else return {};  // tokens
}
/// The functions of a model of type M.
template <class M> AnyModel any_model(const typename M::Config& config, std::int64_t vocabulary) {
  using Any = AnyModel::Any;
  using Key = AnyModel::Key;
  using Example = AnyModel::Example;
  auto hidden = [](const Any& m, const Example& e, const Key& key, const nn::PipelineOptions& how) {
    if constexpr (StagesOf<M>) return m.get<M>().hidden(e, key, how, {});
    else return m.get<M>().hidden(e, key, how);
  };
  auto loss = [=](const Any& m, const Example& e, const Key& key, const nn::PipelineOptions& how,
                  const nn::RowsLoss& of) {
    if constexpr (StagesOf<M>) return m.get<M>().hidden(e, key, how, of);
    else return of.of(hidden(m, e, key, how), of.rows);
  };
  AnyModel r{
      .positions = config.positions,
      .window = window_of(config),
      .checkpoint = config.checkpoint,
      .encoder_decoder = EncoderDecoder<M>,
      .has_extra_loss = adds_loss<M>(config),
      .prediction = prediction_of(config),
      .init = [=](const Array& key) { return Any(M::init(config, vocabulary, key), tree::unsaved); },
      .hidden = hidden,
      .loss = loss,
      .head = [](const Any& m) { return m.get<M>().head(); },
      .each_linear = [](Any& m, const VisitLinear& f) { nn::each_linear(m.get<M>(), f); },
      .each_embedding = [](Any& m, const VisitEmbedding& f) { nn::each_layer<nn::Embedding>(m.get<M>(), f); }};
  if constexpr (HasExtraLoss<M>) {
    using Report = std::remove_cvref_t<decltype(std::declval<M>().hidden_and_report({}, {}, {}).second)>;
    r.hidden_and_report = [](const Any& m, const Example& e, const Key& key, const nn::PipelineOptions& how) {
      auto [x, report] = m.get<M>().hidden_and_report(e, key, how);
      return std::pair{x, Any(report, tree::unsaved)};
    };
    r.extra_loss = [=](const Any& report) { return config.extra_loss(report.get<Report>()); };
  }
  if constexpr (!Generates<M>)
    r.encode = [](const Any& m, const Example& e) { return m.get<M>().encode(e); };
  else {
    using Pages = decltype(std::declval<const M&>().pages(nn::PageOptions()));
    r.pages = [](const Any& m, const nn::PageOptions& o) { return Any(m.get<M>().pages(o), tree::unsaved); };
    r.decode = [](const Any& m, const NamedArray& tokens, const Any& before, const StepPlaces& at) {
      auto [x, grown] = m.get<M>().decode(tokens, before.get<Pages>(), at);
      return std::pair{x, Any(grown, tree::unsaved)};
    };
    if constexpr (EncoderDecoder<M>)
      r.read = [](const Any& m, const NamedArray& inputs, const NamedArray& mask, const Any& pages,
                  const Array& slots) {
        return Any(m.get<M>().read(inputs, mask, pages.get<Pages>(), slots), tree::unsaved);
      };
  }
  return r;
}
/// The kind whose settings are the fields of M's Config.
template <class M> struct ModelOf final : config::Of<typename M::Config, Model> {
  using config::Of<typename M::Config, Model>::Of;
  std::int64_t positions() const override { return this->fields.positions; }
  std::optional<std::int32_t> decoder_start() const override {
    if constexpr (EncoderDecoder<M>) return static_cast<std::int32_t>(this->fields.decoder_start);
    else return none;
  }
  std::vector<AxisSize> axes() const override { return this->fields.axes(); }
  std::string no_context([[maybe_unused]] bool training) const override {
    if constexpr (EncoderDecoder<M> || !Generates<M>)
      return "model.type: an encoder sees all positions at once; choose a decoder";
    if constexpr (requires { this->fields.options().windows; })
      if (!this->fields.options().windows.empty())
        return "model.window: a ring of ranks has no sliding windows; set it to 0";
    if constexpr (requires { this->fields.options().sinks; })
      if (this->fields.options().sinks)
        return "model.type: a ring of ranks has no sinks of attention; leave the mesh axis context out";
    if constexpr (requires { this->fields.attention_dropout; })
      if (training && this->fields.attention_dropout > 0)
        return "model.attention_dropout: a ring of ranks cannot drop weights of attention; set it to 0";
    return {};
  }
  std::optional<bool> draws() const override {
    if constexpr (requires { this->fields.draws(); }) return this->fields.draws();
    else if constexpr (requires { this->fields.dropout; }) return this->fields.dropout > 0;
    else return none;
  }
  AnyModelPtr model(std::int64_t vocabulary) const override {
    return std::make_shared<AnyModel>(any_model<M>(this->fields, vocabulary));
  }
  HfNames hf_names() const override { return models::hf_names<M>(); }
  void from_hf(HfConfig& c) override {
    if constexpr (requires { M::hf_types; }) this->fields = M::from_hf(c);
  }
  void to_hf(HfConfig& c) const override {
    if constexpr (requires { M::hf_types; }) M::to_hf(this->fields, c);
  }
  std::vector<HfWeight> hf_weights() const override {
    if constexpr (requires { M::hf_types; }) return M::hf_weights(this->fields);
    else return {};
  }
  data::Prediction prediction() const override { return prediction_of(this->fields); }
  std::vector<std::string> labels() const override {
    if constexpr (requires { this->fields.labels; }) return this->fields.labels;
    else return {};
  }
  bool of_words() const override {
    if constexpr (requires { this->fields.of_words(); }) return this->fields.of_words();
    else return false;
  }
  bool in_stages() const override { return StagesOf<M>; }
  bool generates() const override { return Generates<M>; }
  bool has_extra_loss() const override { return adds_loss<M>(this->fields); }
};
}  // namespace bora::models
