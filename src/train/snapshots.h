// snapshots.h -- the state of a run in the memory of its ranks: an elastic job goes on from there after a loss.
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
/// What one process holds of the newest snapshots: its own blocks, and a copy of those of another rank, on another host
/// if there is one. It outlives the mesh. With one rank lost, all blocks exist among the others.
///
/// A snapshot takes the place of the one before it once all ranks have both parts of it. Memory of a rank beside the
/// state: four times its share of the state while one is taken, twice otherwise (snapshot_bytes). A copy of what its
/// holder has itself, as with layout dp, is made there, and only the others are sent.
class Snapshots {
 public:
  /// Of the state after `step`. All ranks. Throws RankLost: then the one before it is still there.
  void take(const Mesh&, std::int64_t step, tree::Node state, const std::string& note);

  struct Found {
    std::int64_t step = -1, groups = 0;
    std::string id = {};
    std::vector<int> owners = {};          // the rank that gives each part
    std::vector<std::vector<int>> holders = {};  // all ranks that hold it
    std::vector<std::int64_t> sizes = {};  // of the parts
    /// Of a newer snapshot whose parts are not all left: a line that says so.
    std::string lost = {};
    bool whole() const { return step >= 0; }
  };
  /// The newest snapshot of which all parts are left among the processes of this mesh. All ranks.
  Found find(const Mesh&) const;
  /// Fills the state, split as it is, whatever mesh it was split over before; returns the snapshot's note. All ranks.
  /// Throws CheckpointError.
  std::string restore(const Mesh&, const Found&, tree::Node state);
  /// Parts of the newest whole snapshot that none of these ranks holds are given to them, before the others end. All
  /// ranks.
  void hand_over(const Mesh&, const std::vector<int>& heirs);
  void clear() { held_.clear(); }

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

/// While it lives, runs on this thread take snapshots, every so many steps, and continue from the newest if there is
/// one.
class [[nodiscard]] UseSnapshots {
 public:
  UseSnapshots(Snapshots&, std::int64_t every);
  ~UseSnapshots();
  UseSnapshots(const UseSnapshots&) = delete;
  UseSnapshots& operator=(const UseSnapshots&) = delete;
  static Snapshots* current();  // null: none
  static std::int64_t every();

 private:
  Snapshots* saved_;
  std::int64_t saved_every_;
};
/// The most that snapshots take on a rank of hosts with so many ranks each (0: all ranks are on one): the parts of one,
/// and of the next while it is taken, if there is any. state: its types and Specs.
std::int64_t snapshot_bytes(const std::vector<io::Leaf>& state, const MeshShape&, int ranks_per_host, int rank,
                            bool next);
/// The rank that holds a copy of each rank's part: of the next host (the ranks of a host are those with one name) the
/// rank with the same place in it, or with one host the next rank.
std::vector<int> holders_of_copies(const std::vector<std::string>& host_of_rank);
}  // namespace bora::training
