// Rules of the mesh with the model, the batch and its parts.
#include <algorithm>
#include <cstdio>
#include "bora/data/data.h"
#include "bora/data/dataset.h"
#include "bora/job/job.h"
#include "bora/models/parameter.h"
#include "bora/nn/axes.h"
#include "bora/nn/pipeline_plan.h"
#include "bora/nn/policy.h"
#include "job/facts.h"
#include "job/placement.h"

namespace bora::job {
namespace {
/// Rules are about logical axes that models have: nn's, and this model's own.
void check_rule_axes(const std::vector<std::vector<std::string>>& rules, std::string_view key,
                     const models::Model& model) {
  std::vector<std::string> known(std::begin(nn::kAxes), std::end(nn::kAxes));
  for (auto& axis : model.axes())
    if (std::find(known.begin(), known.end(), axis.axis) == known.end()) known.emplace_back(axis.axis);
  std::string list;
  for (std::size_t i = 0; i < known.size(); ++i)
    list += (i == 0 ? "" : i + 1 == known.size() ? " and " : ", ") + known[i];
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto axis = rules[i].empty() ? "" : rules[i][0];
    check<ConfigError>(axis.empty() || std::find(known.begin(), known.end(), axis) != known.end(), key, ": rule ",
                       i + 1, " is about unknown logical axis '", axis, "'; there are ", list);
  }
}
/// The mesh's rules split no dimension into more parts than it has: some ranks would have no work.
void check_parts(const Facts& facts) {
  auto& s = facts.all;
  auto& mesh = *facts.mesh;
  auto sizes = s.model->axes();
  sizes.push_back({"batch", "batch", facts.rows, "row", s.accumulate > 1 ? " in each part of the batch" : ""});
  sizes.push_back({"vocab", "vocabulary", facts.vocabulary, "token"});
  sizes.push_back({"position", "model.positions", s.model->positions(), "position"});
  auto counted = [](std::int64_t n, std::string_view noun) {
    return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
  };
  for (auto* mapping : {&facts.mappings.compute, &facts.mappings.storage})
    for (auto& rule : mapping->rules())
      for (auto& size : sizes) {
        if (size.axis != rule.axis) continue;
        std::int64_t ranks = mesh.parts(rule.mesh), most = size.size;
        for (auto& other : sizes)  // a layout splits these where there are more (placement.h)
          if (size.axis == nn::kHeads && other.axis == nn::kHeadGroup && s.mesh.rules.empty())
            most = std::max(most, other.size);
        check<ConfigError>(size.size >= ranks, size.key, ": ", counted(size.size, size.noun), size.of,
                           " cannot be spread over ", ranks, " ranks (mesh axis '", to_string(rule.mesh), "', ",
                           s.mesh.has_layout() ? "layout " : "", placement_name(s.mesh), "); use at most ",
                           counted(most, "rank"), " there", size.key == "vocabulary" ? "" : ", or raise it");
        for (int part = 0; part < ranks && !mesh.equal(rule.mesh); ++part)
          check<ConfigError>(mesh.block(size.size, rule.mesh, part).size() > 0, size.key, ": of ",
                             size.size, size.of, " part ", part, " of mesh axis '", to_string(rule.mesh),
                             "' has none by the shares of mesh ", to_string(mesh),
                             "; give it a larger share", size.key == "vocabulary" ? "" : ", or raise it");
      }
}
/// A sequence that is split over ranks needs a model that can, and positions that divide.
void check_context(const Facts& facts) {
  auto& s = facts.all;
  auto& mesh = *facts.mesh;
  AxisName context(mesh_axes::kContext);
  auto positions = s.data->shape(s.model->positions()).positions;
  auto split = placement_of({{nn::kBatch, s.batch}, {nn::kPosition, positions}, {nn::kHeads, 1}, {nn::kHeadGroup, 1}},
                            facts.mappings.compute, mesh)
                   .spec[1];
  bool has = mesh.has(context) && mesh.axis_size(context) > 1;
  if (!has || !split.has(context)) return;
  auto refusal = s.model->no_context(facts.purpose == "train");
  check<ConfigError>(refusal.empty(), refusal, ", or leave axis 'context' (", mesh.axis_size(context),
                     " ranks that share each sequence) out of the mesh");
  auto ranks = mesh.parts(split);
  check<ConfigError>(!facts.has_shares(split), "mesh.shares: ", to_string(s.mesh.shares), " gives ranks along ",
                     to_string(split), " shares, but they have equal parts of each sequence; leave them out");
  check<ConfigError>(positions % (2 * ranks) == 0, "model.positions: ", positions, " cannot be cut into 2 equal parts ",
                     "for each of the ", ranks, " ranks of mesh axis '", to_string(split), "'; use a multiple of ",
                     2 * ranks);
  check<ConfigError>(!s.local->on(), "local: replicas of local steps have whole sequences; leave axis 'context' out ",
                     "of the mesh, or local");
}
void check_stages(const Facts& facts) {
  auto& s = facts.all;
  auto& mesh = *facts.mesh;
  auto n = facts.stages;
  if (n == 1) return;
  auto split = placement_of({{nn::kLayers, 1}}, facts.mappings.compute, mesh).spec[0];
  check<ConfigError>(split.size() == 1, "mesh.rules: axis '", nn::kLayers, "' is split over ", split.size(),
                     " mesh axes (", to_string(split), "); the stages of a pipeline are the ranks of one");
  check<ConfigError>(!facts.has_shares(split), "mesh.shares: ", to_string(s.mesh.shares), " gives ranks along ",
                     to_string(split), " shares, but the stages of a pipeline are of equal size; leave them out");
  std::string others;
  for (auto& row : config::rows<models::Model>())
    if (config::Choice<models::Model>(row.type)->in_stages())
      others += (others.empty() ? "" : ", ") + std::string(row.type);
  check<ConfigError>(s.model->in_stages(), "mesh: the layers of the model ", s.model->type(),
                     " cannot be the stages of a pipeline (axis stage of ", to_string(mesh), "); those of ", others,
                     " can");
  check<ConfigError>(s.model->prediction() != data::Prediction::similarities, "mesh: ", to_string(mesh),
                     ": the loss of pairs needs whole texts on a rank that has all layers; leave the axis stage out");
  check<ConfigError>(s.mesh.schedule == "gpipe" || !s.model->has_extra_loss(), "mesh.schedule: 1f1b takes the loss of "
                     "each microbatch by itself, but the routers' loss of the model ", s.model->type(), " is about all "
                     "rows; set it to gpipe");
  check<ConfigError>(!s.local->on(), "mesh: stages and replicas that train by themselves (local) do not go together; "
                                     "leave axis stage or local out");
  check<ConfigError>(s.mesh.schedule == "gpipe" || Policy::parse(s.precision.policy).compute != f16,
                     "mesh.schedule: 1f1b computes gradients of a loss that is not scaled, and those of f16 underflow; "
                     "set it to gpipe, or precision to p=f32,c=bf16,o=f32");
  for (auto& p : s.model->parameters(facts.vocabulary))
    for (auto& axis : p.axes)
      check<ConfigError>(axis.name != nn::kLayers || axis.size % n == 0, "mesh: ", axis.size,
                         " layers of the model (model.layers) cannot be cut into ", n,
                         " equal stages; use as many ranks along axis stage as divide them");
  auto parts = s.mesh.microbatches;
  check<ConfigError>(parts == 0 || facts.rows % parts == 0, "mesh.microbatches: ", facts.rows, " rows",
                     s.accumulate > 1 ? " in each part of the batch" : "", " cannot be cut into ", parts,
                     " equal microbatches; choose a divisor of them");
}
bool has_data_rows(const Facts& facts) { return facts.batch_axes.has(AxisName(mesh_axes::kData)); }
/// The mesh axes that split the rows inside of a stage.
std::int64_t row_ranks(const Settings& s, const MeshShape& mesh) {
  auto compute = mappings_of(s, mesh).compute;
  auto stages = placement_of({{nn::kLayers, 1}}, compute, mesh).spec[0];
  auto batch = placement_of({{nn::kBatch, 1}}, compute, mesh).spec[0];
  std::int64_t n = 1;
  for (auto& axis : batch)
    if (!stages.has(axis)) n *= mesh.axis_size(axis);
  return n;
}
}  // namespace

void check_group(const bora::training::MeshSettings& mesh, const Facts& facts) {
  check_rule_axes(mesh.rules.storage, "mesh.rules.storage", *facts.all.model);
  check_rule_axes(mesh.rules.compute, "mesh.rules.compute", *facts.all.model);
  check<ConfigError>(facts.all.elastic.max == 0 || mesh.shares.empty() || mesh.shares.automatic(),
                     "mesh.shares: an elastic job goes on with other ranks, whose shares are not known; set it to "
                     "auto, which measures them again");
  if (!facts.mesh) return;
  check<ConfigError>(!mesh.shares.automatic() || facts.mesh->size() == 1 || has_data_rows(facts),
                     "mesh.shares: auto measures how many rows the ranks of axis data take, but mesh ",
                     to_string(*facts.mesh), " does not split the batch over it");
  if (facts.purpose == "train" || facts.purpose == "eval") check_context(facts);
  check_parts(facts);
  check_stages(facts);
}
std::string stages_text(const Settings& s, const MeshShape& mesh) {
  auto n = mesh.parts(placement_of({{nn::kLayers, 1}}, mappings_of(s, mesh).compute, mesh).spec[0]);
  if (n == 1) return {};
  std::int64_t rows = s.batch / s.accumulate, m = s.mesh.microbatches;
  if (m == 0) m = nn::default_microbatches(rows, n, row_ranks(s, mesh));
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.3g", 100 * nn::pipeline_bubble(n, m));
  return "  pipeline: " + s.mesh.schedule + ", " + std::to_string(n) + " stages, " + std::to_string(m) +
         " microbatches of " + std::to_string(rows / m) + " rows; of the layers' time a rank waits " + percent + " %\n";
}
}  // namespace bora::job
