// stores.h -- checkpoints on the disks of hosts that share no folder: what is said of them, and how their bytes move.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>
#include "bora/io/checkpoint.h"
#include "io/api/retention.h"

namespace bora::io {
/// A note of a manifest: a number that is higher in checkpoints that were written later. Beside it is kLocalNote: a
/// line for each folder, its host and the files that it has ("h1: 0 1 6 7").
inline constexpr std::string_view kOrder = "order";
/// 0 without the note.
std::int64_t order_of(const Manifest&);
/// A number for the note that is above all that this process has seen, and that of a clock of another host.
std::int64_t next_order();
void seen_order(std::int64_t);
/// The note kLocalNote of ranks with several folders.
std::string hosts_note(const Stores&);

/// Moves pieces of bytes between ranks in rounds, so that a rank has at most kMost bytes of them at a time, each way.
/// All ranks list the same pieces in the same order.
class Trade {
 public:
  static constexpr std::int64_t kMost = 64 << 20, kPiece = 16 << 20;  // kPiece: a good size for one
  explicit Trade(const Place&);
  /// give(char*) fills the piece on rank `from`, take(const char*) reads it on rank `to`: both in finish().
  template <class Give, class Take> void add(int from, int to, std::int64_t bytes, const Give& give, const Take& take) {
    auto round = round_for(from, to, bytes);
    if (from == place_.rank) given_[round].push_back({to, bytes, give});
    if (to == place_.rank) taken_[round].push_back({from, bytes, take});
  }
  /// Moves all. Where one of the functions throws an Error, the others go on, and its text is returned at the end.
  [[nodiscard]] std::string finish();

 private:
  struct Load {
    std::size_t round = 0;
    std::int64_t bytes = 0;  // in that round
  };
  struct Given {
    int to;
    std::int64_t bytes;
    std::function<void(char*)> fill;
  };
  struct Taken {
    int from;
    std::int64_t bytes;
    std::function<void(const char*)> read;
  };
  std::size_t round_for(int from, int to, std::int64_t bytes);
  void run(std::vector<Given>&, std::vector<Taken>&, std::string& problem);
  const Place& place_;
  std::vector<Load> out_, in_;  // of each rank
  std::size_t rounds_ = 0;
  std::map<std::size_t, std::vector<Given>> given_ = {};  // of each round
  std::map<std::size_t, std::vector<Taken>> taken_ = {};
};

/// The copies of other ranks' files that this rank writes (Stores::copier), of blocks that it has itself.
std::vector<int> copies_at_hand(const std::vector<Leaf>&, const Place&);
/// The bytes of the other copies, by their files, from the ranks that have the blocks. All ranks, on the thread that
/// may start collectives. Nothing is sent where all copies are at hand.
std::map<int, std::string> receive_copies(const std::vector<Leaf>&, const Place&);
/// The bytes of all files that the store of this rank gets.
std::int64_t bytes_of_store(const std::vector<Leaf>&, const Place&);

/// What one host's folder has of a checkpoint.
struct PartHere {
  std::int64_t step = 0, order = 0;
  std::string folder = {};  // its name below the root
  std::string id = {};       // the same for all parts of one save, and no other
  std::string hosts = {};    // the note kLocalNote
  std::set<std::int64_t> wanted = {}, here = {};  // files of the checkpoint; those here that are as long as in it
  std::string problem = {};  // of the manifest; then nothing but the step is known
  bool whole_with(const std::set<std::int64_t>& files) const;
};
/// Those below root, oldest step first.
std::vector<PartHere> parts_here(const std::string& root);
/// Those of saves that were cut off behind their manifest and in front of their name. All ranks had written by then.
std::vector<PartHere> unnamed_parts_here(const std::string& root);
/// Gives such a part its name, unless a newer one of this step has it. Its folder must be the caller's. IoError.
void name_part(const std::string& root, const PartHere&);
/// The bytes of the manifest file. CheckpointError.
std::string manifest_file(const std::string& folder);
/// Makes root/step-<step> with this manifest where there is none; one of another save is renamed first, and its new
/// name returned. IoError.
std::string adopt_manifest(const std::string& root, std::int64_t step, const std::string& manifest);
/// Compares files of a checkpoint here with the checksums of its manifest: every `of`-th from the `first`-th on.
/// Renames damaged ones to rank-<r>.damaged. Returns why, a line each; `good` gets the others.
std::vector<std::string> verify_part(const std::string& folder, int first, int of, std::set<std::int64_t>& good);
/// Collects a checkpoint whose files are in the folders of several hosts into to/step-<step> on rank 0, where it is
/// whole or absent. `from`: of this rank. All ranks. Returns the folder. Throws CheckpointError naming a file that
/// nobody has, ConfigError if the folder exists, IoError.
std::string gather_checkpoint(const Checkpoint& from, const std::string& to, const Place&);
}  // namespace bora::io
