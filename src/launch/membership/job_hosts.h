// job_hosts.h -- the hosts of a job: those on which its ranks run, or could, and those that it lacks. Private.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "launch/api/launch.h"
#include "launch/membership/generation.h"
#include "launch/membership/joining_hosts.h"
#include "launch/membership/partition.h"
#include "launch/ranks/outputs.h"

namespace bora::launch {
/// Without hosts in the options all ranks run here, and `remote` is empty.
class JobHosts {
 public:
  JobHosts(const Options&, Partition&);
  std::vector<std::unique_ptr<RemoteRanks>> remote = {};
  JoiningHosts joining;

  /// The ranks with which an elastic job goes on, if it gets so many slots more; 0: too few are left.
  int fitting(int more = 0) const;
  int slots(int more = 0) const;
  /// After the time for it: why hosts cannot be used, in a line; empty: all have answered.
  std::string problems() const;
  /// Goes on without those of which this is true, and tries them again.
  void leave_out(const std::function<bool(const RemoteRanks&)>& which,
                 std::chrono::seconds pause = std::chrono::seconds(1));
  /// Goes on without hosts that are to be left alone since attempts before this one.
  void leave_out_pausing();
  /// Goes on without a host whose ranks live but have not met those of others, if the rest is enough.
  void leave_out_cut_off();
  /// Goes on without places on which new ranks could not begin, beside others that go on: hosts, or slots of this one.
  /// Where the rest is not enough they are tried again, ever later: the time before which no rank is to start.
  Clock::time_point leave_out_unable(Generation&, const std::vector<Outputs::Line>& errors);
  /// True, once, when slots of this host that were left out may be tried again.
  bool slots_are_back();

 private:
  bool enough_without(const std::string& name) const;
  void go_without(const std::string& name, std::chrono::seconds pause, std::string_view why = Partition::kReason);
  const Options& options_;
  Partition& partition_;
  int missing_here_ = 0;               // slots of this host that are left out
  Clock::time_point back_ = {};        // when they may be tried again
  int unable_ = 0;                     // generations in a row that could not begin
};
}  // namespace bora::launch
