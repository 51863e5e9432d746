// stores.h -- the folders in which the ranks of a mesh keep checkpoints (checkpoint.h).
#pragma once
#include <iterator>
#include <string>
#include <vector>

namespace bora::io {
/// The folders in which ranks keep checkpoints: one that all of them see, or one on each host's own disk.
struct Stores {
  std::vector<int> leader = {};  // of each rank: the lowest rank that sees the same folder. Empty: all see one
  std::vector<int> copier = {};  // of each rank: who writes its file a second time, in another folder
  std::vector<std::string> hosts = {};  // of each rank, for people
  bool shared() const { return leader.empty(); }
  int folders() const {
    int n = 0;
    for (int r = 0; r < std::ssize(leader); ++r) n += leads(r) ? 1 : 0;
    return shared() ? 1 : n;
  }
  /// Whether this rank makes, renames and removes the folders in its store.
  bool leads(int rank) const { return shared() ? rank == 0 : leader[static_cast<std::size_t>(rank)] == rank; }
};
}  // namespace bora::io
