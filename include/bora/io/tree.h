// tree.h -- a tree on disk in one line: save_tree("weights", model); model = load_tree("weights", model). Its Arrays
// and static values are kept. The files are those of checkpoint.h: complete or absent, verified when read, and any
// mesh reads files of another mesh.
#pragma once
#include "bora/io/checkpoint.h"
#include "bora/shard/shard.h"
#include "bora/tree/stored.h"

namespace bora {
namespace io {
/// This process's place in the current mesh; a single rank without one.
Place place_here();
/// Leaves of a tree as this rank's blocks, below a path; `keep` holds their memory.
std::vector<Leaf> leaves_of(tree::Node, const std::string& below, Arrays& keep);
/// Replaces every leaf of the tree by its value in the checkpoint, split as the leaf was. As restore_checkpoint.
void restore_leaves(tree::Node, const std::string& folder, const Place&, const std::string& below = {});
/// The same where the checkpoint may have other leaves.
void restore_some_leaves(tree::Node, const std::string& folder, const Place&, const std::string& below = {});
using StaticSlots = std::optional<std::vector<tree::ValueSlot>>;            // static values; none: they are ignored
void save_tree(tree::Node, const StaticSlots&, const std::string& folder);  // save_tree without the tree's type
/// load_tree without the tree's type.
void load_tree(tree::Node, const StaticSlots&, const std::string& folder, const std::string& below);
}  // namespace io
/// Whether files keep the static values of a tree: numbers, texts, enums, Axes and containers of them; structs of one's
/// own that are static, and classes with cereal's functions (bora/io/cereal.h).
enum class Statics : std::uint8_t { keep, ignore };
inline constexpr auto ignore = Statics::ignore;  // beside `using namespace std`, which has one too: Statics::ignore
struct SaveTreeOptions {                         // of save_tree
  Statics statics = Statics::keep;               // whether static values are written
};
struct LoadTreeOptions {            // of load_tree
  Statics statics = Statics::keep;  // ignore: those of `like` stay
  std::string below = {};           // the path of the part of the folder's tree that `like` is
};
/// Writes the Arrays and static values of a tree into `folder`; replaces earlier contents atomically once everything is
/// on disk. On a mesh every rank calls it and writes its own blocks. Throws IoError, TraceError inside transforms,
/// ConfigError if `folder` holds something else, ValueError naming a static value whose type cannot be written, and
/// ShardError naming one that is not the same on all ranks.
template <class T> void save_tree(const std::string& folder, const T& tree, const SaveTreeOptions& options = {}) {
  io::StaticSlots statics;
  if (options.statics != ignore) statics = tree::value_slots(const_cast<T&>(tree));
  io::save_tree(tree::node(tree), statics, folder);
}
/// The tree that save_tree wrote, with the structure of `like` and split as its leaves; numbers in `like` are ignored.
/// Containers without Arrays get the lengths that were written; others must have them. An integer is read into any
/// integer type that holds it, a floating number into any that has its bits, an enum by its number. Static values that
/// were not written (with {.statics = ignore}, or by a version before they were kept) stay those of `like`. `folder`
/// may also be a checkpoint or the folder of a run (its newest checkpoint), `below` a part of it: load_tree("runs/gpt",
/// model, "params"). Throws CheckpointError naming the first leaf or static value that is missing, unexpected, damaged
/// or of another type.
template <class T> T load_tree(const std::string& folder, T like, const LoadTreeOptions& options) {
  io::StaticSlots statics;
  if (options.statics != ignore) statics = tree::value_slots(like);
  io::load_tree(tree::node(like), statics, folder, options.below);
  return like;
}
template <class T> T load_tree(const std::string& folder, T like, const std::string& below = {}) {
  return load_tree(folder, std::move(like), LoadTreeOptions{.below = below});
}
}  // namespace bora
