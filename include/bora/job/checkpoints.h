// checkpoints.h -- the checkpoints of a run: looked at, compared, pinned and removed, also while the run goes on.
#pragma once
#include <string>
#include <vector>

namespace bora::job {
/// Does what the words say, and prints the result: none or `list`; `verify [STEP ..]`; `pin STEP`, `unpin STEP`, `rm
/// STEP`; `diff A B`, where each is a step of the run, or the folder of a checkpoint or of another run. `run`: the
/// folder of a run, or of checkpoints. Returns 0. Throws ConfigError for other words, steps that are not there, and a
/// removal that would leave no whole checkpoint or meets a pinned one; CheckpointError if `verify` finds a damaged one.
/// `gather`, on each rank of a job: makes `to`/step-N of the files that the ranks' hosts have, on the host of rank 0.
int checkpoints(const std::string& run, const std::vector<std::string>& words, const std::string& to = {});
}  // namespace bora::job
