#include "bora/job/plan_run.h"
#include <cstdlib>
#include "bora/data/data.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/train/batch.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"
#include "compile/api/executable.h"

namespace bora::job {
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
PlannedRun plan_run(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& shape,
                    const Links& links, bool pipeline, const std::function<ProcessBytes()>& process) {
  PlannedRun r{.mesh = Mesh::abstract(shape, links), .model = nullptr, .classes = {}, .text = {}};
  Batch batch;
  auto loop_on = [&](const MeshShape& mesh) {
    auto loop = loop_settings(s, mesh);
    loop.snapshot_every = s.elastic.snapshot;  // so that they are counted
    return loop;
  };
  r.classes = plan_classes(shape, links, [&](const Mesh& mesh) {
    UseMapping split(mappings_of(s.mesh, mesh.shape()).compute);
    auto model = trainable_of(s, tokenizer, mesh.shape(), {.pipeline = pipeline, .init = true});
    auto mine = rows_of_rank(s.batch, mesh);
    auto rows = data::Rows::zeros(mine.begin, mine.end, s.data->shape(s.model->positions()));
    auto part = make_batch(rows, s.batch, mesh);
    auto plan = plan_rank(*model, part, loop_on(mesh.shape()), mesh, process());
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
                     r.classes[0].plan);
  for (auto part : {r.model->parameters(), r.model->base()})
    for (auto& slot : tree::slots(part))
      if (slot.leaf.defined()) r.parameters += slot.leaf.get().size();
  r.tokens = s.batch * batch.example.tokens.axis("position").size;
  return r;
}
}  // namespace bora::job
