// local_settings.h -- local steps as settings: the group `local`, whose type says what replicas do when they meet.
#pragma once
#include "bora/array/mesh.h"
#include "bora/base/wire.h"
#include "bora/config/choice.h"

namespace bora::local {
struct Options;
}  // namespace bora::local
namespace bora::optim {
class Schedule;
}  // namespace bora::optim
namespace bora::training {
/// How replicas meet, in the settings. Its fields are in src/train/local_settings.cpp.
struct LocalKind : config::Chosen {
  static constexpr std::string_view initial = "none";
  virtual bool on() const { return true; }
  virtual std::int64_t replicas() const { return 0; }   // 0: as many as the mesh axis has ranks
  virtual std::int64_t fragments() const { return 1; }  // of the layers
  virtual std::int64_t every() const { return 0; }      // steps between meetings; 0: it is auto, or there are none
  virtual bool automatic() const { return false; }      // `every` is auto, until set_every()
  virtual std::int64_t least_every() const { return 1; }  // with which fragments and delay fit
  virtual void set_every(std::int64_t) {}
  virtual std::string link() const { return {}; }       // the network, for auto
  virtual Wire wire() const { return {}; }              // of a meeting
  /// rate: of the replicas' steps, for slowmo; last: the run's last step. Throws ConfigError if `every` is auto.
  virtual local::Options options(const optim::Schedule& rate, std::int64_t last) const = 0;
};
/// The number of replicas on this mesh; 0: training is synchronous. Throws ConfigError if the mesh has none, or if they
/// do not spread evenly over its axis replica.
std::int64_t replicas_of(const LocalKind&, const MeshShape&);
/// The same; also throws ConfigError if they do not divide the batch and its parts, where the mesh's rules do not give
/// each replica its own rows, or where `every` is auto and no network is between them.
std::int64_t check_local(const LocalKind&, const MeshShape&, const MeshAxes& batch_axes, std::int64_t batch,
                         std::int64_t accumulate);
}  // namespace bora::training
