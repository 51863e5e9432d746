// lm.h -- the contract of a language model, and the registry from which the settings choose one. A model M is a tree of
// parameters in one source file:
//   struct Config { static constexpr std::string_view type; .. ; void check() const; };   also with
//     positions, checkpoint (the values kept for a block's backward pass), perhaps dropout: fields
//     axes(): the logical axes that a layout may split, each with the key and the noun of its size
//   static M init(const Config&, std::int64_t vocabulary, const Array& key);
//   NamedArray hidden(const training::Example&, key, remat) const;   [batch, position, embed], before the head
//   NamedArray scores(const NamedArray& hidden) const;      f32 [batch, position, vocab]
// A line at the end of the file adds it: config::add<ModelOf<M>>().
#pragma once
#include "bora/fx/checkpoint.h"
#include "bora/nn/axes.h"
#include "bora/nn/loss.h"
#include "bora/nn/policy.h"
#include "bora/ops/index.h"
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
};
/// Scores of the next token, from parameters that were trained.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual tree::Node parameters() = 0;
  /// Staged: scores f32 [vocab] at position `last` of tokens i32 {batch 1, position}, given to `choose` with the key.
  using Choose = std::function<Array(const Array& scores, const Array& key)>;
  virtual std::function<Array(const NamedArray& tokens, const Array& last, const Array& key)> next(Choose choose) = 0;
};
/// A kind of language model in the settings.
struct Model : config::Chosen {
  static constexpr std::string_view initial = "gpt2";
  virtual std::int64_t positions() const = 0;
  virtual std::vector<AxisSize> axes() const = 0;
  virtual std::unique_ptr<Trainable> trainable(const ModelOptions&) const = 0;
  /// Parameters are born in `storage`.
  virtual std::unique_ptr<Scorer> scorer(const ModelOptions&, const AxisMapping& storage, const Array& key) const = 0;
};

/// Losses of the targets under the model's policy: f32 [batch, position].
template <class M> Task<M> task(const typename M::Config& config, const ModelOptions& options) {
  auto remat = remat::parse(config.checkpoint);
  return {.init = [=, policy = options.policy, vocabulary = options.vocabulary](
                      const Array& key) { return policy.cast_to_parameter(M::init(config, vocabulary, key)); },
          .losses =
              [=, policy = options.policy](const M& m, const training::Example& e, const std::optional<Array>& key) {
                auto model = policy.cast_to_compute(m);
                auto scores = policy.cast_to_output(model.scores(model.hidden(e, key, remat)));
                return nn::cross_entropy(scores, nn::kVocab, e.targets);
              }};
}
template <class M> class ScorerOf final : public Scorer {
 public:
  ScorerOf(const typename M::Config& config, const ModelOptions& options, const AxisMapping& storage, const Array& key)
      : policy_(options.policy), model_(named_jit(task<M>(config, options).init, {.out = storage})(key)) {}
  tree::Node parameters() override { return tree::node(model_); }
  std::function<Array(const NamedArray&, const Array&, const Array&)> next(Choose choose) override {
    auto staged =
        jit([policy = policy_, choose](const M& m, const NamedArray& tokens, const Array& last, const Array& key) {
          auto model = policy.cast_to_compute(m);
          auto scores =
              policy.cast_to_output(model.scores(model.hidden({.tokens = tokens}, none, remat::nothing))).array();
          return choose(take(view(scores, 0), last, 0), key);
        });
    return [this, staged](const NamedArray& tokens, const Array& last, const Array& key) {
      return staged(model_, tokens, last, key);
    };
  }

 private:
  Policy policy_;
  M model_;
};
template <class M> struct ModelOf final : config::Of<typename M::Config, Model> {
  using config::Of<typename M::Config, Model>::Of;
  std::int64_t positions() const override { return this->fields.positions; }
  std::vector<AxisSize> axes() const override { return this->fields.axes(); }
  std::unique_ptr<Trainable> trainable(const ModelOptions& options) const override {
    auto step = *options.step;
    if constexpr (requires { this->fields.dropout; }) step.dropout = this->fields.dropout > 0;
    return bora::trainable(task<M>(this->fields, options), step);
  }
  std::unique_ptr<Scorer> scorer(const ModelOptions& options, const AxisMapping& storage,
                                 const Array& key) const override {
    return std::make_unique<ScorerOf<M>>(this->fields, options, storage, key);
  }
};
}  // namespace bora::models
