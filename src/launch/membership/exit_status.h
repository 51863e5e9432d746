// exit_status.h -- a job's exit code, and the line that says why, where ranks did not end well. Private.
#pragma once
#include <string>
#include <vector>
#include "launch/membership/generation.h"
#include "launch/ranks/outputs.h"

namespace bora::launch {
struct ExitStatus {
  int code = 0;           // 2: bad input; 86: a rank was lost; 130: the user interrupted the job
  std::string line = {};  // empty: none
};
/// The exit status of a job whose ranks `failed`, in the order noticed, at least one, ended by themselves and not with
/// 0. `errors`: their lines that are errors. interrupted: by the user.
ExitStatus exit_status_of(const std::vector<Rank>&, const std::vector<int>& failed,
                          const std::vector<Outputs::Line>& errors, bool interrupted);
}  // namespace bora::launch
