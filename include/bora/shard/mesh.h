// mesh.h -- ranks with named axes: processes of a job, or threads of this process.
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "bora/array/communicator.h"
#include "bora/array/array.h"

namespace bora {
namespace transport {
class Context;
}
/// The wires of an abstract mesh. Hosts hold ranks_per_host ranks each, side by side; 0: one host holds all.
struct MeshLinks {
  int ranks_per_host = 0;
  double bytes_per_s = 1.1e9, latency_s = 100e-6;  // between hosts; of a host each way
};
/// A rank's handle on a mesh. Copies share it; the rank leaves when the last copy is destroyed.
class Mesh {
 public:
  /// Joins the job that the environment describes (BORA_RANK, ..). One size may be -1. Alone every axis has size 1,
  /// with a warning if more is requested. `build`: compared across ranks when they meet. Throws ConfigError if sizes do
  /// not give the job's, TransportError.
  static Mesh from_environment(const std::vector<MeshAxis>& axes, const std::string& build = {});
  /// The same over a Context that has joined already.
  static Mesh over(std::shared_ptr<transport::Context> context, const std::vector<MeshAxis>& axes);
  static Mesh over(std::shared_ptr<transport::Context> context, const MeshShape& shape);
  /// Rank `rank` of a mesh without processes, of any size, to see what a Program would need there (as JAX's
  /// AbstractMesh). Under UseMesh operations give Arrays with types and Specs, but without numbers: reading them throws
  /// TraceError, and nothing is computed or sent. Throws ConfigError for sizes below 1 or a rank outside of it, and if
  /// ranks_per_host does not divide the ranks.
  static Mesh abstract(const std::vector<MeshAxis>& axes, const MeshLinks& links = {}, int rank = 0);
  static Mesh abstract(const MeshShape& shape, const MeshLinks& links = {}, int rank = 0);

  const MeshShape& shape() const;
  const MeshLinks* links() const;  // null unless the mesh is abstract
  int rank() const;
  int size() const { return shape().size(); }
  /// Every rank's text, in rank order; every rank must call this. Throws ShardError on an abstract mesh, as context().
  std::vector<std::string> exchange(const std::string& mine, std::string_view what) const;
  transport::Context& context() const;
  /// Meets the other ranks and leaves. Arrays of this mesh can no longer be read.
  void leave() const;

  struct State;
  const std::shared_ptr<State>& state() const { return state_; }
 private:
  explicit Mesh(std::shared_ptr<State> s) : state_(std::move(s)) {}
  std::shared_ptr<State> state_;
};
/// Runs f on as many threads as the mesh has ranks, each with its mesh in force. They share this process's cores.
/// Rethrows the first failure after all have ended: one rank's failure ends the others.
void local_mesh(const std::vector<MeshAxis>& axes, const std::function<void(const Mesh&)>& f);
void local_mesh(const MeshShape& shape, const std::function<void(const Mesh&)>& f);

/// While it lives, constraints, named rules and random draws on this thread refer to this mesh. Throws TraceError
/// inside of transforms.
class [[nodiscard]] UseMesh {
 public:
  [[nodiscard]] explicit UseMesh(const Mesh&);
  ~UseMesh();
  UseMesh(const UseMesh&) = delete;
  UseMesh& operator=(const UseMesh&) = delete;
 private:
  std::shared_ptr<Mesh::State> state_;
  std::unique_ptr<Within> within_;
  Here saved_;
};
}  // namespace bora
