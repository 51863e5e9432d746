// lm.h -- the contract of a language model, and the registry from which the settings choose one. A model M is a tree of
// parameters in one source file:
//   struct Config { static constexpr std::string_view type; .. ; void check() const; };   also with
//     positions, checkpoint (the values kept for a block's backward pass): fields; perhaps dropout, or draws(): whether
//     training draws random numbers
//     axes(): the logical axes that a layout may split, each with the key and the noun of its size
//   static M init(const Config&, std::int64_t vocabulary, const Array& key);
//   NamedArray hidden(const training::Example&, key, remat) const;   [batch, position, embed], before the head
//     Where its layers can be stages of a pipeline: in_stages is true, and a last parameter `const nn::RowsLoss& loss`
//     (nn/pipeline.h) asks for the loss of these vectors in their place, {} for the vectors.
//   nn::Head head() const;                                  the scores of all tokens from a vector
//   Cache cache(const Axis& batch, std::int64_t length) const;      of no token yet
//   std::pair<NamedArray, Cache> decode(const NamedArray& tokens, const Cache&) const;   hidden() of the next tokens
// A model with an encoder reads Example's inputs, input_mask, input_segments in hidden(). Config has decoder_start, the
// token before the decoder's first one; its cache(batch, length, inputs [batch, input]) runs the encoder.
// A model whose training adds a loss of its own (of routers) has hidden_and_report(..), hidden() and a tree, and Config
// has NamedArray extra_loss(const Report&) const: a scalar, added for each unit of the tokens' weight.
// and, if Hugging Face's folders hold such models, the members that hugging_face.h lists.
// A line at the end of the file adds it: config::add<ModelOf<M>>().
#pragma once
#include "bora/fx/checkpoint.h"
#include "bora/models/hugging_face.h"
#include "bora/nn/axes.h"
#include "bora/nn/attention.h"
#include "bora/nn/pipeline.h"
#include "bora/models/loss.h"
#include "bora/models/tuning.h"
#include "bora/nn/policy.h"
#include "bora/ops/creation.h"
#include "bora/ops/shape.h"
#include "bora/train/loop.h"

namespace bora::models {
/// The size of a logical axis as errors name it.
struct AxisSize {
  std::string_view axis, key;
  std::int64_t size;
  std::string_view noun, of = {};
};
struct ModelOptions {
  std::int64_t vocabulary = 0;
  Policy policy = {};
  std::optional<StepOptions> step = {};  // of training; dropout is the model's own
  LossSettings loss = {};                // of training
  Tuning tuning = {};
};
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
/// The tokens that a decoder has seen: keys and values of all layers, and how many there are (i32 scalar).
struct Cache {
  nn::KeyValues layers;
  Array seen;
  /// Positions of tokens that come next.
  NamedArray next(const NamedArray& tokens) const { return arange(tokens.axis(nn::kPosition)) + NamedArray(seen, {}); }
};
/// Tokens one after another, from parameters that were trained.
class Generator {
 public:
  /// From scores f32 [vocab], for example a token. Staged.
  using Choose = std::function<Array(const Array& scores, const Array& key)>;
  virtual ~Generator() = default;
  virtual tree::Node parameters() = 0;
  /// Forgets all tokens.
  virtual void restart() = 0;
  /// Forgets all tokens; the decoder's tokens that come next are about these inputs of the encoder, which are one or
  /// more. Throws ValueError if the model has no encoder.
  virtual void read(const std::vector<std::int32_t>& inputs) = 0;
  /// The choice after these tokens, which follow those given since restart(). Staged once for each number of tokens.
  /// Throws ValueError if there are more than the model's positions in all, and before read() if it has an encoder.
  virtual Array next(const std::vector<std::int32_t>& tokens, const Array& key) = 0;
};
/// A leaf of a model: its path and the axes of its array.
struct Parameter {
  std::string path;
  std::vector<Axis> axes;
};
/// The forward pass without its type, for parameters that were trained.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual tree::Node parameters() = 0;
  /// After each position the scores of all tokens, f32 [batch, position, vocab], without dropout.
  virtual NamedArray scores(const training::Example&) = 0;
  /// The sum of weights * cross entropy over the targets, an f32 scalar, without dropout.
  virtual NamedArray loss(const training::Example&) = 0;
};
/// A kind of language model in the settings.
struct Model : config::Chosen {
  static constexpr std::string_view initial = "gpt2";
  virtual std::int64_t positions() const = 0;
  /// The token before a decoder's first one, of a model with an encoder; none: it has none. Its Example has the
  /// encoder's tokens as `inputs` [batch, input] with `input_mask`; `tokens` are the targets shifted by one, this token
  /// first (and in the place of targets that are no tokens).
  virtual std::optional<std::int32_t> decoder_start() const = 0;
  virtual std::vector<AxisSize> axes() const = 0;
  /// Why training, or else evaluation, cannot split `position` over the mesh axis `context`: "model.window: ..", or "".
  virtual std::string no_context(bool training) const = 0;
  virtual std::unique_ptr<Trainable> trainable(const ModelOptions&) const = 0;
  /// Parameters are born in `storage`.
  virtual std::unique_ptr<Generator> generator(const ModelOptions&, const AxisMapping& storage, const Array& key,
                                               Generator::Choose) const = 0;
  /// All leaves; nothing is computed.
  virtual std::vector<Parameter> parameters(std::int64_t vocabulary) const = 0;
  virtual std::unique_ptr<Scorer> scorer(const ModelOptions&, const AxisMapping& storage, const Array& key) const = 0;
  // Of Hugging Face's folders (hugging_face.h); without types only hf_names() may be called.
  virtual HfNames hf_names() const = 0;
  virtual void from_hf(HfConfig&) = 0;  // sets all fields
  virtual void to_hf(HfConfig&) const = 0;
  virtual std::vector<HfWeight> hf_weights() const = 0;
  virtual bool in_stages() const = 0;  // its layers can be the stages of a pipeline (nn/pipeline.h)
  virtual bool has_extra_loss() const = 0;  // training adds a loss of the model's own, which is about all rows at once
};

/// A model without its type: its functions, for code that is compiled once for all models. `model` is what init() made,
/// perhaps in other dtypes; `cache` what cache() or decode() gave.
class AnyModel {
 public:
  virtual ~AnyModel() = default;
  virtual tree::Any init(const Array& key) const = 0;
  virtual std::int64_t positions() const = 0;
  virtual std::string checkpoint() const = 0;
  virtual NamedArray hidden(const tree::Any& model, const training::Example&, const std::optional<Array>& key,
                            const remat::Policy&) const = 0;
  /// loss.of(hidden(..), loss.rows), in the order of nn::UseSchedule where layers are stages.
  virtual NamedArray loss(const tree::Any& model, const training::Example&, const std::optional<Array>& key,
                          const remat::Policy&, const nn::RowsLoss&) const = 0;
  virtual nn::Head head(const tree::Any& model) const = 0;
  /// Whether training adds a loss of the model's own: extra_loss of the report.
  virtual bool has_extra_loss() const = 0;
  virtual std::pair<NamedArray, tree::Any> hidden_and_report(const tree::Any& model, const training::Example&,
                                                             const std::optional<Array>& key,
                                                             const remat::Policy&) const = 0;
  virtual NamedArray extra_loss(const tree::Any& report) const = 0;
  virtual bool encoder_decoder() const = 0;
  /// Of one row and no token yet; inputs: of an encoder.
  virtual tree::Any cache(const tree::Any& model, const std::optional<NamedArray>& inputs) const = 0;
  virtual std::pair<NamedArray, tree::Any> decode(const tree::Any& model, const NamedArray& tokens,
                                                  const tree::Any& cache) const = 0;
  virtual void each_linear(tree::Any& model, const VisitLinear&) const = 0;
};
using AnyModelPtr = std::shared_ptr<const AnyModel>;
/// The model's loss under its policy. Evaluations have the plain cross-entropy.
Task<tree::Any> task(const AnyModelPtr&, const ModelOptions&);
/// dropout: whether the model itself draws in training.
std::unique_ptr<Trainable> trainable_of(const AnyModelPtr&, const ModelOptions&, bool dropout);
std::unique_ptr<Generator> generator_of(const AnyModelPtr&, const ModelOptions&, const AxisMapping& storage,
                                        const Array& key, Generator::Choose);
std::unique_ptr<Scorer> scorer_of(const AnyModelPtr&, const ModelOptions&, const AxisMapping& storage,
                                  const Array& key);
std::vector<Parameter> parameters_of(const AnyModel&);

template <class M> concept HasExtraLoss = requires(const M& m, const typename M::Config& c,
                                                   const training::Example& e, const std::optional<Array>& key,
                                                   const remat::Policy& remat) {
  c.extra_loss(m.hidden_and_report(e, key, remat).second);
};
/// Whether a model with this configuration has such a loss: all, unless their configuration says.
template <class M> bool adds_loss(const typename M::Config& c) {
  if constexpr (!HasExtraLoss<M>) return false;
  else if constexpr (requires { c.has_extra_loss(); }) return c.has_extra_loss();
  else return true;
}
template <class M> concept StagesOf = requires { requires M::in_stages; };
template <class M> concept EncoderDecoder = requires(const M& m) { m.cache(Axis(), 1, NamedArray()); };
template <class M> class AnyModelOf final : public AnyModel {
  using Any = tree::Any;
  using Key = std::optional<Array>;
  using Example = training::Example;

 public:
  AnyModelOf(const typename M::Config& config, std::int64_t vocabulary) : config_(config), vocabulary_(vocabulary) {}
  Any init(const Array& key) const override { return Any(M::init(config_, vocabulary_, key)); }
  std::int64_t positions() const override { return config_.positions; }
  std::string checkpoint() const override { return config_.checkpoint; }
  NamedArray hidden(const Any& m, const Example& e, const Key& key, const remat::Policy& remat) const override {
    if constexpr (StagesOf<M>) return m.get<M>().hidden(e, key, remat, {});
    else return m.get<M>().hidden(e, key, remat);
  }
  NamedArray loss(const Any& m, const Example& e, const Key& key, const remat::Policy& remat,
                  const nn::RowsLoss& loss) const override {
    if constexpr (StagesOf<M>) return m.get<M>().hidden(e, key, remat, loss);
    else return loss.of(hidden(m, e, key, remat), loss.rows);
  }
  nn::Head head(const Any& m) const override { return m.get<M>().head(); }
  bool has_extra_loss() const override { return adds_loss<M>(config_); }
  std::pair<NamedArray, Any> hidden_and_report([[maybe_unused]] const Any& m, const Example& e, const Key& key,
                                               const remat::Policy& remat) const override {
    if constexpr (HasExtraLoss<M>) {
      auto [x, report] = m.get<M>().hidden_and_report(e, key, remat);
      return {x, Any(report)};
    } else return {hidden(m, e, key, remat), Any()};
  }
  NamedArray extra_loss([[maybe_unused]] const Any& report) const override {
    if constexpr (HasExtraLoss<M>)
      return config_.extra_loss(
          report.get<std::remove_cvref_t<decltype(std::declval<M>().hidden_and_report({}, {}, {}).second)>>());
    else fail<ValueError>("extra_loss: the model's training adds no loss of its own");
  }
  bool encoder_decoder() const override { return EncoderDecoder<M>; }
  Any cache(const Any& m, [[maybe_unused]] const std::optional<NamedArray>& inputs) const override {
    if constexpr (EncoderDecoder<M>) return Any(m.get<M>().cache({nn::kBatch, 1}, config_.positions, *inputs));
    else return Any(m.get<M>().cache({nn::kBatch, 1}, config_.positions));
  }
  std::pair<NamedArray, Any> decode(const Any& m, const NamedArray& tokens, const Any& cache) const override {
    using CacheOf = decltype(cache_of(m.get<M>()));
    auto [x, grown] = m.get<M>().decode(tokens, cache.template get<CacheOf>());
    return {x, Any(grown)};
  }
  void each_linear(Any& m, const VisitLinear& f) const override { nn::each_linear(m.get<M>(), f); }

 private:
  static auto cache_of(const M& m) {
    if constexpr (EncoderDecoder<M>) return m.cache({nn::kBatch, 1}, 1, NamedArray());
    else return m.cache({nn::kBatch, 1}, 1);
  }
  typename M::Config config_;
  std::int64_t vocabulary_;
};
/// The same task for a model of this type.
template <class M> Task<M> task(const typename M::Config& config, const ModelOptions& options) {
  auto any = task(std::make_shared<AnyModelOf<M>>(config, options.vocabulary), options);
  Task<M> t{.init = [f = any.init](const Array& key) { return f(key).template get<M>(); },
            .loss = [f = any.loss](const M& m, const training::Example& e,
                                   const std::optional<Array>& key) { return f(tree::Any(m), e, key); },
            .weights = any.weights};
  if (any.evaluation)
    t.evaluation = [f = any.evaluation](const M& m, const training::Example& e) { return f(tree::Any(m), e); };
  return t;
}
template <class M> struct ModelOf final : config::Of<typename M::Config, Model> {
  using config::Of<typename M::Config, Model>::Of;
  std::int64_t positions() const override { return this->fields.positions; }
  std::optional<std::int32_t> decoder_start() const override {
    if constexpr (EncoderDecoder<M>) return static_cast<std::int32_t>(this->fields.decoder_start);
    else return none;
  }
  std::vector<AxisSize> axes() const override { return this->fields.axes(); }
  std::string no_context([[maybe_unused]] bool training) const override {
    if constexpr (EncoderDecoder<M>) return "model.type: an encoder sees all positions at once; choose a decoder";
    if constexpr (requires { this->fields.options().windows; })
      if (!this->fields.options().windows.empty())
        return "model.window: a ring of ranks has no sliding windows; set it to 0";
    if constexpr (requires { this->fields.attention_dropout; })
      if (training && this->fields.attention_dropout > 0)
        return "model.attention_dropout: a ring of ranks cannot drop weights of attention; set it to 0";
    return {};
  }
  std::unique_ptr<Trainable> trainable(const ModelOptions& options) const override {
    bool dropout = options.step->dropout;
    if constexpr (requires { this->fields.draws(); }) dropout = this->fields.draws();
    else if constexpr (requires { this->fields.dropout; }) dropout = this->fields.dropout > 0;
    return trainable_of(model(options.vocabulary), options, dropout);
  }
  std::unique_ptr<Generator> generator(const ModelOptions& options, const AxisMapping& storage, const Array& key,
                                       Generator::Choose choose) const override {
    return generator_of(model(options.vocabulary), options, storage, key, std::move(choose));
  }
  std::vector<Parameter> parameters(std::int64_t vocabulary) const override {
    return parameters_of(*model(vocabulary));
  }
  std::unique_ptr<Scorer> scorer(const ModelOptions& options, const AxisMapping& storage,
                                 const Array& key) const override {
    return scorer_of(model(options.vocabulary), options, storage, key);
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
  bool in_stages() const override { return StagesOf<M>; }
  bool has_extra_loss() const override { return adds_loss<M>(this->fields); }

 private:
  AnyModelPtr model(std::int64_t vocabulary) const {
    return std::make_shared<AnyModelOf<M>>(this->fields, vocabulary);
  }
};
}  // namespace bora::models
