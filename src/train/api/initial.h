// initial.h -- parameters of a new run from a checkpoint of another one: which leaf is read from which.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "bora/array/array.h"
#include "bora/tree/node.h"

namespace bora::training {
/// What may differ. By default nothing may.
struct InitialOptions {
  std::vector<std::string> only = {};  // patterns (selection.h) of the parameters that are read; empty: all
  std::vector<std::pair<std::string, std::string>> rename = {};  // regular expression in a stored path, what it becomes
  bool cast = false;               // numbers of another floating dtype are converted
  bool init_missing = false;       // a parameter that is not stored keeps its numbers
  bool ignore_unexpected = false;  // there may be stored leaves that no parameter takes
};
struct PathAndType {
  std::string path;
  Type type;
};
struct InitialPlan {
  struct Taken {
    std::string path, from;  // from: its path in the checkpoint
    Type stored;
    bool cast = false;
  };
  std::vector<Taken> taken = {};
  std::vector<std::string> initialised = {};  // parameters that keep their numbers
  std::vector<std::string> left = {};         // stored leaves that no parameter takes
  /// Lines to say: taken, cast, renamed, initialised, left.
  std::vector<std::string> said(const std::string& folder) const;
};
/// `stored`: the leaves of the checkpoint in `folder`, below its parameters. Throws CheckpointError naming the leaf:
/// one that is missing, unexpected, of another shape or dtype; two that get one name. ConfigError for a rename that is
/// no regular expression or changes no path, and a pattern that matches no parameter.
InitialPlan plan_initial(const std::vector<PathAndType>& parameters, const std::vector<PathAndType>& stored,
                         const std::string& folder, const InitialOptions&);

/// Where init_from leads, if to a run or a checkpoint: `run` has the settings, empty if there are none beside it;
/// `checkpoint` is named, or empty for the newest in `root`.
struct InitialPlace {
  std::string run = {}, root = {}, checkpoint = {};
  explicit operator bool() const { return !run.empty() || !checkpoint.empty(); }
};
/// RUN, RUN/checkpoints/step-<n>, or RUN/best. None for any other path.
InitialPlace initial_place(const std::string& path);
/// The place with its checkpoint named, which rank 0 finds: a run may go on. All ranks call it. CheckpointError.
InitialPlace settled(InitialPlace);
/// The plan for the checkpoint there; reads its manifest only. Throws as plan_initial, and CheckpointError if there is
/// no checkpoint, or one of adapters only.
InitialPlan plan_initial(const InitialPlace&, const std::vector<PathAndType>& parameters, const InitialOptions&);
/// Fills the parameters, split as they are. All ranks call it; returns lines to say.
std::vector<std::string> load_initial(tree::Node parameters, const InitialPlace&, const InitialOptions&);
}  // namespace bora::training
