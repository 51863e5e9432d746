#include "app/plan_run.h"
#include <cstdlib>
#include "app/model.h"
#include "app/settings.h"
#include "bora/data/data.h"
#include "bora/models/model.h"
#include "bora/train/batch.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"
#include "train/snapshots.h"

namespace bora::app {
HostModel host_of(const Settings& s) {
  auto given = [](const std::optional<std::string>& setting, const char* variable) {
    auto* value = std::getenv(variable);
    return setting.value_or(value ? value : "");
  };
  HostModel host;
  host.threads = s.mesh.threads;
  host.algorithms = given(s.transport.algorithms, "BORA_ALGORITHMS");
  host.calibrated = given(s.transport.calibrate, "BORA_CALIBRATE") != "off";
  return host;
}
PlannedRun plan_run(const Settings& s, const text::Tokenizer& tokenizer, const std::vector<MeshAxis>& axes,
                    const Links& links, bool pipeline, const std::function<ProcessBytes()>& process) {
  PlannedRun r{.mesh = Mesh::abstract(axes, links), .model = nullptr, .classes = {}, .text = {}};
  Batch batch;
  bora::training::Snapshots none;
  std::optional<bora::training::UseSnapshots> in_memory;  // so that they are counted
  if (s.elastic.snapshot > 0) in_memory.emplace(none, s.elastic.snapshot);
  r.classes = plan_classes(axes, links, [&](const Mesh& mesh) {
    UseMapping split(mappings_of(s.mesh, mesh.shape()).compute);
    auto model = trainable_of(s, tokenizer, mesh.shape(), {.pipeline = pipeline, .init = true});
    auto mine = rows_of_rank(s.batch, mesh);
    auto rows = data::Rows::zeros(mine.begin, mine.end, s.data->shape(s.model->positions()));
    auto part = make_batch(rows, s.batch, mesh);
    auto plan = plan_rank(*model, part, loop_settings(s, mesh.shape()), mesh, process());
    if (!r.model) r.model = std::move(model), batch = part;
    return plan;
  });
  std::vector<RankNeeds> all(static_cast<std::size_t>(r.mesh.size()));
  for (auto& c : r.classes)
    for (auto rank : c.ranks) {
      auto& needs = all[static_cast<std::size_t>(rank)] = c.plan.needs;
      needs.snapshots = c.plan.snapshots(rank);
    }
  r.text = plan_text(*r.model, batch, loop_settings(s, r.mesh.shape()), r.mesh.shape(), all,
                     r.classes[0].plan.step->info());
  for (auto part : {r.model->parameters(), r.model->base()})
    for (auto& slot : tree::slots(part))
      if (slot.leaf.defined()) r.parameters += slot.leaf.get().size();
  r.tokens = s.batch * batch.example.tokens.axis("position").size;
  return r;
}
}  // namespace bora::app
