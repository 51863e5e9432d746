#include "bora/models/preference.h"
#include "bora/named/operations.h"
#include "bora/nn/adapters.h"
#include "bora/nn/axes.h"
#include "bora/nn/functions.h"
#include "bora/nn/loss.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "models/lm/halves.h"
#include "models/lm/initial.h"

namespace bora::models {
void PreferenceSettings::check() const {
  using config::domain;
  domain(config::finite(beta) && beta > 0, "beta", beta, "above 0");
  domain(label_smoothing >= 0 && label_smoothing < 0.5, "label_smoothing", label_smoothing,
         "at least 0 and below 0.5");
  domain(label_smoothing == 0 || loss == PreferenceLoss::dpo, "label_smoothing", label_smoothing,
         "0 for other losses than dpo");
  bora::check<ConfigError>(!ahead || has_reference(), "ahead: orpo has no reference model; leave it out");
}
namespace {
using tree::Any;
using training::Example;

NamedArray mean_of(const NamedArray& sum, const NamedArray& tokens) { return sum / maximum(tokens, 1.0); }
/// log(p / (1 - p)) of p = exp(x); p is at most 1 - 1e-7, the largest number below 1.
NamedArray log_odds(const NamedArray& x) {
  auto below = minimum(x, -1e-7);
  return below - log1p(-exp(below));
}
/// What the chosen answer gains more than the rejected one: over the reference, or, without one, in its mean.
NamedArray gain(const PreferenceSettings& s, const AnswerScores& m, const AnswerScores& r) {
  bool means = s.loss == PreferenceLoss::ipo || s.loss == PreferenceLoss::orpo;
  auto of = [&](const NamedArray& sum, const NamedArray& reference, const NamedArray& tokens) {
    auto gained = s.has_reference() ? sum - reference : sum;
    return means ? mean_of(gained, tokens) : gained;
  };
  return of(m.chosen, r.chosen, m.chosen_tokens) - of(m.rejected, r.rejected, m.rejected_tokens);
}
/// The two texts of each row as rows of their own: [2 batch, position].
Example answers_of(const Example& e) {
  return {.tokens = halves_as_rows(e.tokens), .targets = halves_as_rows(e.targets),
          .weights = halves_as_rows(e.weights)};
}
/// Sums over the positions of each text of x [2 batch, position]: of the chosen, of the rejected, [batch].
std::pair<NamedArray, NamedArray> by_answer(const NamedArray& x) { return apart(sum(x, nn::kPosition)); }
/// 1 for each pair whose texts both have something to learn: others fill batches.
NamedArray counted(const NamedArray& chosen_tokens, const NamedArray& rejected_tokens) {
  return (chosen_tokens > 0.0 && rejected_tokens > 0.0).astype(f32);
}
NamedArray counts_of(const Example& e) {
  auto [chosen, rejected] = by_answer(answers_of(e).weights);
  return counted(chosen, rejected);
}
std::function<Any(const Array&)> first_of(const AnyModelPtr& model, const ModelOptions& options) {
  return [model, how = Initial{options.policy, options.integers(), options.drawn}](const Array& key) {
    return initial(*model, how, key);
  };
}
/// The parts of the task that its functions share.
struct Preferring {
  AnyModelPtr model;
  ModelOptions options;
  PreferenceSettings settings;

  AnswerScores scores(const Any& m, const Example& answers, const std::optional<Array>& key) const {
    nn::PipelineOptions layers{.checkpoint = remat::parse(model->checkpoint)};
    auto computing = options.policy.cast_to_compute(m);
    auto x = model->hidden(computing, answers, key, layers);
    auto all = nn::linear_log_probabilities(model->head(computing), x, answers.targets,
                                            {.scores = options.policy.output});
    auto [chosen, rejected] = by_answer(where(answers.weights != 0.0, all, 0.0) * answers.weights);
    auto [chosen_tokens, rejected_tokens] = by_answer(answers.weights);
    return {chosen, rejected, chosen_tokens, rejected_tokens};
  }
  /// The model without its adapters, and without noise.
  Any base_of(Any m) const {
    model->each_linear(m, [](const std::string&, nn::Linear& l) { l.lora = none; });
    model->each_embedding(m, [](const std::string&, nn::Embedding& e) { e.noise = none; });
    return m;
  }
  /// {the model's, the reference's}. reference: where all of the model is trained.
  std::pair<AnswerScores, AnswerScores> both(const Any& m, const Any* reference, const Example& e,
                                             const std::optional<Array>& key) const {
    auto answers = answers_of(e);
    auto mine = scores(m, answers, key);
    if (!settings.has_reference()) return {mine, {}};
    if (settings.ahead) {
      bora::check<ValueError>(e.values.has_value(), "preference.ahead: the rows lack what the reference says of them");
      auto [chosen, rejected] = by_answer(halves_as_rows(*e.values));
      return {mine, {chosen, rejected, mine.chosen_tokens, mine.rejected_tokens}};
    }
    auto theirs = scores(reference ? *reference : base_of(m), answers, none);
    theirs.chosen = stop_gradient(theirs.chosen), theirs.rejected = stop_gradient(theirs.rejected);
    return {mine, theirs};
  }
  NamedArray loss(const Any& m, const Any* reference, const Example& e, const std::optional<Array>& key) const {
    auto [mine, theirs] = both(m, reference, e, key);
    auto counts = counted(mine.chosen_tokens, mine.rejected_tokens);
    return sum(where(counts != 0.0, preference_losses(settings, mine, theirs), 0.0));
  }
  std::vector<NamedArray> measures(const Any& m, const Any* reference, const Example& e) const {
    auto [mine, theirs] = both(m, reference, e, none);
    auto counts = counted(mine.chosen_tokens, mine.rejected_tokens);
    auto gained = gain(settings, mine, theirs);
    auto total = [&](const NamedArray& x) { return sum(where(counts != 0.0, x, 0.0)); };
    return {total(preference_losses(settings, mine, theirs)), sum(counts), total((gained > 0.0).astype(f32)),
            total(gained) * settings.beta};
  }
};
}  // namespace

NamedArray preference_losses(const PreferenceSettings& s, const AnswerScores& m, const AnswerScores& r) {
  auto d = gain(s, m, r);
  switch (s.loss) {
    case PreferenceLoss::dpo: {
      auto loss = -nn::log_sigmoid(d * s.beta);
      if (s.label_smoothing == 0) return loss;
      return loss * (1 - s.label_smoothing) - nn::log_sigmoid(d * -s.beta) * s.label_smoothing;
    }
    case PreferenceLoss::ipo: return square(d - 1 / (2 * s.beta));
    case PreferenceLoss::hinge: return relu(1.0 - d * s.beta);
    case PreferenceLoss::orpo: break;
  }
  auto chosen = mean_of(m.chosen, m.chosen_tokens), rejected = mean_of(m.rejected, m.rejected_tokens);
  return -chosen - nn::log_sigmoid(log_odds(chosen) - log_odds(rejected)) * s.beta;
}
TrainTask<Any> preference_task(const AnyModelPtr& model, const ModelOptions& options) {
  auto settings = options.preference.value_or(PreferenceSettings());
  Preferring p{model, options, settings};
  TrainTask<Any> t{.init = first_of(model, options),
                   .loss = [p](const Any& m, const Example& e, const std::optional<Array>& key) {
                     return p.loss(m, nullptr, e, key);
                   },
                   .weights = counts_of};
  bool beside = settings.has_reference() && !settings.ahead && !options.tuning.lora;
  if (beside)
    t.loss_beside = [p](const Any& m, const Any& reference, const Example& e, const std::optional<Array>& key) {
      return p.loss(m, &reference, e, key);
    };
  t.measured = {"accuracy", "margin"};
  t.measures = [p, beside](const Any& m, const Any& reference, const Example& e) {
    return p.measures(m, beside ? &reference : nullptr, e);
  };
  return t;
}
TrainTask<Any> reference_task(const AnyModelPtr& model, const ModelOptions& options) {
  Preferring p{model, options, options.preference.value_or(PreferenceSettings())};
  auto nothing = [](const Any&, const Example&, const std::optional<Array>&) {
    return NamedArray(full_of({{}, f32}, 0), {});
  };
  TrainTask<Any> t{.init = first_of(model, options), .loss = nothing, .weights = counts_of};
  t.predictions = [p](const Any& m, const Example& e) {
    auto s = p.scores(p.base_of(m), answers_of(e), none);
    return stack({s.chosen.array(), s.rejected.array()});
  };
  return t;
}
}  // namespace bora::models
