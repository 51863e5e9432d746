#include "bora/job/auto_sync_period.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/models/stepper.h"
#include "bora/optim/kind.h"
#include "bora/optim/optimizers.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/train/local_settings.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"
#include "job/initial.h"
#include "job/placement.h"

namespace bora::job {
LoopSettings loop_settings(const Settings& s, const MeshShape& mesh,
                           const std::shared_ptr<const text::Tokenizer>& tokenizer) {
  LoopSettings loop{.seed = s.seed,
                    .steps = s.steps,
                    .batch = s.batch,
                    .batch_at = s.batch_at,
                    .out = s.out,
                    .layout = placement_name(s.mesh),
                    .policy = s.precision.policy,
                    .checkpoint = s.checkpoint,
                    .eval = s.eval,
                    .log = s.log,
                    .trace = s.trace,
                    .page = s.page,
                    .norms = s.norms,
                    .alerts = s.alerts,
                    .settings = to_yaml(s),
                    .trackers = s.trackers};
  loop.deadline = s.deadline;
  if (!s.mesh.has_layout()) loop.rules = placement_rules(s, mesh);
  loop.write_settings = [s](const std::string& folder) {
    auto mine = s;
    mine.out = folder;
    return write_config(folder, mine);
  };
  if (tokenizer && !has_pairs(s))
    loop.text_bytes = [tokenizer](std::span<const std::int32_t> ids) {
      return static_cast<std::int64_t>(tokenizer->decode(ids, {.special = false}).size());
    };
  return loop;
}
models::ModelOptions model_options(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& mesh) {
  auto optimizer = s.optimizer->build(s.steps);
  auto& scale = s.precision.loss_scale;
  if (scale.dynamic())
    optimizer.transform =
        optim::loss_scale(optimizer.transform,
                          {.initial = scale.initial, .period = scale.period, .factor = scale.factor, .min = scale.min});
  else if (auto fixed = scale.fixed())
    optimizer.transform = optim::loss_scale(optimizer.transform, {.initial = *fixed, .dynamic = false});
  models::ModelOptions all{
      vocabulary_of(s, tokenizer),
      Policy::parse(s.precision.policy),
      StepOptions{.optimizer = optimizer.transform,
                  .learning_rate = optimizer.learning_rate,
                  .accumulate = s.accumulate,
                  .wire = s.wire.wire(),
                  .compression = s.wire.compression(),
                  .storage = mappings_of(s, mesh).storage,
                  .replicas = bora::training::replicas_of(*s.local, mesh),
                  .local = s.local->options(optimizer.learning_rate, s.steps),
                  .virtual_ranks = s.reproducible.virtual_,
                  .leaf_norms = s.norms.every > 0 && !s.local->on()},
      s.loss,
      {s.freeze, s.lora, s.neftune},
      s.mesh.microbatches,
      nn::parse_schedule(s.mesh.schedule)};
  if (has_pairs(s)) all.preference = s.preference;
  if (!s.precision.weights.empty()) all.weights = nn::WeightFormat::parse(s.precision.weights);
  all.int8_pages = s.precision.cache == "int8";
  return all;
}

namespace {
/// The key from which a model of the run is made, also the base of its adapters.
Array parameter_key(const Settings& s) { return bora::training::parameter_key(random::key(s.seed)); }
/// Of a model whose parameters read_parameters fills: they are drawn only if the files need not have all.
models::ModelOptions filled_options(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& mesh) {
  auto options = model_options(s, tokenizer, mesh);
  bool own_base = s.lora && s.init_from.path.empty();  // made again as the run's was
  options.drawn = own_base || !fills_all(s.init_from);
  return options;
}
}  // namespace
std::unique_ptr<Trainable> trainable_of(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& mesh,
                                        const TrainableOptions& how) {
  check<ConfigError>(how.reads || s.precision.weights.empty(), "precision.weights: ", s.precision.weights,
                     " is for generate, eval, score and serve: integers are not trained; leave it empty");
  check<ConfigError>(how.reads || s.precision.cache.empty(), "precision.cache: ", s.precision.cache,
                     " is for generate and serve: training keeps no keys and values; leave it empty");
  auto options = model_options(s, tokenizer, mesh);
  if (!s.lora.base.empty()) options.drawn = s.init_from.path.empty();  // the numbers may need more memory than is there
  if (how.asks) {
    options.is_reference = true;
    options.step->trains = [](const std::string&) { return false; };
  }
  if (how.reads) {
    options = filled_options(s, tokenizer, mesh);
    options.step->trains = [](const std::string&) { return false; };  // no state of an optimizer
  }
  options.step->compile.pipeline = how.pipeline;
  if (!how.tuned) options.tuning = {};
  auto model = s.model->trainable(options);
  if (how.init) model->init(random::key(s.seed));
  return model;
}
std::unique_ptr<models::Generator> generator_of(const Settings& s, const text::Tokenizer& tokenizer,
                                                const MeshShape& mesh,
                                                std::function<Array(const Array& scores, const Array& key)> choose) {
  return s.model->generator(filled_options(s, tokenizer, mesh), mappings_of(s, mesh).storage, parameter_key(s),
                            std::move(choose));
}
std::unique_ptr<models::Stepper> stepper_of(const Settings& s, const text::Tokenizer& tokenizer,
                                            const MeshShape& mesh) {
  return s.model->stepper(filled_options(s, tokenizer, mesh), mappings_of(s, mesh).storage, parameter_key(s));
}
std::unique_ptr<models::Scorer> scorer_of(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& mesh) {
  return s.model->scorer(filled_options(s, tokenizer, mesh), mappings_of(s, mesh).storage, parameter_key(s));
}
void check_model(const Settings& settings, const text::Tokenizer& tokenizer, const MeshShape& shape) {
  auto s = without_auto(settings);
  auto mesh = Mesh::abstract(shape);
  UseMesh on(mesh);
  UseMapping split(mappings_of(s, mesh.shape()).compute);
  (void)trainable_of(s, tokenizer, mesh.shape(), {.init = true});
}
}  // namespace bora::job
