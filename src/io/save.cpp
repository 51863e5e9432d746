#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include "base/api/crc32c.h"
#include "base/api/file.h"
#include "blocks.h"
#include "manifest.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::io {
Box block_of_rank(const Type& type, const Spec& spec, const MeshShape& mesh, int rank) {
  Box box;
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    bool split = d < spec.size() && !spec[d].empty();
    box.push_back(split ? mesh.block_of_rank(type.shape[d], spec[d], rank) : BlockRange{0, type.shape[d]});
  }
  return box;
}

namespace {
std::string rank_file(const std::string& folder, std::int64_t rank) { return folder + "/rank-" + std::to_string(rank); }
std::string temporary(const std::string& root, std::int64_t step, const std::string& owner) {
  return root + "/.step-" + std::to_string(step) + (owner.empty() ? "" : "." + owner) + ".tmp";
}

/// Writes this rank's file; returns its entries for the manifest.
std::vector<StoredLeaf> write_rank_file(const std::string& path, const std::vector<Leaf>& leaves, const Place& place) {
  auto file = File::create(path);
  auto stored = write_blocks(leaves, place, [&](std::int64_t at, const char* data, std::int64_t n) {
    file.write_at(at, data, n);
  });
  file.sync();
  file.close();
  return stored;
}

/// Renames the folder first, so that a half-removed one is no checkpoint.
void remove_checkpoint(const std::string& root, const Checkpoint& c, const std::string& owner) {
  auto away = temporary(root, c.step, owner);
  fs::remove_all(away);
  rename_folder(c.folder, away);
  fs::remove_all(away);
}

/// Throws CheckpointError if the manifest cannot be read or is of another step.
void check_step(const Checkpoint& c) {
  auto m = read_manifest(c.folder);
  auto note = m.notes.find("step");
  check<CheckpointError>(note == m.notes.end() || note->second == std::to_string(c.step), "checkpoint ", c.folder,
                         " is a copy of step ", note == m.notes.end() ? "" : note->second,
                         ", as its manifest says; give it that name, or move it away");
}
}  // namespace

std::vector<Checkpoint> list_checkpoints(const std::string& root) {
  std::vector<Checkpoint> found;
  std::error_code error, no_folder;
  fs::directory_iterator it(root, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    auto name = it->path().filename().string();
    std::int64_t step = 0;
    if (!name.starts_with("step-") || !it->is_directory(no_folder)) continue;
    std::from_chars(name.data() + 5, name.data() + name.size(), step);
    if (step >= 0 && name == "step-" + std::to_string(step)) found.push_back({step, it->path().string()});
  }
  check<IoError>(!error || error == std::errc::no_such_file_or_directory, "cannot read ", root, ": ", error.message());
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.step < b.step; });
  return found;
}

std::optional<Checkpoint> newest_checkpoint(const std::string& root) {
  auto found = list_checkpoints(root);
  if (found.empty()) return std::nullopt;
  std::error_code error;
  auto manifest = fs::symlink_status(found.back().folder + "/manifest", error);
  check<CheckpointError>(manifest.type() != fs::file_type::not_found, "checkpoint ", found.back().folder,
                         " is damaged: it has no manifest; remove the folder, or choose another out");
  check_step(found.back());
  return found.back();
}

GoodCheckpoint good_checkpoint(const std::string& root) {
  auto all = list_checkpoints(root);
  GoodCheckpoint r;
  for (auto c = all.rbegin(); c != all.rend() && !r.checkpoint; ++c) {
    auto why = error_of([&] {
      check_step(*c);
      verify_checkpoint(c->folder);
    });
    if (why.empty()) r.checkpoint = *c;
    else r.damaged.emplace_back(*c, why);
  }
  return r;
}

std::string clean_checkpoints(const std::string& root) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator it(root, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    auto name = it->path().filename().string();
    if (name.starts_with(".step-") &&
        (name.ends_with(".tmp") || name.ends_with(".tmp.old") || name.ends_with(".tmp.gone")))
      found.push_back(it->path());
  }
  check<IoError>(!error || error == std::errc::no_such_file_or_directory, "cannot read ", root, ": ", error.message());
  std::string stays;
  for (auto& path : found) {
    auto name = path.filename().string();
    auto place = root + "/" + name.substr(1, name.find('.', 1) - 1);
    // On file systems without exchange the old folder has no name for a moment.
    if (name.ends_with(".old") && !fs::exists(place, error)) {
      rename_folder(path, place);
      continue;
    }
    // Rename first: a stalled writer that wakes up can then no longer publish this folder.
    auto gone = name.ends_with(".gone") ? path : fs::path(path.string() + ".gone");
    if (gone != path && (fs::remove_all(gone, error), std::rename(path.c_str(), gone.c_str()) != 0)) gone = path;
    if (fs::remove_all(gone, error); error) stays = "cannot remove " + gone.string() + ": " + error.message();
  }
  return stays;
}

namespace {
/// Makes root/step-<step>, which `fill` writes in an unfinished folder on every rank, and removes older ones.
template <class F>
std::string publish(const std::string& root, std::int64_t step, const Place& place, std::int64_t keep,
                    std::string* warning, const FolderOwner& owner, const F& fill) {
  const auto folder = root + "/step-" + std::to_string(step), unfinished = temporary(root, step, owner.name);
  const bool first = place.rank == 0;
  on_first(place, "checkpoint: make its folder", [&] {
    make_folders(root);
    if (!owner.check) clean_checkpoints(root);
    else fs::remove_all(unfinished);  // the rest may be of a successor that has taken the folder over
    check<IoError>(fs::create_directory(unfinished), "cannot remove ", unfinished,
                   ", which an interrupted save has left");
  });
  try {
    auto parts = fill(unfinished);
    // After the folder was made, before it gets its name: see FolderOwner.
    if (first && owner.check) owner.check();
    on_first(place, "checkpoint: commit", [&] {
      if (parts) write_manifest(unfinished + "/manifest", *parts);
      sync_folder(unfinished);
      // The same step again, of a run that was set back: at every moment one of the two has the name.
      if (fs::exists(folder)) exchange_folders(unfinished, folder);
      else rename_folder(unfinished, folder);
      sync_folder(root);
    });
  } catch (...) {  // a rank's error, or its loss
    std::error_code ignored;
    if (first) fs::remove_all(unfinished, ignored);
    throw;
  }
  auto kept = error_of([&] {  // the new checkpoint is safe, whatever happens to old ones
    if (!first) return;
    fs::remove_all(unfinished);
    auto all = list_checkpoints(root);
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i)
      if (all[i].step != step) remove_checkpoint(root, all[i], owner.name);
  });
  if (warning && !kept.empty()) *warning = "an old checkpoint stays: " + kept;
  return folder;
}
/// A second name for a file; a copy where the file system gives it none.
void link_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (!error) return;
  fs::copy_file(from, to);
  File::open(to.string()).sync();
}
}  // namespace

std::string save_checkpoint(const std::string& root, std::int64_t step, const std::vector<Leaf>& leaves,
                            const Place& place, const std::map<std::string, std::string>& notes, std::int64_t keep,
                            std::string* warning, const FolderOwner& owner) {
  return publish(root, step, place, keep, warning, owner, [&](const std::string& unfinished) {
    auto parts = agree<IoError>(place, "checkpoint: write blocks", [&] {
      std::string part;
      auto problem = error_of([&] { part = pack(write_rank_file(rank_file(unfinished, place.rank), leaves, place)); });
      check<IoError>(problem.empty(), "checkpoint: rank ", place.rank, ": ", problem);
      return part;
    });
    std::optional<Manifest> m;
    if (place.rank != 0) return m;
    m = Manifest{to_string(place.mesh), notes};
    m->notes["step"] = std::to_string(step);
    for (auto& text : parts) {
      auto theirs = unpack(text);
      if (m->leaves.empty()) m->leaves = std::move(theirs);
      else
        for (std::size_t i = 0; i < theirs.size(); ++i)
          for (auto& block : theirs[i].blocks) m->leaves[i].blocks.push_back(std::move(block));
    }
    return m;
  });
}
std::string link_checkpoint(const Checkpoint& c, const std::string& root, const Place& place, std::int64_t keep,
                            std::string* warning, const FolderOwner& owner) {
  return publish(root, c.step, place, keep, warning, owner, [&](const std::string& unfinished) {
    on_first(place, "checkpoint: link its files", [&] {
      for (auto& file : fs::directory_iterator(c.folder)) link_file(file.path(), unfinished / file.path().filename());
    });
    return std::optional<Manifest>();
  });
}
}  // namespace bora::io
