// saving.h -- a checkpoint in its parts: the folder, the blocks of each rank, the commit. Ranks may do them at
// different times and on other threads; none of these functions communicates. save_checkpoint is all of them in one.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include "bora/io/checkpoint.h"

namespace bora::io::saving {
/// A checkpoint that is to be.
struct Target {
  std::string root;
  std::int64_t step = 0;
  FolderOwner owner = {};
  std::string folder() const;      // its name: root/step-<step>
  std::string unfinished() const;  // where it is written
};
/// The rank that makes, commits and removes folders for all that see them.
inline bool leads(const Place& place) { return place.leads(); }
/// Shared with a thread that writes.
struct Progress {
  std::atomic<std::int64_t> bytes{0};  // written so far
  std::atomic<bool> given_up{false};   // set from outside: the writer is to end
};
/// What a writer says that was told to give up.
inline constexpr std::string_view kGivenUp = "the save was given up";

/// The leading rank, first: makes the unfinished folder; removes what interrupted saves left. Throws IoError or
/// filesystem_error.
void begin(const Target&);
/// Each rank, then: writes the blocks that `place` writes, durably. Returns their description for the manifest. Reads
/// nothing but the leaves' memory. Throws IoError naming the rank and the file.
std::string write(const Target&, const std::vector<Leaf>&, const Place& place, Progress* progress = nullptr);
/// Each rank, where hosts have folders of their own: writes the copies of other ranks' files that it keeps
/// (Stores::copier), of blocks that it has itself and `received` ones.
void write_copies(const Target&, const std::vector<Leaf>&, const Place&, const std::map<int, std::string>& received,
                  Progress* progress = nullptr);
/// The bytes of the manifest of what the ranks have written. In several folders it has notes of them (stores.h).
std::string manifest(const Target&, const Place&, const std::map<std::string, std::string>& notes,
                     const std::vector<std::string>& parts);
/// The leading ranks, where hosts have folders of their own, before the first of them commits: all write the same
/// manifest. From then on the checkpoint counts, if all files of it are found when a run begins again.
void prepare(const Target&, const std::string& manifest);
/// The leading rank, once all have written: THE COMMIT, the only place where a checkpoint gets its name. First the
/// owner is checked, after the folder was made and before it gets its name (FolderOwner). parts: what `write` returned
/// on each rank; empty for a folder that has its manifest (prepare, link). Throws what the check throws,
/// IoError, filesystem_error; then `drop` is due.
void commit(const Target&, const MeshShape&, const std::map<std::string, std::string>& notes,
            const std::vector<std::string>& parts);
/// The leading rank, instead: removes what was written. It never throws; what it cannot remove the next save does.
void drop(const Target&) noexcept;
/// The leading rank, instead of write on all: gives the files of a whole checkpoint second names in the unfinished
/// folder, or copies them.
void link(const Checkpoint& from, const Target&);
/// The leading rank, after the commit: removes all but the newest `keep` checkpoints (0: none), but not the one of the
/// target. Returns why one stays; normally empty.
std::string retain(const Target&, std::int64_t keep);
/// Whether a save failed because the disk, or what this user may have of it, is full.
bool lacks_space(std::string_view problem);
}  // namespace bora::io::saving
