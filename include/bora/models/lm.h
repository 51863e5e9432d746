// lm.h -- uses of a language model: a task of training, a model that generates, one that scores. contract.h has the
// contract of the model.
#pragma once
#include "bora/models/contract.h"
#include "bora/models/loss.h"
#include "bora/models/parameter.h"
#include "bora/models/preference_settings.h"
#include "bora/models/tuning.h"
#include "bora/nn/policy.h"
#include "bora/nn/weight_format.h"
#include "bora/train/task.h"

namespace bora::models {
struct ModelOptions {                            // of a model in use
  std::int64_t vocabulary = 0;                   // number of tokens
  Policy policy = {};                            // dtypes of parameters, computation and results
  std::optional<StepOptions> step = {};          // of training; dropout is the model's own
  LossSettings loss = {};                        // of training
  Tuning tuning = {};                            // what of the model is trained
  std::int64_t microbatches = 0;                 // of layers in stages, as PipelineOptions has them
  nn::Schedule schedule = nn::Schedule::gpipe;   // of the stages
  std::optional<nn::WeightFormat> weights = {};  // of models that are not trained: these are packed (weights.h)
  bool int8_pages = false;                       // of models that generate: keys and values as 8-bit integers
  bool drawn = true;                             // false: parameters are born as zeros, for files to fill
  std::optional<PreferenceSettings> preference = {};  // of training on pairs of answers, in place of `loss`
  bool is_reference = false;                     // of pairs: the model is asked about them, and not trained
  /// The form of the weights that are integers: also of the base of adapters, beside which these always stand.
  std::optional<nn::WeightFormat> integers() const {
    return tuning.lora.base.empty() ? weights : nn::WeightFormat::parse(tuning.lora.base);
  }
};
/// The model's loss under its policy. Evaluations have the plain cross-entropy.
TrainTask<tree::Any> task(const AnyModelPtr&, const ModelOptions&);
/// The same task for a model of this type.
template <class M> TrainTask<M> task(const typename M::Config& config, const ModelOptions& options) {
  auto any = task(std::make_shared<AnyModel>(any_model<M>(config, options.vocabulary)), options);
  TrainTask<M> t{.init = [f = any.init](const Array& key) { return f(key).template get<M>(); },
                 .loss =
                     [f = any.loss](const M& m, const training::Example& e, const std::optional<Array>& key) {
                       return f(tree::Any(m, tree::unsaved), e, key);
                     },
                 .weights = any.weights};
  if (any.evaluation)
    t.evaluation = [f = any.evaluation](const M& m, const training::Example& e) {
      return f(tree::Any(m, tree::unsaved), e);
    };
  if (any.predictions)
    t.predictions = [f = any.predictions](const M& m, const training::Example& e) {
      return f(tree::Any(m, tree::unsaved), e);
    };
  return t;
}
}  // namespace bora::models
