#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include "bora/base/crc32c.h"
#include "files.h"
#include "manifest.h"

namespace fs = std::filesystem;
namespace bora::io {
Box block_of_rank(const Type& type, const Spec& spec, const MeshShape& mesh, int rank) {
  Box box;
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    bool split = d < spec.size() && !spec[d].empty();
    box.push_back(split ? block_of(type.shape[d], mesh.parts(spec[d]), mesh.part(rank, spec[d]))
                        : BlockRange{0, type.shape[d]});
  }
  return box;
}

namespace {
std::string rank_file(const std::string& folder, std::int64_t rank) { return folder + "/rank-" + std::to_string(rank); }
std::string temporary(const std::string& root, std::int64_t step) {
  return root + "/.step-" + std::to_string(step) + ".tmp";
}

/// Which of the ranks that hold the same block writes it: another one for each leaf, so that nobody writes everything.
int writer_of(const Leaf& leaf, std::size_t index, const Place& place) {
  MeshAxes free;
  for (auto& axis : place.mesh.axes)
    if (!leaf.spec.uses(axis.first)) free.push_back(axis.first);
  auto holders = place.mesh.group(place.rank, free);
  return holders[index % holders.size()];
}

/// This rank's file, and what the manifest says about it.
std::vector<StoredLeaf> write_blocks(const std::string& path, const std::vector<Leaf>& leaves, const Place& place) {
  std::vector<StoredLeaf> stored;
  auto file = File::create(path);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto& leaf = leaves[i];
    stored.push_back({leaf.path, leaf.type});
    StoredBlock block{block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank), place.rank, offset};
    block.bytes = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
    for (auto& range : block.box) block.bytes *= range.size();
    if (block.bytes == 0 || writer_of(leaf, i, place) != place.rank) continue;
    auto data = static_cast<const char*>(leaf.data);
    for (std::int64_t at = 0; at < block.bytes; at += kChunk) {
      auto n = std::min(kChunk, block.bytes - at);
      block.crc.push_back(crc32c(data + at, static_cast<std::size_t>(n)));
      file.write(data + at, n);
    }
    offset += block.bytes;
    stored.back().blocks.push_back(std::move(block));
  }
  file.sync();
  file.close();
  return stored;
}

/// A folder that is going away stops being a checkpoint first.
void remove_checkpoint(const std::string& root, const Checkpoint& c) {
  auto away = temporary(root, c.step);
  fs::remove_all(away);
  rename_folder(c.folder, away);
  fs::remove_all(away);
}

void remove_leftovers(const std::string& root) {
  std::vector<fs::path> found;
  for (auto& entry : fs::directory_iterator(root)) {
    auto name = entry.path().filename().string();
    if (name.starts_with(".step-") && name.ends_with(".tmp")) found.push_back(entry.path());
  }
  for (auto& path : found) fs::remove_all(path);
}

template <class F> std::string error_of(const F& f) {
  try {
    f();
    return {};
  } catch (const Error& e) { return e.what(); } catch (const fs::filesystem_error& e) {
    return e.what();
  }
}
}  // namespace

std::vector<Checkpoint> list_checkpoints(const std::string& root) {
  std::vector<Checkpoint> found;
  std::error_code error;
  for (auto& entry : fs::directory_iterator(root, error)) {
    auto name = entry.path().filename().string();
    std::int64_t step = 0;
    if (!name.starts_with("step-") || !entry.is_directory()) continue;
    std::from_chars(name.data() + 5, name.data() + name.size(), step);
    if (step >= 0 && name == "step-" + std::to_string(step)) found.push_back({step, entry.path().string()});
  }
  check<IoError>(!error || error == std::errc::no_such_file_or_directory, "cannot read ", root, ": ", error.message());
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.step < b.step; });
  return found;
}

std::optional<Checkpoint> newest_checkpoint(const std::string& root) {
  auto found = list_checkpoints(root);
  if (found.empty()) return std::nullopt;
  check<CheckpointError>(fs::exists(found.back().folder + "/manifest"), "checkpoint ", found.back().folder,
                         " is damaged: it has no manifest; remove the folder, or choose another out");
  return found.back();
}

std::string save_checkpoint(const std::string& root, std::int64_t step, const std::vector<Leaf>& leaves,
                            const Place& place, const std::map<std::string, std::string>& notes, std::int64_t keep) {
  const auto folder = root + "/step-" + std::to_string(step), unfinished = temporary(root, step);
  const bool first = place.rank == 0;
  auto on_first = [&](auto f) { return first ? error_of(f) : std::string(); };
  auto begin = on_first([&] {
    fs::create_directories(root);
    remove_leftovers(root);
    fs::create_directory(unfinished);
  });
  agree<IoError>(place, begin, "checkpoint: make its folder");

  std::string part;
  auto problem = error_of([&] { part = pack(write_blocks(rank_file(unfinished, place.rank), leaves, place)); });
  auto mine = problem.empty() ? "+" + part : "-checkpoint: rank " + std::to_string(place.rank) + ": " + problem;
  auto parts = place.exchange ? place.exchange(mine, "checkpoint: write blocks") : std::vector<std::string>{mine};
  for (auto& text : parts) {
    if (text.starts_with("+")) continue;
    on_first([&] { fs::remove_all(unfinished); });
    throw IoError(text.substr(1));
  }

  auto commit = on_first([&] {
    Manifest m{to_string(place.mesh), notes};
    for (auto& text : parts) {
      auto theirs = unpack(text.substr(1));
      if (m.leaves.empty()) m.leaves = std::move(theirs);
      else
        for (std::size_t i = 0; i < theirs.size(); ++i)
          for (auto& block : theirs[i].blocks) m.leaves[i].blocks.push_back(std::move(block));
    }
    write_manifest(unfinished + "/manifest", m);
    sync_folder(unfinished);
    // The same step once more, of a run that was set back: at every moment one of the two has the name.
    if (fs::exists(folder)) exchange_folders(unfinished, folder);
    else rename_folder(unfinished, folder);
    sync_folder(root);
    fs::remove_all(unfinished);
    auto all = list_checkpoints(root);
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i)
      if (all[i].step != step) remove_checkpoint(root, all[i]);
  });
  if (!commit.empty()) on_first([&] { fs::remove_all(unfinished); });
  agree<IoError>(place, commit, "checkpoint: commit");
  return folder;
}
}  // namespace bora::io
