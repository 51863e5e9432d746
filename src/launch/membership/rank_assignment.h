// rank_assignment.h -- which process gets which rank in the next generation of an elastic job. Private.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "launch/hosts/remote.h"
#include "launch/api/launch.h"

namespace bora::launch {
/// Moves hosts that resolve to a loopback address to the end, so that the others reach rank 0's address; Debian's
/// /etc/hosts names the launcher's own host so. The first host stays where the options give its address.
void move_loopback_hosts_last(const Options& options, std::vector<std::unique_ptr<RemoteRanks>>& hosts);
/// Rank 0's address on the host `first` of these, as the other hosts reach it: what the options give for their first
/// host, if that is it. Throws ConfigError.
std::string root_address(const Options& options, const std::vector<std::unique_ptr<RemoteRanks>>& hosts,
                         std::size_t first);
/// For each rank of a machine in the next generation the waiting rank of the last one whose process gets it, or -1 for
/// a new process. `same`: both generations have as many ranks; then a process keeps its rank where it can.
std::vector<int> kept(const RanksToStart& some, const Ranks* of, bool same);

/// A generation in which processes that get no rank in the next one give what they hold to those that do.
struct HandOver {
  std::string heirs = {};        // its ranks that have one in the next: "0,2"; its ranks are all processes that wait
  std::vector<int> counts = {};  // ranks on each host
  int ranks = 0;
  explicit operator bool() const { return !heirs.empty(); }
};
/// The one before a generation of n ranks; empty if all processes that wait get ranks in that, or none of them.
HandOver hand_over(const std::vector<std::unique_ptr<RemoteRanks>>& hosts, int n);
}  // namespace bora::launch
