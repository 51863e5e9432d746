// verdict.h -- how a job ended whose ranks did not all end well: its exit code and the line that says why. Private.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "outputs.h"
#include "ranks.h"

namespace bora::launch {
struct Rank {
  std::optional<Ending> ending = {};
  std::string host = {};  // empty: this host
  bool missed = false;    // by a rank that has left the epoch because of it
  bool newcomer = false;  // a process that was started beside ranks that go on, until they make a step together
  /// The job cannot begin. A newcomer that cannot is a loss: others have what it lacks, a mounted folder for instance.
  bool bad_input() const { return ending && ending->code() == 2 && !newcomer; }
};
struct Verdict {
  int code = 0;           // 2: bad input; 86: a rank was lost; 130: the user interrupted the job
  std::string line = {};  // empty: none
};
/// Of a job of which the ranks `failed`, in the order noticed, at least one, ended by themselves and not with 0;
/// `errors` is their lines that are errors.
Verdict verdict_on(const std::vector<Rank>&, const std::vector<int>& failed, const std::vector<Outputs::Line>& errors,
                   bool interrupted);
}  // namespace bora::launch
