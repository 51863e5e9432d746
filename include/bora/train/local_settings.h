// local_settings.h -- local steps as settings: the group `local`, whose type says what replicas do when they meet.
#pragma once
#include "bora/config/choice.h"
#include "bora/train/local.h"

namespace bora::training {
/// How replicas meet, in the settings. Its fields are in src/train/local_settings.cpp.
struct LocalKind : config::Chosen {
  static constexpr std::string_view initial = "none";
  virtual bool on() const { return true; }
  virtual std::int64_t replicas() const { return 0; }  // 0: as many as the mesh axis has ranks
  /// rate: of the replicas' steps, for slowmo; last: the run's last step.
  virtual local::Options options(const optim::Schedule& rate, std::int64_t last) const = 0;
};
/// The number of replicas on this mesh; 0: training is synchronous. Throws ConfigError if the mesh has none, or if they
/// do not spread evenly over its axis replica.
std::int64_t replicas_of(const LocalKind&, const MeshShape&);
/// The same; also throws ConfigError if they do not divide the batch and its parts, or where the mesh's rules do not
/// give each replica its own rows.
std::int64_t check_local(const LocalKind&, const MeshShape&, const MeshAxes& batch_axes, std::int64_t batch,
                         std::int64_t accumulate);
}  // namespace bora::training
