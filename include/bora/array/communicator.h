// communicator.h -- this thread's place in a mesh, and the service that moves bytes between its ranks.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "bora/array/mesh.h"
#include "bora/base/collective.h"

namespace bora {
/// Moves bytes between the ranks of a mesh, for collectives' eval rules. shard implements it over the transport.
class Communicator {
 public:
  class Handle {
   public:
    virtual ~Handle() = default;
    virtual void wait() = 0;
  };
  virtual ~Communicator() = default;
  /// Over this rank's group of `axes`; positions in the call are part numbers.
  virtual std::shared_ptr<Handle> start(const MeshAxes& axes, const CollectiveCall&) = 0;
  /// Every rank's text, in rank order.
  virtual std::vector<std::string> exchange(const std::string& mine, std::string_view what) = 0;
};
/// This thread's place in a mesh; mesh is null outside of one. in_blocks: inside shard_map, where values are this
/// rank's blocks.
struct Here {
  const MeshShape* mesh = nullptr;
  int rank = 0;
  Communicator* communicator = nullptr;
  bool in_blocks = false;
};
Here& here();  // of this thread
/// here().mesh, or a ShardError saying that `what` needs a mesh.
const MeshShape& this_mesh(std::string_view what);
}  // namespace bora
