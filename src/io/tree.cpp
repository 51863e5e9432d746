// Trees as checkpoints: leaves as this rank's blocks, and back.
#include "bora/io/tree.h"
#include <filesystem>
#include "bora/array/communicator.h"
#include "io/api/parts.h"
#include "new_leaf.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::io {
namespace {
std::string joined(const std::string& below, const std::string& path) {
  return below.empty() || path.empty() ? below + path : below + "." + path;
}
/// A tree that is one Array has no path of its own.
constexpr std::string_view kSingleArray = "array";
std::string path_of(const std::string& below, const std::string& path) {
  auto name = joined(below, path);
  return name.empty() ? std::string(kSingleArray) : name;
}
}  // namespace

Place place_here() {
  auto& h = here();
  if (!h.mesh) return {};
  auto* talk = h.communicator;
  return {*h.mesh, h.rank,
          [talk](const std::string& mine, std::string_view what) { return talk->exchange(mine, what); }};
}

std::vector<Leaf> leaves_of(tree::Node t, const std::string& below, Arrays& keep) {
  std::vector<Leaf> leaves;
  for (auto& slot : tree::slots(t)) {
    if (!slot.leaf.defined()) continue;
    auto local = local_block(slot.leaf.get());
    leaves.push_back({path_of(below, slot.path),
                      {local.global_shape, local.block.dtype()},
                      local.spec,
                      const_cast<void*>(local.block.bytes())});
    keep.push_back(std::move(local.block));
  }
  return leaves;
}

NewLeaf::NewLeaf(const std::string& path, const Type& type, const Spec& spec) : leaf{path, type, spec} {
  auto& h = here();
  auto block = type;
  if (h.mesh) {
    auto box = block_of_rank(type, spec, *h.mesh, h.rank);
    for (std::size_t d = 0; d < box.size(); ++d) block.shape[d] = box[d].size();
  }
  buffer = new_buffer(block);
  leaf.data = buffer.data;
}
Array NewLeaf::done() {
  auto block = buffer.done();
  return here().mesh ? from_local_block(block, leaf.type.shape, leaf.spec) : block;
}
NewLeaf in_place_of(const tree::Slot& slot, const std::string& path) {
  auto type = slot.leaf.get().type();
  auto spec = here().mesh ? local_block(slot.leaf.get()).spec : Spec::replicated(type.shape.size());
  slot.leaf.set(Array());
  return {path, type, spec};
}

void replace_leaves(tree::Node t, const std::string& below, const std::function<void(const std::vector<Leaf>&)>& read) {
  auto slots = tree::slots(t);
  std::erase_if(slots, [](auto& slot) { return !slot.leaf.defined(); });
  std::vector<NewLeaf> made;
  std::vector<Leaf> leaves;
  for (auto& slot : slots) {
    made.push_back(in_place_of(slot, path_of(below, slot.path)));
    leaves.push_back(made.back().leaf);
  }
  read(leaves);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].leaf.set(made[i].done());
}
void restore_leaves(tree::Node t, const std::string& folder, const Place& place, const std::string& below) {
  replace_leaves(t, below, [&](auto& leaves) { restore_checkpoint(folder, leaves, place, below); });
}

void save_leaves(tree::Node t, const std::string& folder) {
  auto place = place_here();
  on_first<ConfigError>(place, "save_tree: look at the folder", [&] {
    std::error_code error;
    bool there = fs::exists(folder, error);
    fs::directory_iterator it;
    if (there) it = fs::directory_iterator(folder, error);
    check<ConfigError>(!error, "save_tree: ", folder, ": ", error.message());
    for (auto& entry : it)
      check<ConfigError>(
          entry.path().filename() == "step-0" || entry.path().filename().string().starts_with(".step-0."),
          "save_tree: ", folder, " holds something else (", entry.path().filename().string(),
          "); choose another folder");
  });
  Arrays keep;
  auto leaves = leaves_of(t, "", keep);
  save_checkpoint(folder, 0, leaves, place);
}

void load_leaves(tree::Node t, const std::string& folder, const std::string& below) {
  auto place = place_here();
  // On one rank: file systems may show ranks different states.
  auto found = on_first<CheckpointError>(place, "load_tree: find the checkpoint", [&] {
    for (auto& root : {folder, folder + "/checkpoints"})
      if (auto newest = newest_checkpoint(root)) return newest->folder;
    return std::string();
  });
  restore_leaves(t, found.empty() ? folder : found, place, below);
}
}  // namespace bora::io
