#include "bora/job/served_model.h"
#include <optional>
#include "bora/array/mesh.h"
#include "bora/generate/replicas.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/stepper.h"
#include "bora/named/mapping.h"
#include "bora/shard/mesh.h"
#include "bora/transport/transport.h"
#include "bora/tree/node.h"
#include "job/placement.h"

namespace bora::job {
namespace {
std::int64_t ranks_along(const MeshShape& mesh, std::string_view axis) {
  return mesh.has(AxisName(axis)) ? mesh.axis_size(AxisName(axis)) : 1;
}
/// A mesh of this rank alone.
struct Alone {
  Mesh mesh = Mesh::over(transport::local(1).at(0),
                         {{std::string(mesh_axes::kData), 1}, {std::string(mesh_axes::kModel), 1}});
  UseMesh here{mesh};
  UseMapping split;
  explicit Alone(const Settings& s) : split(mappings_of(s, mesh.shape()).compute) {}
};
}  // namespace
struct ServedModel::State {
  const TrainedRun& words;
  const Settings& settings;
  const Mesh& all;
  std::string folder;
  std::optional<Alone> alone = {};
  std::unique_ptr<models::Stepper> own = {};
  std::unique_ptr<generate::Replicas> copies = {};

  const Mesh& mesh() const { return alone ? alone->mesh : all; }
};
ServedModel::ServedModel(const TrainedRun& words, const Settings& s, const text::Tokenizer& tokenizer, const Mesh& mesh)
    : state_(new State{words, s, mesh, find_checkpoint(words, mesh)}) {
  auto copies = ranks_along(mesh.shape(), mesh_axes::kData);
  check<ConfigError>(copies == 1 || copies == mesh.size(), "mesh: ", to_string(mesh.shape()),
                     ": copies of a model have one rank each; give data=", mesh.size(), " or model=", mesh.size());
  if (copies > 1) state_->alone.emplace(s);
  state_->own = stepper_of(s, tokenizer, state_->mesh().shape());
  if (copies > 1) state_->copies = std::make_unique<generate::Replicas>(*state_->own, mesh);
  read(state_->folder);
}
ServedModel::~ServedModel() = default;
models::Stepper& ServedModel::stepper() { return state_->copies ? *state_->copies : *state_->own; }
models::Stepper& ServedModel::copy() { return *state_->own; }
std::int64_t ServedModel::replicas() const { return state_->copies ? state_->all.size() : 1; }
const std::string& ServedModel::folder() const { return state_->folder; }
void ServedModel::read(const std::string& folder) {
  read_parameters(state_->own->parameters(), folder, state_->settings, state_->words, state_->mesh());
  state_->folder = folder;
}
}  // namespace bora::job
