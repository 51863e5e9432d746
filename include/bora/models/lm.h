// lm.h -- the contract of a language model, and the registry from which the settings choose one. A model M is a tree of
// parameters in one source file:
//   struct Config { static constexpr std::string_view type; .. ; void check() const; };   also with
//     positions, checkpoint (the values kept for a block's backward pass): fields; perhaps dropout, or draws(): whether
//     training draws random numbers
//     axes(): the logical axes that a layout may split, each with the key and the noun of its size
//   static M init(const Config&, std::int64_t vocabulary, const Array& key);
//   NamedArray hidden(const training::Example&, key, remat) const;   [batch, position, embed], before the head
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
  /// Why training cannot split `position` over the mesh axis `context`: "model.window: ..."; empty: it can.
  virtual std::string no_context() const = 0;
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
};

template <class M> concept HasExtraLoss = requires(const M& m, const typename M::Config& c,
                                                   const training::Example& e, const std::optional<Array>& key,
                                                   const remat::Policy& remat) {
  c.extra_loss(m.hidden_and_report(e, key, remat).second);
};
/// The model's loss under its policy. Evaluations have the plain cross-entropy.
template <class M> Task<M> task(const typename M::Config& config, const ModelOptions& options) {
  auto remat = remat::parse(config.checkpoint);
  auto loss = [=, policy = options.policy](const LossSettings& how, bool training) {
    return [=](const M& m, const training::Example& rows, const std::optional<Array>& key) {
      auto e = in_context(rows);
      auto model = policy.cast_to_compute(m);
      auto of_tokens = [&](const NamedArray& x) {
        return nn::linear_cross_entropy(model.head(), x, e.targets, loss_weights(e, how.normalize),
                                        {.scores = policy.output, .loss = how.terms()});
      };
      if constexpr (HasExtraLoss<M>)
        if (training) {
          auto [x, report] = model.hidden_and_report(e, key, remat);
          return of_tokens(x) + config.extra_loss(report) * sum(loss_divisor(e, how.normalize));
        }
      return of_tokens(model.hidden(e, key, remat));
    };
  };
  Task<M> t{.init = [=, policy = options.policy, vocabulary = options.vocabulary](
                        const Array& key) { return policy.cast_to_parameter(M::init(config, vocabulary, key)); },
            .loss = loss(options.loss, true),
            .weights = [how = options.loss.normalize](const training::Example& e) { return loss_divisor(e, how); }};
  if (HasExtraLoss<M> || options.loss != LossSettings())
    t.evaluation = [plain = loss({}, false)](const M& m, const training::Example& e) {
      return std::pair{plain(m, e, none), sum(e.weights)};
    };
  return t;
}
template <class M> concept EncoderDecoder = requires(const M& m) { m.cache(Axis(), 1, NamedArray()); };
/// The cache of one row and no token yet; inputs: of an encoder.
template <class M> auto empty_cache(const M& m, std::int64_t length, const std::optional<NamedArray>& inputs) {
  if constexpr (EncoderDecoder<M>) return m.cache({nn::kBatch, 1}, length, *inputs);
  else return m.cache({nn::kBatch, 1}, length);
}
template <class M> class GeneratorOf final : public Generator {
 public:
  GeneratorOf(const typename M::Config& config, const ModelOptions& options, const AxisMapping& storage,
              const Array& key, Choose choose)
      : model_(named_jit(task<M>(config, options).init, {.out = storage})(key)),
        policy_(options.policy),
        empty_(jit(EmptyFn([=](const M& m, const std::optional<NamedArray>& inputs) {
          return empty_cache(m, config.positions, inputs);
        }))),
        step_(jit(StepFn(
            [=, policy = options.policy](const M& m, const NamedArray& tokens, const CacheOf& cache, const Array& key) {
              auto [x, grown] = m.decode(tokens, cache);
              auto last = x[{nn::kPosition, -1}];
              auto scores = policy.cast_to_output(m.head()(last).astype(f32)).array();
              return std::pair{choose(reshape(scores, {-1}), key), grown};
            }))),
        positions_(config.positions) {}
  tree::Node parameters() override {
    computing_.reset();  // the caller may write into them
    return tree::node(model_);
  }
  void restart() override { cache_.reset(), seen_ = 0; }
  void read(const std::vector<std::int32_t>& inputs) override {
    auto n = static_cast<std::int64_t>(inputs.size());
    bora::check<ValueError>(EncoderDecoder<M> && n > 0, "generate: ", n, " inputs for ",
                            EncoderDecoder<M> ? "an encoder" : "a model without an encoder");
    restart();
    inputs_ = NamedArray(asarray(inputs, Shape{1, n}), {{nn::kBatch, 1}, {nn::kInput, n}});
  }
  Array next(const std::vector<std::int32_t>& tokens, const Array& key) override {
    auto n = static_cast<std::int64_t>(tokens.size());
    bora::check<ValueError>(n > 0 && seen_ + n <= positions_, "generate: ", n, " tokens after ", seen_,
                            ", but the model sees 1 to ", positions_);
    bora::check<ValueError>(!EncoderDecoder<M> || inputs_, "generate: the encoder has no inputs yet");
    if (!computing_) computing_ = policy_.cast_to_compute(model_);
    if (!cache_) cache_ = empty_(*computing_, inputs_);
    auto x = NamedArray(asarray(tokens, Shape{1, n}), {{nn::kBatch, 1}, {nn::kPosition, n}});
    auto [chosen, cache] = step_(*computing_, x, std::move(*cache_), key);
    cache_ = std::move(cache);
    seen_ += n;
    return chosen;
  }

 private:
  using CacheOf = decltype(empty_cache(std::declval<const M&>(), 1, none));
  using EmptyFn = std::function<CacheOf(const M&, const std::optional<NamedArray>&)>;
  using StepFn =
      std::function<std::pair<Array, CacheOf>(const M&, const NamedArray&, const CacheOf&, const Array&)>;
  M model_;
  Policy policy_;
  std::optional<M> computing_;  // model_ in the dtype of computation, from the first token on
  decltype(jit(std::declval<EmptyFn>(), JitOptions{})) empty_;
  decltype(jit(std::declval<StepFn>(), JitOptions{})) step_;
  std::int64_t positions_, seen_ = 0;
  std::optional<CacheOf> cache_;
  std::optional<NamedArray> inputs_;
};
template <class M> class ScorerOf final : public Scorer {
  using Example = training::Example;
  using Fn = std::function<NamedArray(const M&, const Example&)>;

 public:
  ScorerOf(const typename M::Config& config, const ModelOptions& options, const AxisMapping& storage, const Array& key)
      : model_(named_jit(task<M>(config, options).init, {.out = storage})(key)),
        scores_(jit(Fn([=, policy = options.policy](const M& m, const Example& e) {
          auto model = policy.cast_to_compute(m);
          auto x = model.hidden(e, none, remat::parse(config.checkpoint));
          return policy.cast_to_output(model.head()(x).astype(f32)).astype(f32);
        }))),
        loss_(jit(Fn([=, policy = options.policy](const M& m, const Example& e) {
          auto model = policy.cast_to_compute(m);
          auto x = model.hidden(e, none, remat::parse(config.checkpoint));
          return nn::linear_cross_entropy(model.head(), x, e.targets, e.weights, {.scores = policy.output});
        }))) {}
  tree::Node parameters() override { return tree::node(model_); }
  NamedArray scores(const Example& e) override { return scores_(model_, e); }
  NamedArray loss(const Example& e) override { return loss_(model_, e); }

 private:
  M model_;
  decltype(jit(std::declval<Fn>(), JitOptions{})) scores_, loss_;
};
template <class M> struct ModelOf final : config::Of<typename M::Config, Model> {
  using config::Of<typename M::Config, Model>::Of;
  std::int64_t positions() const override { return this->fields.positions; }
  std::optional<std::int32_t> decoder_start() const override {
    if constexpr (EncoderDecoder<M>) return static_cast<std::int32_t>(this->fields.decoder_start);
    else return none;
  }
  std::vector<AxisSize> axes() const override { return this->fields.axes(); }
  std::string no_context() const override {
    if constexpr (EncoderDecoder<M>) return "model.type: an encoder sees all positions at once; choose a decoder";
    if constexpr (requires { this->fields.options().windows; })
      if (!this->fields.options().windows.empty())
        return "model.window: a ring of ranks has no sliding windows; set it to 0";
    if constexpr (requires { this->fields.attention_dropout; })
      if (this->fields.attention_dropout > 0)
        return "model.attention_dropout: a ring of ranks cannot drop weights of attention; set it to 0";
    return {};
  }
  std::unique_ptr<Trainable> trainable(const ModelOptions& options) const override {
    auto step = *options.step;
    if constexpr (requires { this->fields.draws(); }) step.dropout = this->fields.draws();
    else if constexpr (requires { this->fields.dropout; }) step.dropout = this->fields.dropout > 0;
    step.dropout = step.dropout || (options.tuning.lora && options.tuning.lora.dropout > 0);
    auto chosen = detail::chosen(options.tuning);
    step.trains = chosen.trains;
    step.keeps = chosen.keeps;
    return bora::trainable(tuned(task<M>(this->fields, options), options.tuning), step);
  }
  std::unique_ptr<Generator> generator(const ModelOptions& options, const AxisMapping& storage, const Array& key,
                                       Generator::Choose choose) const override {
    return std::make_unique<GeneratorOf<M>>(this->fields, options, storage, key, std::move(choose));
  }
  std::vector<Parameter> parameters(std::int64_t vocabulary) const override {
    auto shapes = eval_shape([&](const Array& key) { return M::init(this->fields, vocabulary, key); }, random::key(0));
    std::vector<Parameter> all;
    for (auto& slot : tree::slots(tree::node(shapes)))
      if (auto x = slot.leaf.template as<NamedArray>(); x && slot.leaf.defined()) all.push_back({slot.path, x->axes()});
    return all;
  }
  std::unique_ptr<Scorer> scorer(const ModelOptions& options, const AxisMapping& storage,
                                 const Array& key) const override {
    return std::make_unique<ScorerOf<M>>(this->fields, options, storage, key);
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
};
}  // namespace bora::models
