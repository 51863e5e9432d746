// Training, generation and scoring of any model: one compilation for all of them.
#include <algorithm>
#include "bora/data/dataset.h"
#include "bora/models/lm.h"
#include "bora/models/preference.h"
#include "bora/models/stepper.h"
#include "bora/ops/manipulation.h"
#include "models/lm/head_loss.h"
#include "models/lm/initial.h"
#include "models/lm/text_pairs.h"

namespace bora::models {
namespace {
using tree::Any;
using training::Example;

/// How the model's layers are run.
nn::PipelineOptions how_of(const AnyModel& model, const ModelOptions& options) {
  return {.microbatches = options.microbatches,
          .checkpoint = remat::parse(model.checkpoint),
          .schedule = options.schedule};
}
/// One sequence of a Stepper.
class OneSequence final : public Generator {
 public:
  OneSequence(const AnyModelPtr& model, std::unique_ptr<Stepper> stepper, Choose choose)
      : encoder_(model->encoder_decoder), stepper_(std::move(stepper)),
        choose_(jit(Choose([choose = std::move(choose)](const Array& scores, const Array& key) {
          return choose(reshape(scores, {-1}), key);
        }))) {}
  tree::Node parameters() override {
    forget();
    return stepper_->parameters();
  }
  void restart() override { seen_ = 0; }
  void read(const std::vector<std::int32_t>& inputs) override {
    bora::check<ValueError>(encoder_ && !inputs.empty(), "generate: ", inputs.size(), " inputs for ",
                            encoder_ ? "an encoder" : "a model without an encoder");
    restart();
    forget();
    inputs_ = inputs;
  }
  Array next(const std::vector<std::int32_t>& tokens, const Array& key) override {
    auto n = static_cast<std::int64_t>(tokens.size());
    bora::check<ValueError>(n > 0 && seen_ + n <= stepper_->positions(), "generate: ", n, " tokens after ", seen_,
                            ", but the model sees 1 to ", stepper_->positions());
    bora::check<ValueError>(!encoder_ || !inputs_.empty(), "generate: the encoder has no inputs yet");
    auto pages = [](auto count) { return (static_cast<std::int64_t>(count) + P - 1) / P; };
    if (auto need = std::max(pages(stepper_->positions()), pages(inputs_.size())); need > pages_) {
      stepper_->allot(pages_ = need);
      read_.reset();
    }
    if (encoder_ && !read_) read_ = stepper_->read(inputs_);
    StepRow row{.before = seen_, .count = n, .inputs = read_.value_or(-1)};
    for (std::int32_t p = 0; p < pages(seen_ + n); ++p) row.pages.push_back(p);
    auto scores = stepper_->step({tokens, {row}});
    seen_ += n;
    return choose_(scores, key);
  }

 private:
  static constexpr auto P = Stepper::kPagePositions;
  void forget() {
    if (read_) stepper_->forget(*read_);
    read_.reset();
  }
  bool encoder_;
  std::unique_ptr<Stepper> stepper_;
  fx::Jitted<Choose> choose_;
  std::int64_t seen_ = 0, pages_ = 0;
  std::vector<std::int32_t> inputs_;
  std::optional<std::int64_t> read_;  // the number of the inputs' result
};
class AnyScorer final : public Scorer {
  using Fn = std::function<NamedArray(const Any&, const Example&)>;

 public:
  AnyScorer(const AnyModelPtr& model, const ModelOptions& options, const AxisMapping& storage, const Array& key)
      : parameters_(named_jit(born(model, options), {.out = storage})(key)),
        scores_(jit(Fn([model, policy = options.policy, how = how_of(*model, options)](const Any& m, const Example& e) {
          auto computing = policy.cast_to_compute(m);
          auto x = model->hidden(computing, e, none, how);
          return policy.cast_to_output(model->head(computing)(x).astype(f32)).astype(f32);
        }))),
        loss_(jit(Fn([model, policy = options.policy, how = how_of(*model, options)](const Any& m, const Example& e) {
          auto computing = policy.cast_to_compute(m);
          auto x = model->hidden(computing, e, none, how);
          return nn::linear_cross_entropy(model->head(computing), x, e.targets, e.weights, {.scores = policy.output});
        }))),
        targets_(jit(TargetsFn([model, policy = options.policy, how = how_of(*model, options)](const Any& m,
                                                                                             const Example& e) {
          auto computing = policy.cast_to_compute(m);
          auto x = model->hidden(computing, e, none, how);
          auto scores = policy.cast_to_output(model->head(computing)(x).astype(f32)).astype(f32);
          auto logprobs = -nn::cross_entropy(scores, nn::kVocab, e.targets);
          return std::pair{logprobs, (argmax(scores, nn::kVocab) == e.targets).astype(i32)};
        }))),
        vectors_(jit(Fn([model, policy = options.policy](const Any& m, const Example& e) {
          return model->encode(policy.cast_to_compute(m), e).astype(f32);
        }))),
        encodes_(model->encode != nullptr) {}
  tree::Node parameters() override { return tree::node(parameters_); }
  NamedArray vectors(const Example& e) override {
    bora::check<ConfigError>(encodes_, "model.type: a model that predicts next tokens has no vectors of a text; choose "
                             "an encoder, such as bert");
    auto x = vectors_(parameters_, e);
    return aligned(x, {e.tokens.axis(nn::kBatch), e.tokens.axis(nn::kPosition), x.axis(nn::kEmbed)});
  }
  NamedArray scores(const Example& e) override { return scores_(parameters_, e); }
  NamedArray loss(const Example& e) override { return loss_(parameters_, e); }
  std::pair<NamedArray, NamedArray> targets(const Example& e) override {
    auto [logprobs, likeliest] = targets_(parameters_, e);
    return {aligned(logprobs, e.targets.axes()), aligned(likeliest, e.targets.axes())};
  }

 private:
  using TargetsFn = std::function<std::pair<NamedArray, NamedArray>(const Any&, const Example&)>;
  Any parameters_;
  fx::Jitted<Fn> scores_, loss_;
  fx::Jitted<TargetsFn> targets_;
  fx::Jitted<Fn> vectors_;
  bool encodes_;
};
}  // namespace

TrainTask<Any> task(const AnyModelPtr& model, const ModelOptions& options) {
  auto layers = how_of(*model, options);
  auto loss = [=, policy = options.policy](const LossSettings& how, bool training) {
    return [=](const Any& m, const Example& rows, const std::optional<Array>& key) {
      auto e = in_context(rows);
      auto computing = policy.cast_to_compute(m);
      auto weights = loss_weights(e, how.normalize);
      nn::RowsLoss of_tokens{
          [&, head = model->head(computing)](const NamedArray& x, const std::vector<NamedArray>& rows) {
            if (model->prediction == data::Prediction::numbers) return squared_error(head(x), rows[0], rows[1]);
            if (model->prediction == data::Prediction::spans) return span_loss(head(x), rows[0], rows[1]);
            return nn::linear_cross_entropy(head, x, rows[0], rows[1],
                                            {.scores = policy.output, .loss = how.terms()});
          },
          {model->prediction == data::Prediction::numbers ? *e.values : e.targets, weights}};
      if (training && model->has_extra_loss) {
        auto [x, report] = model->hidden_and_report(computing, e, key, layers);
        return of_tokens.of(x, of_tokens.rows) + model->extra_loss(report) * sum(loss_divisor(e, how.normalize));
      }
      return model->loss(computing, e, key, layers, of_tokens);
    };
  };
  TrainTask<Any> t{.init = [model, how = Initial{options.policy, options.integers(), options.drawn}](
                          const Array& key) { return initial(*model, how, key); },
              .loss = loss(options.loss, true),
              .weights = [how = options.loss.normalize](const Example& e) { return loss_divisor(e, how); }};
  // A pipeline's own gradient has none by rows' weights, and weights of sequences are not the rows' own.
  t.by_row = options.loss.normalize != Normalize::average_per_sequence && options.schedule == nn::Schedule::gpipe;
  if (model->has_extra_loss || options.loss != LossSettings())
    t.evaluation = [plain = loss({}, false)](const Any& m, const Example& e) {
      return std::pair{plain(m, e, none), sum(e.weights)};
    };
  if (model->prediction != data::Prediction::tokens)
    t.predictions = [=, policy = options.policy](const Any& m, const Example& e) {
      auto computing = policy.cast_to_compute(m);
      auto scores = model->head(computing)(model->hidden(computing, e, none, layers)).astype(f32);
      bool numbers = model->prediction == data::Prediction::numbers;
      auto got = numbers                                        ? scores[{nn::kVocab, 0}]
                 : model->prediction == data::Prediction::spans ? likeliest_spans(scores, e)
                                                                : argmax(scores, nn::kVocab).astype(f32);
      auto want = numbers ? *e.values : e.targets.astype(f32);
      Arrays all;
      for (auto& x : {got, want, e.weights}) all.push_back(aligned(x, e.tokens.axes()).array());
      return stack(all);
    };
  return t;
}
std::function<Any(const Array& key)> born(const AnyModelPtr& model, const ModelOptions& options) {
  auto t = task(model, options);
  if (options.tuning.lora.base.empty()) return t.init;
  auto each = [model](Any& m, const VisitLinear& f) { model->each_linear(m, f); };
  return tuned<Any>(std::move(t), {.lora = options.tuning.lora}, each).init;
}
namespace {
/// The task with noise on the vectors of tokens where there is a key, in training.
TrainTask<Any> noisy(TrainTask<Any> t, const AnyModelPtr& model, double alpha) {
  auto with = [model, alpha](Any m, const Array& key) {
    std::int64_t i = 0;
    model->each_embedding(m, [&](const std::string&, nn::Embedding& e) {
      auto& of = e.packed ? e.packed->out : e.weight.axes();
      auto own = random::fold_in(detail::noise_key(key), i++);
      if (of.at(0).name == nn::kVocab) e.noise = nn::EmbeddingNoise{NamedArray(own, {}), static_cast<float>(alpha)};
    });
    return m;
  };
  t.loss = [loss = t.loss, with](const Any& m, const Example& e, const std::optional<Array>& key) {
    return key ? loss(with(m, *key), e, key) : loss(m, e, key);
  };
  if (t.loss_beside)
    t.loss_beside = [loss = t.loss_beside, with](const Any& m, const Any& reference, const Example& e,
                                                 const std::optional<Array>& key) {
      return key ? loss(with(m, *key), reference, e, key) : loss(m, reference, e, key);
    };
  return t;
}
}  // namespace
std::unique_ptr<Trainable> Model::trainable(const ModelOptions& options) const {
  auto any = model(options.vocabulary);
  auto step = *options.step;
  bool noise = options.tuning.neftune > 0;
  step.dropout = draws().value_or(step.dropout) || (options.tuning.lora && options.tuning.lora.dropout > 0) || noise;
  auto chosen = detail::chosen(options.tuning);
  if (!step.trains) step.trains = chosen.trains;
  step.keeps = chosen.keeps;
  auto each = [any](Any& m, const VisitLinear& f) { any->each_linear(m, f); };
  bool compares = any->prediction == data::Prediction::similarities;
  auto whole = compares               ? text_pairs_task(any, options)
               : options.is_reference ? reference_task(any, options)
               : options.preference   ? preference_task(any, options)
                                      : task(any, options);
  auto part = tuned<Any>(std::move(whole), options.tuning, each);
  return bora::trainable(noise ? noisy(std::move(part), any, options.tuning.neftune) : std::move(part), step);
}
void Model::check_generates() const {
  bora::check<ConfigError>(generates(), "model.type: ", type(), " is an encoder, which has no next tokens; choose a "
                           "decoder");
}
std::unique_ptr<Generator> Model::generator(const ModelOptions& options, const AxisMapping& storage, const Array& key,
                                            Generator::Choose choose) const {
  return std::make_unique<OneSequence>(model(options.vocabulary), stepper(options, storage, key), std::move(choose));
}
namespace {
std::vector<Parameter> parameters_of(const std::function<Any(const Array& key)>& init) {
  auto shapes = eval_shape(init, random::key(0));
  std::vector<Parameter> all;
  for (auto& slot : tree::slots(tree::node(shapes)))
    if (auto x = slot.leaf.as<NamedArray>(); x && slot.leaf.defined()) all.push_back({slot.path, x->axes()});
  return all;
}
}  // namespace
std::vector<Parameter> Model::parameters(std::int64_t vocabulary) const {
  return parameters_of(model(vocabulary)->init);
}
std::vector<Parameter> Model::adapters(std::int64_t vocabulary, const LoraSettings& lora) const {
  auto any = model(vocabulary);
  auto each = [any](Any& m, const VisitLinear& f) { any->each_linear(m, f); };
  auto all = parameters_of(tuned<Any>(task(any, {.vocabulary = vocabulary}), {.lora = lora}, each).init);
  std::erase_if(all, [](auto& p) { return !nn::in_adapter(p.path); });
  return all;
}
std::unique_ptr<Scorer> Model::scorer(const ModelOptions& options, const AxisMapping& storage, const Array& key) const {
  return std::make_unique<AnyScorer>(model(options.vocabulary), options, storage, key);
}
}  // namespace bora::models
