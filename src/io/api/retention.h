// retention.h -- which checkpoints of a run stay. The rule is a function of steps, times and numbers; where the folders
// are is the caller's matter. Below it are the folders of one root.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>
#include "bora/io/checkpoint.h"

namespace bora::io {
/// What stays, as a union: the `last` newest ones (at least kLeast); the first one at or after each multiple of `every`
/// steps; the first one, and then one whenever so many `hours` have gone by; the n best by a number.
struct Keep {
  std::int64_t last = 2, every = 0;  // every: 0 for none
  double hours = 0;                  // 0: none
  struct Best {
    std::string metric = {};
    bool max = false;    // the largest numbers are the best, else the smallest
    std::int64_t n = 0;  // 0: none
  } best = {};
};
/// Newest checkpoints that always stay: the newest one may turn out to be damaged.
inline constexpr std::int64_t kLeast = 2;
/// A checkpoint as the rule sees it.
struct Kept {
  std::int64_t step = 0;
  double time = 0;                              // at which it was made, in seconds since 1970
  std::map<std::string, double> metrics = {};   // that were measured at this step
  bool pinned = false;
};
/// Why each of them stays: words of "pinned last every hours best", with blanks between; empty for one that goes.
/// `all`: whole checkpoints by rising step. What has gone never changes a later answer about what is still there.
std::vector<std::string> why_they_stay(const Keep&, const std::vector<Kept>& all);

/// A folder with this file is never removed.
inline constexpr std::string_view kPinned = "PINNED";
/// The note of a manifest that retention reads: lines "VALUE NAME".
inline constexpr std::string_view kMetricsNote = "metrics";
/// A note of checkpoints whose files lie on several hosts.
inline constexpr std::string_view kLocalNote = "local";
std::string metrics_note(const std::map<std::string, double>&);

/// A folder step-<n> below a root.
struct SeenCheckpoint {
  std::string folder;
  Kept kept = {};
  std::int64_t bytes = 0;      // of the files that are here
  std::int64_t elsewhere = 0;  // files that other hosts have (kLocalNote)
  std::string mesh = {};       // that wrote it
  std::string problem = {};    // empty: it is whole as far as its manifest and the sizes of its files tell
};
/// All of them by rising step; ones that are removed meanwhile are left out. Throws IoError if `root` cannot be read.
std::vector<SeenCheckpoint> look_at_checkpoints(const std::string& root);

/// Removes root/step-<step>: it is renamed first, so that a half-removed one is no checkpoint, also after a loss of
/// power. False: it is pinned, and stays. IoError, or the file system's error: it may stay under its other name, which
/// clean_checkpoints removes.
bool remove_checkpoint(const std::string& root, std::int64_t step);
/// IoError, among others where the checkpoint was removed at this moment.
void pin_checkpoint(const std::string& folder);
void unpin_checkpoint(const std::string& folder);

/// Of a whole checkpoint that is pinned and has lost its name, as where its step was written again: gives it its name
/// back, or step-<step>.pinned if another one has it. False: it is none. IoError.
bool rescue_pinned(const std::string& root, std::int64_t step, const std::string& path);

/// Steps that `retain` would remove once a checkpoint of step `coming` were there: what may go first where the disk is
/// full. Oldest first; never the newest kLeast that are whole now.
std::vector<std::int64_t> removable(const std::string& root, const Keep&, std::int64_t coming, double now);

struct Retained {
  std::vector<std::int64_t> removed = {};
  std::string problem = {};  // of the first one that could not be removed
};
/// Removes what Keep lets go of the checkpoints below `root` that are whole and not later than `committed`, which has
/// just been committed. Nothing is removed unless that one is whole. What is no whole checkpoint stays: it may be
/// somebody's. `check` is called before each removal; what it throws ends the call.
Retained retain(const std::string& root, const Keep&, std::int64_t committed, const std::function<void()>& check = {});
}  // namespace bora::io
