// memory_checkpoint.h -- the state of a run in the memory of its ranks: an elastic job continues from it after a loss.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "bora/io/checkpoint.h"
#include "bora/tree/tree.h"

namespace bora {
class Mesh;
}  // namespace bora
namespace bora::training {
/// One process's share of the newest snapshots of a run: its own blocks, and a copy of those of another rank, on
/// another host if there is one. It outlives the mesh. With one rank lost, all blocks exist among the others.
///
/// A snapshot replaces the one before it once all ranks have both parts of it. Memory of a rank beside the state: four
/// times its share of the state while a snapshot is taken, twice otherwise (snapshot_bytes). Where the holder of a copy
/// has the same blocks itself, as with layout dp, it makes the copy, and nothing is sent.
class MemoryCheckpoint {
 public:
  /// Takes a snapshot of the state after `step`. All ranks. Throws RankLost: then the one before it is still there.
  void take(const Mesh&, std::int64_t step, tree::Node state, const std::string& note);

  struct Found {
    std::int64_t step = -1, groups = 0;
    std::string id = {};
    std::vector<int> owners = {};          // the rank that gives each part
    std::vector<std::vector<int>> holders = {};  // all ranks that hold it
    std::vector<std::int64_t> sizes = {};  // of the parts
    /// A line that says which newer snapshot has parts that are lost; empty: none has.
    std::string lost = {};
    bool whole() const { return step >= 0; }
  };
  /// The newest snapshot of which all parts are left among the processes of this mesh. All ranks.
  Found find(const Mesh&) const;
  /// Fills the state, split as it is, whatever mesh it was split over before; returns the snapshot's note. All ranks.
  /// Throws CheckpointError.
  std::string restore(const Mesh&, const Found&, tree::Node state);
  /// Gives the heirs, ranks of this mesh, those parts of the newest whole snapshot that none of them holds, before the
  /// others end. All ranks.
  void hand_over(const Mesh&, const std::vector<int>& heirs);
  void clear() { held_.clear(); }
  /// Of the parts in this process, now.
  std::int64_t bytes() const;

 private:
  struct Held {
    std::string id = {};  // the same on all ranks, of no other snapshot
    std::int64_t step = 0, groups = 0;
    int ranks = 0;
    std::string note = {};
    std::map<int, std::string> parts = {};  // of these ranks
  };
  const Held* find(const std::string& id) const;
  std::vector<Held> held_ = {};  // at most two
};

/// The most bytes that snapshots take on a rank, with `ranks_per_host` ranks on each host (0: all are on one): the
/// parts of one snapshot, and with `next` those of the next while it is taken. state: its types and Specs.
std::int64_t snapshot_bytes(const std::vector<io::Leaf>& state, const MeshShape&, int ranks_per_host, int rank,
                            bool next);
/// The rank that holds a copy of each rank's part: of the next host (the ranks of a host are those with one name) the
/// rank with the same place in it, or with one host the next rank.
std::vector<int> holders_of_copies(const std::vector<std::string>& host_of_rank);
}  // namespace bora::training
