// checkpoint.h -- sharded state on disk. Every rank writes its own blocks into one file; a manifest lists where each
// block is. A checkpoint exists as a whole or not at all, and any mesh can read it: a rank reads only the bytes that
// overlap its own blocks.
//
//   ROOT/step-<n>/manifest     leaves (path, dtype, global shape) and their blocks (file, offset, CRC-32C of
//                              every 1 MiB); its own CRC
//   ROOT/step-<n>/rank-<r>     blocks, row-major, little-endian, one after the other
//
// Commit: files are written into ROOT/.step-<n>.tmp and synced, the manifest last, then the folder is renamed and ROOT
// is synced. A crash at any moment leaves earlier checkpoints untouched.
//
// Where the ranks' hosts share no folder, each has a ROOT of its own (Stores), with the whole manifest and those files
// that its ranks wrote: their own, and a second copy of those of another host.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/io/stores.h"

namespace bora {
struct CollectiveCall;
}
namespace bora::io {
/// One leaf of a tree on one rank: `data` is this rank's block of `type` under `spec`, contiguous, row-major.
struct Leaf {
  std::string path;
  Type type;
  Spec spec = {};
  void* data = nullptr;
};
// The block of an array that a rank holds: one range for each dimension.
using Box = std::vector<BlockRange>;
Box block_of_rank(const Type&, const Spec&, const MeshShape&, int rank);

/// This rank's place in the mesh. `exchange` gives every rank the texts of all ranks in rank order; empty for one rank.
struct Place {
  MeshShape mesh = {};
  int rank = 0;
  std::function<std::vector<std::string>(const std::string& mine, std::string_view what)> exchange = {};
  /// An all_to_all of bytes among all ranks, for files that are on other hosts; empty: each rank sees all files.
  std::function<void(const CollectiveCall&)> trade = {};
  Stores stores = {};  // that checkpoints are written into
  bool leads() const { return stores.leads(rank); }
};

struct StoredBlock {  // where a file has a block of a leaf
  Box box;
  std::int64_t file = 0, offset = 0, bytes = 0;  // file: the rank that wrote it
  std::vector<std::uint32_t> crc = {};           // of every 1 MiB
};
struct StoredLeaf {  // a leaf as a checkpoint has it
  std::string path;
  Type type;
  std::vector<StoredBlock> blocks = {};
};
struct Manifest {    // a checkpoint's list of leaves, and the notes of its writer
  std::string mesh;  // the mesh that wrote it, for people
  std::map<std::string, std::string> notes = {};
  std::vector<StoredLeaf> leaves = {};
  const StoredLeaf* find(const std::string& path) const;
};

struct Checkpoint {  // a whole one: its folder is root/step-<step>
  std::int64_t step = 0;
  std::string folder;
};
/// Checkpoints below `root`, oldest first, without remains of a crash. One whose place was to be taken by a save that
/// was interrupted counts, under the name that it has meanwhile. Throws IoError if `root` cannot be read.
std::vector<Checkpoint> list_checkpoints(const std::string& root);
/// The checkpoint to continue from, if any. Throws CheckpointError if its manifest is damaged, of another step than the
/// folder's name (a copy), or gone: no code writes a folder step-<n> without one, and a run that ignored the folder
/// would begin again and overwrite its contents.
std::optional<Checkpoint> newest_checkpoint(const std::string& root);
// The newest intact checkpoint, and why later ones are damaged. Compares every byte with its checksum.
struct GoodCheckpoint {
  std::optional<Checkpoint> checkpoint = {};
  std::vector<std::pair<Checkpoint, std::string>> damaged = {};  // newest first
};
GoodCheckpoint good_checkpoint(const std::string& root);
/// Removes remains of an interrupted save or removal below `root`, and undoes an interrupted exchange. Any writer of
/// `root` may call it. Returns the remains that could not be removed, and why; normally empty.
std::string clean_checkpoints(const std::string& root);

/// The process that owns a folder of checkpoints, where another one may take the folder over. The successor first makes
/// `check` throw in the old owner, then calls clean_checkpoints; after that the old owner cannot publish a checkpoint.
struct FolderOwner {
  std::string name = {};             // unique, and the same on all ranks: a part of unfinished folders' names
  std::function<void()> check = {};  // called on rank 0; save_checkpoint throws there what it throws
};

/// Writes root/step-<step> and returns its path, then removes checkpoints older than the `keep` newest (0: none) that
/// have no file PINNED; if one cannot be removed it stays, and `warning` says so on rank 0. The manifest's notes
/// include the step. Of the ranks that hold a block, one writes it. Every rank calls it with the same paths, types and
/// Specs; either all return or all throw the same error, in which case nothing is left behind. Throws IoError (disk
/// full, not writable), naming file and rank. With Stores of several folders each of them gets the checkpoint, and the
/// note "order" (a number: later ones are higher) tells which of two is the newer one.
std::string save_checkpoint(const std::string& root, std::int64_t step, const std::vector<Leaf>& leaves,
                            const Place& place, const std::map<std::string, std::string>& notes = {},
                            std::int64_t keep = 2, std::string* warning = nullptr, const FolderOwner& = {});
/// The same of a whole checkpoint that exists: its files get second names (hard links), or are copied where the file
/// system has none.
std::string link_checkpoint(const Checkpoint&, const std::string& root, const Place& place, std::int64_t keep = 2,
                            std::string* warning = nullptr, const FolderOwner& = {});

/// The manifest of a checkpoint. Throws CheckpointError if there is none or it is damaged.
Manifest read_manifest(const std::string& folder);
/// CheckpointError naming the first leaf that is missing, unexpected, or of another shape or dtype. Ignores Specs.
void check_leaves(const std::string& folder, const Manifest&, const std::vector<Leaf>& wanted,
                  const std::string& subtree = {});
/// Fills every leaf's `data` from the checkpoint, whatever mesh wrote it. Strict: check_leaves must hold. Reads only
/// the parts of files that overlap this rank's blocks, and verifies them. All ranks return or all throw the same error.
/// Throws CheckpointError naming the leaf whose bytes are damaged or missing. subtree: only leaves below this path
/// count, such as "params" of a training state. Files that this rank's folder lacks come from ranks that have them
/// (Place::trade).
void restore_checkpoint(const std::string& folder, const std::vector<Leaf>& leaves, const Place& place,
                        const std::string& subtree = {});
/// Reads everything and compares every checksum. Throws CheckpointError as restore_checkpoint. Returns the bytes read.
std::int64_t verify_checkpoint(const std::string& folder);

/// Gathers bytes: this rank gives n, `out` receives counts[r] bytes from each rank r in turn. Empty for a single rank.
using GatherBytes =
    std::function<void(const void* in, std::int64_t n, void* out, const std::vector<std::int64_t>& counts)>;
/// SHA-256 over the global numbers of every leaf as f32, little-endian, leaves ordered by path: 64 hexadecimal digits,
/// the same on every rank and for every mesh. At most 16 MiB of numbers are in memory at a time. Every rank must call
/// it. DtypeError for keys.
std::string digest_leaves(std::vector<Leaf> leaves, const Place& place, const GatherBytes& gather);
}  // namespace bora::io
