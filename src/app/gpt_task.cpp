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
void check_parts(const Settings& s, const MeshShape& mesh) {
  struct Size {
    std::string_view axis, key;
    std::int64_t parts;
    std::string_view noun, of;
  };
  const Size sizes[] = {
      {nn::kBatch, "batch", s.batch / s.accumulate, "row", s.accumulate > 1 ? " in each part of the batch" : ""},
      {nn::kHeads, "model.heads", s.model.heads, "head", ""},
      {nn::kMlp, "model.embed", gpt_config(s).mlp_axis().size, "hidden unit", ""},
      {nn::kVocab, "vocabulary", kVocab, "byte", ""},
      {nn::kEmbed, "model.embed", s.model.embed, "number", " of a vector"}};
  auto counted = [](std::int64_t n, std::string_view noun) {
    return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
  };
  auto mappings = layout_mappings(parse_layout(s.layout), mesh);
  for (auto* mapping : {&mappings.compute, &mappings.storage})
    for (auto& rule : mapping->rules())
      for (auto& size : sizes) {
        if (size.axis != rule.axis) continue;
        auto ranks = mesh.parts(rule.mesh);
        check<ConfigError>(size.parts >= ranks, size.key, ": ", counted(size.parts, size.noun), size.of,
                           " cannot be spread over ", ranks, " ranks (mesh axis '", to_string(rule.mesh), "', layout ",
                           s.layout, "); use at most ", counted(size.parts, "rank"), " there",
                           size.key == "vocabulary" ? "" : ", or raise it");
      }
}
Task<models::Gpt2> gpt_task(const Settings& s) {
  auto policy = Policy::parse(s.policy);
  auto remat = remat::parse(s.model.checkpoint);
  auto positions = s.model.positions;
  return {[=, config = gpt_config(s)](const Array& key) {
            return policy.cast_to_parameter(models::Gpt2::init(config, key));
          },
          [=](const models::Gpt2& model, const NamedArray& windows, const std::optional<Array>& key) {
            auto inputs = rename(windows[{nn::kWindow, range(0, positions)}], {{nn::kWindow, nn::kPosition}});
            auto targets = rename(windows[{nn::kWindow, range(1, positions + 1)}], {{nn::kWindow, nn::kPosition}});
            return nn::cross_entropy(policy.cast_to_output(policy.cast_to_compute(model)(inputs, key, remat)),
                                     nn::kVocab, targets);
          }};
}
std::unique_ptr<Trainable> gpt_trainable(const Settings& s, const MeshShape& mesh, const CompileOptions& compile) {
  auto [optimizer, rate] = make_optimizer(s);
  return trainable(gpt_task(s), {.optimizer = optimizer,
                                 .learning_rate = rate,
                                 .accumulate = s.accumulate,
                                 .dropout = s.model.dropout > 0,
                                 .storage = layout_mappings(parse_layout(s.layout), mesh).storage,
                                 .compile = compile});
}
}  // namespace bora::app
