// Training, generation and scoring of any model: one compilation for all of them.
#include "bora/models/lm.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/indexing.h"

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
class AnyGenerator final : public Generator {
 public:
  AnyGenerator(const AnyModelPtr& model, const ModelOptions& options, const AxisMapping& storage, const Array& key,
               Choose choose)
      : model_(model), parameters_(named_jit(task(model, options).init, {.out = storage})(key)),
        policy_(options.policy), empty_(jit(EmptyFn([model](const Any& m, const std::optional<NamedArray>& inputs) {
          return model->cache(m, inputs);
        }))),
        step_(jit(StepFn([model, choose, policy = options.policy](const Any& m, const NamedArray& tokens,
                                                                  const Any& cache, const Array& key) {
          auto [x, grown] = model->decode(m, tokens, cache);
          auto last = x[{nn::kPosition, -1}];
          auto scores = policy.cast_to_output(model->head(m)(last).astype(f32)).array();
          scores = in_accumulator(scores);  // draws of a half would have some hundred values
          return std::pair{choose(reshape(scores, {-1}), key), grown};
        }))) {}
  tree::Node parameters() override {
    computing_.reset();  // the caller may write into them
    return tree::node(parameters_);
  }
  void restart() override { cache_.reset(), seen_ = 0; }
  void read(const std::vector<std::int32_t>& inputs) override {
    auto n = static_cast<std::int64_t>(inputs.size());
    bool encoder = model_->encoder_decoder;
    bora::check<ValueError>(encoder && n > 0, "generate: ", n, " inputs for ",
                            encoder ? "an encoder" : "a model without an encoder");
    restart();
    inputs_ = NamedArray(asarray(inputs, Shape{1, n}), {{nn::kBatch, 1}, {nn::kInput, n}});
  }
  Array next(const std::vector<std::int32_t>& tokens, const Array& key) override {
    auto n = static_cast<std::int64_t>(tokens.size());
    bora::check<ValueError>(n > 0 && seen_ + n <= model_->positions, "generate: ", n, " tokens after ", seen_,
                            ", but the model sees 1 to ", model_->positions);
    bora::check<ValueError>(!model_->encoder_decoder || inputs_, "generate: the encoder has no inputs yet");
    if (!computing_) computing_ = policy_.cast_to_compute(parameters_);
    if (!cache_) cache_ = empty_(*computing_, inputs_);
    auto x = NamedArray(asarray(tokens, Shape{1, n}), {{nn::kBatch, 1}, {nn::kPosition, n}});
    auto [chosen, cache] = step_(*computing_, x, std::move(*cache_), key);
    cache_ = std::move(cache);
    seen_ += n;
    return chosen;
  }

 private:
  using EmptyFn = std::function<Any(const Any&, const std::optional<NamedArray>&)>;
  using StepFn = std::function<std::pair<Array, Any>(const Any&, const NamedArray&, const Any&, const Array&)>;
  AnyModelPtr model_;
  Any parameters_;
  Policy policy_;
  std::optional<Any> computing_;  // parameters_ in the dtype of computation, from the first token on
  fx::Jitted<EmptyFn> empty_;
  fx::Jitted<StepFn> step_;
  std::int64_t seen_ = 0;
  std::optional<Any> cache_;
  std::optional<NamedArray> inputs_;
};
class AnyScorer final : public Scorer {
  using Fn = std::function<NamedArray(const Any&, const Example&)>;

 public:
  AnyScorer(const AnyModelPtr& model, const ModelOptions& options, const AxisMapping& storage, const Array& key)
      : parameters_(named_jit(task(model, options).init, {.out = storage})(key)),
        scores_(jit(Fn([model, policy = options.policy, how = how_of(*model, options)](const Any& m, const Example& e) {
          auto computing = policy.cast_to_compute(m);
          auto x = model->hidden(computing, e, none, how);
          return policy.cast_to_output(model->head(computing)(x).astype(f32)).astype(f32);
        }))),
        loss_(jit(Fn([model, policy = options.policy, how = how_of(*model, options)](const Any& m, const Example& e) {
          auto computing = policy.cast_to_compute(m);
          auto x = model->hidden(computing, e, none, how);
          return nn::linear_cross_entropy(model->head(computing), x, e.targets, e.weights, {.scores = policy.output});
        }))) {}
  tree::Node parameters() override { return tree::node(parameters_); }
  NamedArray scores(const Example& e) override { return scores_(parameters_, e); }
  NamedArray loss(const Example& e) override { return loss_(parameters_, e); }

 private:
  Any parameters_;
  fx::Jitted<Fn> scores_, loss_;
};
}  // namespace

TrainTask<Any> task(const AnyModelPtr& model, const ModelOptions& options) {
  auto layers = how_of(*model, options);
  auto loss = [=, policy = options.policy](const LossSettings& how, bool training) {
    return [=](const Any& m, const Example& rows, const std::optional<Array>& key) {
      auto e = in_context(rows);
      auto computing = policy.cast_to_compute(m);
      nn::RowsLoss of_tokens{
          [&, head = model->head(computing)](const NamedArray& x, const std::vector<NamedArray>& rows) {
            return nn::linear_cross_entropy(head, x, rows[0], rows[1],
                                            {.scores = policy.output, .loss = how.terms()});
          },
          {e.targets, loss_weights(e, how.normalize)}};
      if (training && model->has_extra_loss) {
        auto [x, report] = model->hidden_and_report(computing, e, key, layers);
        return of_tokens.of(x, of_tokens.rows) + model->extra_loss(report) * sum(loss_divisor(e, how.normalize));
      }
      return model->loss(computing, e, key, layers, of_tokens);
    };
  };
  TrainTask<Any> t{.init = [model, policy = options.policy](
                          const Array& key) { return policy.cast_to_parameter(model->init(key)); },
              .loss = loss(options.loss, true),
              .weights = [how = options.loss.normalize](const Example& e) { return loss_divisor(e, how); }};
  if (model->has_extra_loss || options.loss != LossSettings())
    t.evaluation = [plain = loss({}, false)](const Any& m, const Example& e) {
      return std::pair{plain(m, e, none), sum(e.weights)};
    };
  return t;
}
std::unique_ptr<Trainable> Model::trainable(const ModelOptions& options) const {
  auto any = model(options.vocabulary);
  auto step = *options.step;
  step.dropout = draws().value_or(step.dropout) || (options.tuning.lora && options.tuning.lora.dropout > 0);
  auto chosen = detail::chosen(options.tuning);
  step.trains = chosen.trains;
  step.keeps = chosen.keeps;
  auto each = [any](Any& m, const VisitLinear& f) { any->each_linear(m, f); };
  return bora::trainable(tuned<Any>(task(any, options), options.tuning, each), step);
}
std::unique_ptr<Generator> Model::generator(const ModelOptions& options, const AxisMapping& storage, const Array& key,
                                            Generator::Choose choose) const {
  return std::make_unique<AnyGenerator>(model(options.vocabulary), options, storage, key, std::move(choose));
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
