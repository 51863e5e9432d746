// abstract.h -- what a Program needs on ranks that do not exist: types of blocks, and ranks that are alike.
#pragma once
#include <memory>
#include <vector>
#include "bora/shard/shard.h"

namespace bora {
class SplitLog;
/// The type of this rank's block of x; its own type outside of a mesh.
Type local_type(const Array& x);
/// Whether the mesh in force is abstract.
bool on_abstract_mesh();

/// While it lives, notes the splits on which the Programs that this thread partitions depend.
class SameSizes {
 public:
  SameSizes();
  ~SameSizes();
  SameSizes(const SameSizes&) = delete;
  SameSizes& operator=(const SameSizes&) = delete;
  /// The ranks of the mesh, those with blocks of equal sizes together: their Programs are equal. Ascending, rank 0's
  /// class first.
  std::vector<std::vector<int>> classes(const MeshShape&) const;

 private:
  std::unique_ptr<SplitLog> log_;
  SplitLog* saved_;
};
}  // namespace bora
