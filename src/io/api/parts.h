// parts.h -- sharded state in memory: the blocks of one rank as one string, which any mesh can read. What checkpoint.h
// keeps in files.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>
#include "bora/io/checkpoint.h"
#include "bora/tree/tree.h"

namespace bora::io {
/// The blocks that this rank writes of a checkpoint, with what describes them and their checksums. Of the ranks that
/// hold a block, one has it in its part. The same paths, types and Specs on every rank.
std::string pack_part(const std::vector<Leaf>&, const Place&);
/// The bytes of those blocks on a rank; the leaves' data is not looked at.
std::int64_t part_bytes(const std::vector<Leaf>&, const MeshShape&, int rank);
/// Whether `rank` holds all blocks of the part of rank `of`, as where nothing is split: then pack_part for that place
/// gives the same part on it.
bool has_part_of(const std::vector<Leaf>&, const MeshShape&, int rank, int of);

/// The blocks of a part that one rank of another mesh needs, as a part.
class PartCut {
 public:
  /// `leaves` and `mesh` are those of the ranks that will read it, of which it is for `rank`; the leaves' data is not
  /// looked at. Throws CheckpointError if the part is damaged. The part must outlive it.
  PartCut(std::string_view part, const std::vector<Leaf>& leaves, const MeshShape& mesh, int rank);
  std::int64_t size() const { return size_; }
  std::string bytes() const;

 private:
  std::string head_ = {};
  std::vector<std::string_view> blocks_ = {};
  std::int64_t size_ = 0;
};

/// Fills leaves from the parts of all ranks that packed them, one after the other, in any order; or from what
/// PartCut leaves of them.
class PartsReader {
 public:
  /// `leaves` as for restore_checkpoint, on this rank of any mesh.
  PartsReader(const std::vector<Leaf>& leaves, const Place&);
  /// Copies what this rank holds of a part. Throws CheckpointError naming the leaf: damaged bytes, a leaf that is
  /// missing, unexpected, or of another shape or dtype.
  void read(std::string_view part);
  /// Throws CheckpointError naming the first leaf that the parts have not filled once.
  void finish() const;

 private:
  const std::vector<Leaf>& leaves_;
  std::vector<Box> wanted_ = {};
  std::vector<std::int64_t> filled_ = {};
};

/// Replaces every leaf of the tree, split as it was, by a block that `read` fills.
void replace_leaves(tree::Node, const std::string& below, const std::function<void(const std::vector<Leaf>&)>& read);
}  // namespace bora::io
