// Trees as checkpoints: leaves as this rank's blocks, and back.
#include "bora/io/tree.h"
#include "bora/array/communicator.h"
#include "bora/io/parts.h"
#include <filesystem>
#include <limits>

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

void replace_leaves(tree::Node t, const std::string& below, const std::function<void(const std::vector<Leaf>&)>& read) {
  std::vector<Leaf> leaves;
  std::vector<NewBuffer> buffers;
  auto slots = tree::slots(t);
  std::erase_if(slots, [](auto& slot) { return !slot.leaf.defined(); });
  for (auto& slot : slots) {
    auto block = slot.leaf.get().type();
    leaves.push_back({path_of(below, slot.path), block, Spec::replicated(block.shape.size()), nullptr});
    if (here().mesh) {
      auto local = local_block(slot.leaf.get());
      block.shape = local.block.shape();
      leaves.back().spec = local.spec;
    }
    slot.leaf.set(Array());  // frees its memory before the new block is allocated
    buffers.push_back(new_buffer(block));
    leaves.back().data = buffers.back().data;
  }
  read(leaves);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    auto block = buffers[i].done();
    slots[i].leaf.set(here().mesh ? from_local_block(block, leaves[i].type.shape, leaves[i].spec) : block);
  }
}
void restore_leaves(tree::Node t, const std::string& folder, const Place& place, const std::string& below,
                    const Rename& rename) {
  replace_leaves(t, below, [&](auto& leaves) { restore_checkpoint(folder, leaves, place, below, rename); });
}

void save_leaves(tree::Node t, const std::string& folder) {
  auto place = place_here();
  std::string problem;
  try {
    if (place.rank == 0 && fs::exists(folder))
      for (auto& entry : fs::directory_iterator(folder))
        check<ConfigError>(
            entry.path().filename() == "step-0" || entry.path().filename().string().starts_with(".step-0."),
            "save_tree: ", folder, " holds something else (", entry.path().filename().string(),
            "); choose another folder");
  } catch (const Error& e) { problem = e.text(); } catch (const fs::filesystem_error& e) {
    problem = "save_tree: " + folder + ": " + e.code().message();
  }
  agree<ConfigError>(place, problem, "save_tree: look at the folder");
  Arrays keep;
  auto leaves = leaves_of(t, "", keep);
  save_checkpoint(folder, 0, leaves, place);
}

void load_leaves(tree::Node t, const std::string& folder, const std::string& below, const Rename& rename) {
  auto place = place_here();
  std::string found, problem;
  try {
    for (auto& root : {folder, folder + "/checkpoints"})
      if (auto newest = place.rank == 0 && found.empty() ? newest_checkpoint(root) : std::nullopt)
        found = newest->folder;
  } catch (const Error& e) { problem = e.text(); }
  agree<CheckpointError>(place, problem, "load_tree: find the checkpoint");
  // File systems may show ranks different states.
  if (place.exchange) found = place.exchange(found, "load_tree: which checkpoint")[0];
  restore_leaves(t, found.empty() ? folder : found, place, below, rename);
}
}  // namespace bora::io
