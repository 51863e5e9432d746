// Trees as checkpoints: leaves as this rank's blocks, and back.
#include "bora/io/tree.h"
#include <filesystem>
#include <sstream>
#include <utility>
#include "bora/array/communicator.h"
#include "io/api/boxes.h"
#include "io/api/parts.h"
#include "io/api/restore_slots.h"
#include "io/api/statics.h"
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
  MeshAxes all;
  for (auto& axis : h.mesh->axes) all.push_back(axis.first);
  return {*h.mesh, h.rank,
          [talk](const std::string& mine, std::string_view what) { return talk->exchange(mine, what); },
          [talk, all](const CollectiveCall& call) { talk->start(all, call)->wait(); }};
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

void restore_slots(const std::vector<tree::Slot>& slots, const std::vector<std::string>& from,
                   const std::string& folder, const Manifest& m, const Place& place) {
  std::vector<NewLeaf> made;
  std::vector<Dtype> dtypes;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    auto& leaf = slots[i].leaf;
    auto type = leaf.get().type();
    dtypes.push_back(type.dtype);
    type.dtype = m.find(from[i])->type.dtype;
    auto spec = here().mesh ? local_block(leaf.get()).spec : Spec::replicated(type.shape.size());
    leaf.set(Array());
    made.emplace_back(from[i], type, spec);
  }
  agree<CheckpointError>(place, "checkpoint: restore", [&] {
    std::vector<BoxToRead> boxes;
    for (auto& one : made)
      boxes.push_back({m.find(one.leaf.path), block_of_rank(one.leaf.type, one.leaf.spec, place.mesh, place.rank),
                       one.leaf.data});
    read_boxes(folder, boxes);
  });
  for (std::size_t i = 0; i < slots.size(); ++i) {
    auto x = made[i].done();
    slots[i].leaf.set(x.dtype() == dtypes[i] ? x : x.astype(dtypes[i]));
  }
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
void restore_some_leaves(tree::Node t, const std::string& folder, const Place& place, const std::string& below) {
  constexpr auto nowhere = "-";  // no leaf lies below it
  replace_leaves(t, below, [&](auto& leaves) { restore_checkpoint(folder, leaves, place, nowhere); });
}

namespace {
/// The archive of this tree's static values. ShardError: the ranks have different ones.
std::string agreed_statics(const std::vector<tree::ValueSlot>& slots, const Place& place) {
  auto all = agree(place, "save_tree: static values", [&] { return pack_statics(tree::write_values(slots)); });
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    auto first = unpack_statics(all[0]), other = unpack_statics(all[r]);
    std::size_t i = 0;
    while (i < first.parts.size() && i < other.parts.size() && first.names[i] == other.names[i] &&
           first.parts[i] == other.parts[i])
      ++i;
    auto of = [&](const tree::Value& v) {
      std::ostringstream text;
      if (i < v.parts.size()) text << v.names[i] << " = " << v.parts[i];
      else text << "no more";
      return text.str();
    };
    fail<ShardError>("save_tree: the ranks' static values differ: rank 0 has ", of(first), ", rank ", r, " has ",
                     of(other), "; a tree has the same ones on every rank, and Arrays for what differs");
  }
  return all[0];
}
void load_statics(const std::string& folder, const std::string& below, std::vector<tree::ValueSlot> slots) {
  auto stored = statics_of(folder, read_manifest(folder));
  if (!stored) return;
  for (auto& slot : slots) slot.path = joined(below, slot.path);
  if (!below.empty()) {
    auto all = std::exchange(*stored, {tree::Value::Kind::fields});
    for (std::size_t i = 0; i < all.names.size(); ++i) {
      if (all.names[i] != below && !all.names[i].starts_with(below + ".")) continue;
      stored->names.push_back(std::move(all.names[i]));
      stored->parts.push_back(std::move(all.parts[i]));
    }
  }
  try {
    tree::read_values(slots, *stored);
  } catch (const CheckpointError& e) { fail<CheckpointError>("checkpoint ", folder, ": ", e.text()); }
}
}  // namespace

void save_tree(tree::Node t, const StaticSlots& statics, const std::string& folder) {
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
  std::map<std::string, std::string> notes;
  if (statics) notes.emplace(kStatics, agreed_statics(*statics, place));
  save_checkpoint(folder, 0, leaves, place, notes);
}

void load_tree(tree::Node t, const StaticSlots& statics, const std::string& folder, const std::string& below) {
  auto place = place_here();
  // On one rank: file systems may show ranks different states.
  auto found = on_first<CheckpointError>(place, "load_tree: find the checkpoint", [&] {
    for (auto& root : {folder, folder + "/checkpoints"})
      if (auto newest = newest_checkpoint(root)) return newest->folder;
    return std::string();
  });
  if (found.empty()) found = folder;
  if (statics) agree<CheckpointError>(place, "load_tree: static values", [&] { load_statics(found, below, *statics); });
  restore_leaves(t, found, place, below);
}
}  // namespace bora::io
