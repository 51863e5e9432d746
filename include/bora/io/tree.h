// tree.h -- a tree of Arrays on disk in one line: save_tree("weights", model); model = load_tree("weights", model). The
// files are those of checkpoint.h: complete or absent, verified when read, and any mesh reads files of another mesh.
#pragma once
#include "bora/io/checkpoint.h"
#include "bora/shard/shard.h"
#include "bora/tree/tree.h"

namespace bora {
namespace io {
/// This process's place in the current mesh; a single rank without one.
Place place_here();
/// Leaves of a tree as this rank's blocks, below a path; `keep` holds their memory.
std::vector<Leaf> leaves_of(tree::Node, const std::string& below, Arrays& keep);
/// Replaces every leaf of the tree by its value in the checkpoint, split as the leaf was. As restore_checkpoint.
void restore_leaves(tree::Node, const std::string& folder, const Place&, const std::string& below = {});
void save_leaves(tree::Node, const std::string& folder);
void load_leaves(tree::Node, const std::string& folder, const std::string& below);
}  // namespace io
/// Writes the leaves of a tree into `folder`; replaces earlier contents atomically once everything is on disk. Numbers
/// and strings in the structs are not written. On a mesh every rank calls it and writes its own blocks. Throws IoError,
/// TraceError inside transforms, and ConfigError if `folder` holds something else.
template <class T> void save_tree(const std::string& folder, const T& tree) {
  io::save_leaves(tree::node(tree), folder);
}
/// `like` with the leaves that save_tree wrote, split as the leaves of `like`, whose numbers are ignored. `folder` may
/// also be a checkpoint or the folder of a run (its newest checkpoint), `below` a part of it: load_tree("runs/gpt",
/// model, "params"). Throws CheckpointError naming the first leaf that is missing, unexpected, damaged or of another
/// shape or dtype.
template <class T>
T load_tree(const std::string& folder, T like, const std::string& below = {}) {
  io::load_leaves(tree::node(like), folder, below);
  return like;
}
}  // namespace bora
