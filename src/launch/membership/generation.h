// generation.h -- a generation of a job's ranks, as their launcher sees it. Private.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "launch/hosts/liveness.h"
#include "launch/api/ranks.h"

namespace bora::launch {
struct Rank {
  std::optional<Ending> ending = {};
  std::string host = {};  // empty: this host
  bool missed = false;    // by a rank that has left the generation because of it
  bool newcomer = false;  // a process that was started beside ranks that go on, until they make a step together
  /// The job cannot begin. A newcomer that cannot is a loss: others have what it lacks, a mounted folder for instance.
  bool bad_input() const { return ending && ending->code() == 2 && !newcomer; }
};
struct Generation {
  std::vector<Rank> ranks = {};
  std::vector<int> failed = {};  // in the order noticed
  std::string why = {};          // the loss, as the first rank said that left because of it
  std::optional<std::size_t> failed_before_kill = {};  // how many had failed when ranks that hang were killed
  std::optional<Clock::time_point> deadline = {};      // for the others, once a rank has left or failed
  int came = 0, wanted = 0;  // slots of hosts that have answered, and the ranks that the job would have with them
  int weighed = 0;  // slots of joining hosts, whose processes wait, that were found to change nothing, or enough
  bool lost() const { return !failed.empty() || !why.empty(); }
  Rank& rank(int r) { return ranks[static_cast<std::size_t>(r)]; }
};
}  // namespace bora::launch
