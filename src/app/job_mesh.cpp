// The mesh of a job: its axes, and what the settings must have for it.
#include <cstdio>
#include "app/job.h"
#include "app/settings.h"
#include "bora/models/model.h"
#include "bora/nn/axes.h"
#include "bora/nn/pipeline_plan.h"
#include "bora/nn/policy.h"
#include "bora/shard/mesh.h"
#include "bora/train/local_settings.h"
#include "bora/train/placement.h"

namespace bora::app {
namespace {
/// Fragments are of the layers, of each stack of them.
void check_fragments(const Settings& s, const text::Tokenizer& tokenizer) {
  auto n = s.local->fragments();
  if (n == 1) return;
  for (auto& p : s.model->parameters(vocabulary_of(s, tokenizer)))
    for (auto& axis : p.axes)
      check<ConfigError>(axis.name != nn::kLayers || n <= axis.size, "local.fragments: ", n, " is more than the ",
                         axis.size, " layers of the model (", p.path, ")");
}
/// How many stages the mesh cuts the layers into: 1 without a pipeline.
std::int64_t stages_of(const Settings& s, const MeshShape& mesh) {
  auto spec = placement_of({{nn::kLayers, 1}}, mappings_of(s.mesh, mesh).compute, mesh).spec;
  return mesh.parts(spec[0]);
}
/// The mesh axes that split the rows inside of a stage.
std::int64_t row_ranks(const Settings& s, const MeshShape& mesh) {
  auto compute = mappings_of(s.mesh, mesh).compute;
  auto stages = placement_of({{nn::kLayers, 1}}, compute, mesh).spec[0];
  auto batch = placement_of({{nn::kBatch, 1}}, compute, mesh).spec[0];
  std::int64_t n = 1;
  for (auto& axis : batch)
    if (!stages.has(axis)) n *= mesh.axis_size(axis);
  return n;
}
void check_stages(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& mesh) {
  auto n = stages_of(s, mesh);
  if (n == 1) return;
  auto split = placement_of({{nn::kLayers, 1}}, mappings_of(s.mesh, mesh).compute, mesh).spec[0];
  check<ConfigError>(split.size() == 1, "mesh.rules: axis '", nn::kLayers, "' is split over ", split.size(),
                     " mesh axes (", to_string(split), "); the stages of a pipeline are the ranks of one");
  std::string others;
  for (auto& row : config::rows<models::Model>())
    if (config::Choice<models::Model>(row.type)->in_stages())
      others += (others.empty() ? "" : ", ") + std::string(row.type);
  check<ConfigError>(s.model->in_stages(), "mesh: the layers of the model ", s.model->type(),
                     " cannot be the stages of a pipeline (axis stage of ", to_string(mesh), "); those of ", others,
                     " can");
  check<ConfigError>(s.mesh.schedule == "gpipe" || !s.model->has_extra_loss(), "mesh.schedule: 1f1b takes the loss of "
                     "each microbatch by itself, but the routers' loss of the model ", s.model->type(), " is about all "
                     "rows; set it to gpipe");
  check<ConfigError>(!s.local->on(), "mesh: stages and replicas that train by themselves (local) do not go together; "
                                     "leave axis stage or local out");
  check<ConfigError>(s.mesh.schedule == "gpipe" || Policy::parse(s.precision.policy).compute != f16,
                     "mesh.schedule: 1f1b computes gradients of a loss that is not scaled, and those of f16 underflow; "
                     "set it to gpipe, or precision to p=f32,c=bf16,o=f32");
  for (auto& p : s.model->parameters(vocabulary_of(s, tokenizer)))
    for (auto& axis : p.axes)
      check<ConfigError>(axis.name != nn::kLayers || axis.size % n == 0, "mesh: ", axis.size,
                         " layers of the model (model.layers) cannot be cut into ", n,
                         " equal stages; use as many ranks along axis stage as divide them");
  auto rows = s.batch / s.accumulate;
  check<ConfigError>(s.mesh.microbatches == 0 || rows % s.mesh.microbatches == 0, "mesh.microbatches: ", rows, " rows",
                     s.accumulate > 1 ? " in each part of the batch" : "", " cannot be cut into ", s.mesh.microbatches,
                     " equal microbatches; choose a divisor of them");
}
}  // namespace

std::vector<MeshAxis> mesh_axes(const Settings& s, const text::Tokenizer& tokenizer, int ranks,
                                std::string_view purpose) {
  auto mesh = resolve_mesh(s.mesh, ranks);
  check_parts(s, tokenizer, mesh, purpose);
  bora::training::check_local(*s.local, mesh, batch_axes(mappings_of(s.mesh, mesh).compute, mesh), s.batch,
                              s.accumulate);
  check_fragments(s, tokenizer);
  check_stages(s, tokenizer, mesh);
  bora::training::check_virtual(s.reproducible.virtual_, mappings_of(s.mesh, mesh), mesh, s.batch, s.accumulate);
  std::vector<MeshAxis> axes;
  for (auto& axis : mesh.axes) axes.push_back({axis.first.str(), axis.second});
  return axes;
}
std::string stages_text(const Settings& s, const MeshShape& mesh) {
  auto n = stages_of(s, mesh);
  if (n == 1) return {};
  std::int64_t rows = s.batch / s.accumulate, m = s.mesh.microbatches;
  if (m == 0) m = nn::default_microbatches(rows, n, row_ranks(s, mesh));
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.3g", 100 * nn::pipeline_bubble(n, m));
  return "  pipeline: " + s.mesh.schedule + ", " + std::to_string(n) + " stages, " + std::to_string(m) +
         " microbatches of " + std::to_string(rows / m) + " rows; of the layers' time a rank waits " + percent + " %\n";
}
}  // namespace bora::app
