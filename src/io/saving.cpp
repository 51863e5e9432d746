#include "io/api/saving.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include "base/api/crc32c.h"
#include "base/api/file.h"
#include "base/api/streamed_file.h"
#include "blocks.h"
#include "io/api/retention.h"
#include "io/api/stores.h"
#include "manifest.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::io::saving {
std::string Target::folder() const { return root + "/step-" + std::to_string(step); }
std::string Target::unfinished() const {
  return root + "/.step-" + std::to_string(step) + (owner.name.empty() ? "" : "." + owner.name) + ".tmp";
}
void begin(const Target& t) {
  make_folders(t.root);
  auto unfinished = t.unfinished();
  if (!t.owner.check) clean_checkpoints(t.root);
  else fs::remove_all(unfinished);  // the rest may be of a successor that has taken the folder over
  check<IoError>(fs::create_directory(unfinished), "cannot remove ", unfinished,
                 ", which an interrupted save has left");
}
std::string write(const Target& t, const std::vector<Leaf>& leaves, const Place& place, Progress* progress) {
  auto stored = blocks_of(leaves, place);
  auto problem = error_of([&] {
    std::int64_t bytes = 0;
    for (auto& leaf : stored)
      for (auto& block : leaf.blocks) bytes += block.bytes;
    StreamedFile file(t.unfinished() + "/rank-" + std::to_string(place.rank), bytes);
    for (std::size_t i = 0; i < leaves.size(); ++i)
      for (auto& block : stored[i].blocks)
        for (std::int64_t at = 0; at < block.bytes; at += kChunk) {
          auto data = static_cast<const char*>(leaves[i].data) + at;
          auto n = std::min(kChunk, block.bytes - at);
          block.crc[static_cast<std::size_t>(at / kChunk)] = crc32c(data, static_cast<std::size_t>(n));
          file.append(data, n);
          if (!progress) continue;
          progress->bytes += n;
          check<IoError>(!progress->given_up, kGivenUp);
        }
    file.finish();
  });
  check<IoError>(problem.empty(), "checkpoint: rank ", place.rank, ": ", problem);
  return pack(stored);
}
void write_copies(const Target& t, const std::vector<Leaf>& leaves, const Place& place,
                  const std::map<int, std::string>& received, Progress* progress) {
  for (auto rank : copies_at_hand(leaves, place)) (void)write(t, leaves, {.mesh = place.mesh, .rank = rank}, progress);
  auto problem = error_of([&] {
    for (auto& [rank, bytes] : received) {
      auto size = static_cast<std::int64_t>(bytes.size());
      StreamedFile file(t.unfinished() + "/rank-" + std::to_string(rank), size);
      for (std::int64_t at = 0; at < size; at += kChunk) {
        auto n = std::min(kChunk, size - at);
        file.append(bytes.data() + at, n);
        if (!progress) continue;
        progress->bytes += n;
        check<IoError>(!progress->given_up, kGivenUp);
      }
      file.finish();
    }
  });
  check<IoError>(problem.empty(), "checkpoint: rank ", place.rank, ": ", problem);
}
namespace {
Manifest manifest_of(const Target& t, const MeshShape& mesh, const std::map<std::string, std::string>& notes,
                     const std::vector<std::string>& parts) {
  Manifest m{to_string(mesh), notes};
  m.notes["step"] = std::to_string(t.step);
  for (auto& text : parts) {
    auto theirs = unpack(text);
    if (m.leaves.empty()) m.leaves = std::move(theirs);
    else
      for (std::size_t i = 0; i < theirs.size(); ++i)
        for (auto& block : theirs[i].blocks) m.leaves[i].blocks.push_back(std::move(block));
  }
  return m;
}
}  // namespace
std::string manifest(const Target& t, const Place& place, const std::map<std::string, std::string>& notes,
                     const std::vector<std::string>& parts) {
  auto m = manifest_of(t, place.mesh, notes, parts);
  if (!place.stores.shared()) {
    m.notes[std::string(kOrder)] = std::to_string(next_order());
    m.notes[std::string(kLocalNote)] = hosts_note(place.stores);
  }
  return manifest_bytes(m);
}
void prepare(const Target& t, const std::string& manifest) {
  auto unfinished = t.unfinished();
  write_file(unfinished + "/manifest", manifest);
  sync_folder(unfinished);
}
void commit(const Target& t, const MeshShape& mesh, const std::map<std::string, std::string>& notes,
            const std::vector<std::string>& parts) {
  if (t.owner.check) t.owner.check();
  auto unfinished = t.unfinished(), folder = t.folder();
  if (!parts.empty()) write_manifest(unfinished + "/manifest", manifest_of(t, mesh, notes, parts));
  sync_folder(unfinished);
  // The same step again, of a run that was set back: at every moment one of the two has the name.
  if (fs::exists(folder)) exchange_folders(unfinished, folder);
  else rename_folder(unfinished, folder);
  sync_folder(t.root);
}
void drop(const Target& t) noexcept {
  std::error_code ignored;
  try {
    // After a commit that failed behind the exchange of two folders it is the one of before.
    if (!rescue_pinned(t.root, t.step, t.unfinished())) fs::remove_all(t.unfinished(), ignored);
  } catch (...) {}  // no memory for the name
}
namespace {
/// A second name for a file; a copy where the file system gives it none.
void link_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (!error) return;
  fs::copy_file(from, to);
  File::open(to.string()).sync();
}
}  // namespace
void link(const Checkpoint& from, const Target& t) {
  for (auto& file : fs::directory_iterator(from.folder))
    if (auto name = file.path().filename(); name != kPinned) link_file(file.path(), fs::path(t.unfinished()) / name);
}
std::string retain(const Target& t, std::int64_t keep) {
  auto problem = error_of([&] {  // the new checkpoint is safe, whatever happens to old ones
    if (!rescue_pinned(t.root, t.step, t.unfinished())) fs::remove_all(t.unfinished());
    if (keep == 0) return;
    auto all = list_checkpoints(t.root);
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i)
      if (all[i].step != t.step) remove_checkpoint(t.root, all[i].step);
  });
  return problem.empty() ? problem : "an old checkpoint stays: " + problem;
}
bool lacks_space(std::string_view problem) {
  for (auto reason : {ENOSPC, EDQUOT})
    if (problem.find(std::strerror(reason)) != problem.npos) return true;
  return false;
}
}  // namespace bora::io::saving
