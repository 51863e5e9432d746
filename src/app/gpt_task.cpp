#include "gpt_task.h"

namespace bora::app {
models::Gpt2Config gpt_config(const Settings& s) {
  return {.layers = s.model.layers,
          .embed = s.model.embed,
          .heads = s.model.heads,
          .positions = s.model.positions,
          .vocab = kVocab,
          .dropout = static_cast<float>(s.model.dropout)};
}
Task<models::Gpt2> gpt_task(const Settings& s) {
  auto policy = Policy::parse(s.policy);
  auto remat = remat::parse(s.model.checkpoint);
  auto positions = s.model.positions;
  return {[=, config = gpt_config(s)](const Array& key) {
            return policy.cast_to_parameter(models::Gpt2::init(config, key));
          },
          [=](const models::Gpt2& model, const NamedArray& windows, const std::optional<Array>& key) {
            auto inputs = rename(windows[{"window", range(0, positions)}], {{"window", nn::kPosition}});
            auto targets = rename(windows[{"window", range(1, positions + 1)}], {{"window", nn::kPosition}});
            return nn::cross_entropy(policy.cast_to_output(policy.cast_to_compute(model)(inputs, key, remat)), "vocab", targets);
          }};
}
std::unique_ptr<Trainable> gpt_trainable(const Settings& s, const MeshShape& mesh) {
  auto [optimizer, rate] = make_optimizer(s);
  return trainable(gpt_task(s), {.optimizer = optimizer,
                                 .learning_rate = rate,
                                 .accumulate = s.accumulate,
                                 .dropout = s.model.dropout > 0,
                                 .storage = layout_mappings(parse_layout(s.layout), mesh).storage});
}
}  // namespace bora::app
