#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include "base/api/file.h"
#include "io/api/retention.h"
#include "io/api/saving.h"
#include "io/api/stores.h"
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
    // On file systems without exchange the folder of a step that is saved again has this name for a moment.
    const bool moved = name.starts_with(".step-") && name.ends_with(".tmp.old");
    const auto place = moved ? name.substr(1, name.find('.', 1) - 1) : name;
    std::int64_t step = 0;
    if (!place.starts_with("step-") || !it->is_directory(no_folder)) continue;
    std::from_chars(place.data() + 5, place.data() + place.size(), step);
    if (step < 0 || place != "step-" + std::to_string(step)) continue;
    if (!moved || !fs::exists(fs::path(root) / place, no_folder)) found.push_back({step, it->path().string()});
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
    std::int64_t step = -1;
    std::from_chars(name.data() + std::string_view(".step-").size(), name.data() + name.size(), step);
    if (rescue_pinned(root, step, path.string())) continue;
    // Rename first: a stalled writer that wakes up can then no longer publish this folder.
    auto gone = name.ends_with(".gone") ? path : fs::path(path.string() + ".gone");
    if (gone != path && (fs::remove_all(gone, error), std::rename(path.c_str(), gone.c_str()) != 0)) gone = path;
    if (fs::remove_all(gone, error); error) stays = "cannot remove " + gone.string() + ": " + error.message();
  }
  return stays;
}

namespace {
/// Makes the checkpoint of the target, which `fill` writes in its unfinished folder on every rank, and removes older
/// ones. fill returns the parts of all ranks.
template <class F>
std::string publish(const saving::Target& target, const Place& place, const std::map<std::string, std::string>& notes,
                    std::int64_t keep, std::string* warning, const F& fill) {
  const bool leads = saving::leads(place), several = !place.stores.shared();
  auto on_leaders = [&](std::string_view what, const std::function<void()>& f) {
    agree<IoError>(place, what, [&] {
      if (leads) f();
    });
  };
  on_leaders("checkpoint: make its folder", [&] { saving::begin(target); });
  bool counts = false;  // it will be found when a run begins again
  try {
    std::vector<std::string> parts = fill();
    auto asked = target;
    // Here, so that the owner's error is thrown as it is.
    if (leads && target.owner.check) asked.owner.check();
    asked.owner.check = nullptr;
    if (several && !parts.empty()) {
      auto manifest =
          on_first(place, "checkpoint: its manifest", [&] { return saving::manifest(target, place, notes, parts); });
      on_leaders("checkpoint: prepare", [&] { saving::prepare(target, manifest); });
      parts.clear();
    }
    counts = several;
    on_leaders("checkpoint: commit", [&] { saving::commit(asked, place.mesh, notes, parts); });
  } catch (...) {  // a rank's error, or its loss
    if (leads && !counts) saving::drop(target);
    throw;
  }
  auto kept = leads ? saving::retain(target, keep) : "";
  if (warning && !kept.empty()) *warning = kept;
  return target.folder();
}
}  // namespace

std::string save_checkpoint(const std::string& root, std::int64_t step, const std::vector<Leaf>& leaves,
                            const Place& place, const std::map<std::string, std::string>& notes, std::int64_t keep,
                            std::string* warning, const FolderOwner& owner) {
  saving::Target target{root, step, owner};
  return publish(target, place, notes, keep, warning, [&] {
    auto parts =
        agree<IoError>(place, "checkpoint: write blocks", [&] { return saving::write(target, leaves, place); });
    if (!place.stores.shared()) {
      auto received = receive_copies(leaves, place);
      agree<IoError>(place, "checkpoint: write copies",
                     [&] { saving::write_copies(target, leaves, place, received); });
    }
    return parts;
  });
}
std::string link_checkpoint(const Checkpoint& c, const std::string& root, const Place& place, std::int64_t keep,
                            std::string* warning, const FolderOwner& owner) {
  saving::Target target{root, c.step, owner};
  return publish(target, place, {}, keep, warning, [&] {
    agree<IoError>(place, "checkpoint: link its files", [&] {
      if (saving::leads(place)) saving::link(c, target);
    });
    return std::vector<std::string>();
  });
}
}  // namespace bora::io
