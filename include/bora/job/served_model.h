// served_model.h -- a model that was trained, on a mesh where it generates for many.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include "bora/job/forward.h"

namespace bora::models {
class Stepper;
}  // namespace bora::models
namespace bora::job {
struct TrainedRun;
/// The model of settings_to_generate() on the job's mesh, with its parameters: split over axis model, or, where axis
/// data has several ranks, a copy on each of them (generate/replicas.h). While it lives, the mesh in force on this
/// thread is that of the copy.
class ServedModel {
 public:
  /// Every rank calls it. Throws as find_checkpoint and read_parameters do, and ConfigError for several ranks along
  /// both axes.
  ServedModel(const TrainedRun&, const Settings&, const text::Tokenizer&, const Mesh&);
  ~ServedModel();
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;
  models::Stepper& stepper();
  /// This rank's copy, or, where there are no copies, stepper().
  models::Stepper& copy();
  std::int64_t replicas() const;     // of EngineOptions
  const std::string& folder() const;  // of the checkpoint
  /// Reads the newest checkpoint, or the files of this folder, into the parameters.
  void read(const std::string& folder);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::job
