#include "bora/job/plan_run.h"
#include <algorithm>
#include <cstdlib>
#include <tuple>
#include "bora/base/parallel.h"
#include "bora/data/data.h"
#include "bora/job/host_table.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/train/batch.h"
#include "bora/train/loop.h"
#include "bora/train/process.h"
#include "bora/train/trainable.h"
#include "compile/api/executable.h"
#include "kernels/api/gemm.h"
#include "bora/tree/node.h"
#include "job/placement.h"
#include "job/reference.h"

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
PlannedRun plan_run(const Settings& settings, const text::Tokenizer& tokenizer, const MeshShape& shape,
                    const MeshLinks& links, bool pipeline, const std::function<ProcessBytes()>& process) {
  auto s = settings;  // with the largest batch
  for (auto& at : s.batch_at) s.batch = std::max(s.batch, at.batch);
  PlannedRun r{.mesh = Mesh::abstract(shape, links), .model = nullptr, .classes = {}, .text = {}};
  GlobalBatch batch;
  auto loop_on = [&](const MeshShape& mesh) {
    auto loop = loop_settings(s, mesh);
    loop.snapshot_every = s.elastic.snapshot;  // so that they are counted
    return loop;
  };
  r.classes = plan_classes(shape, links, [&](const Mesh& mesh) {
    UseMapping split(mappings_of(s, mesh.shape()).compute);
    auto model = trainable_of(s, tokenizer, mesh.shape(), {.pipeline = pipeline, .init = true});
    auto mine = rows_of_rank(s.batch, mesh);
    auto rows = data::Rows::zeros(mine.begin, mine.end, row_shape(s));
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
  r.over = batch_axes(mappings_of(s, shape).compute, shape);
  for (auto part : {r.model->parameters(), r.model->base()})
    for (auto& slot : tree::slots(part))
      if (slot.leaf.defined()) r.parameters += slot.leaf.get().size();
  for (auto& slot : tree::slots(r.model->state()))
    if (slot.leaf.defined()) r.stored += static_cast<std::int64_t>(slot.leaf.get().type().nbytes());
  r.tokens = s.batch * batch.example.tokens.axis("position").size;
  return r;
}
std::string layout_text(const PlannedRun& run, const Settings& s) {
  auto& shape = run.mesh.shape();
  UseMesh scope(run.mesh);
  UseMapping split(mappings_of(s, shape).compute);
  return stages_text(s, shape) + placement_text(*run.model, placement_rules(s, shape), shape) +
         "  rows of a step:\n" + host_table(shape, run.over, s.batch, run.mesh.links()->ranks_per_host);
}
std::function<ProcessBytes()> process_with(std::int64_t threads) {
  auto most = std::make_shared<std::int64_t>(0);
  return [most, threads, start = resident_bytes()]() -> ProcessBytes {
    return [most, threads, bytes = process_bytes(start)] {
      auto now = bytes() + (threads - thread_count()) * kernels::gemm_scratch_bytes();
      return *most = std::max(*most, now);
    };
  };
}
}  // namespace bora::job
