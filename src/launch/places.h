// places.h -- which process gets which place in the next epoch of an elastic job. Private.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "launch.h"
#include "remote.h"

namespace bora::launch {
/// The host of the launcher may be 127.0.1.1 for it, as Debian's /etc/hosts says: others would not reach rank 0 there,
/// unless the options give their first host's address.
void put_last_who_is_here_only(const Options& options, std::vector<std::unique_ptr<RemoteRanks>>& hosts);
/// Rank 0's address on the host `first` of these, as the other hosts reach it: what the options give for their first
/// host, if that is it. Throws ConfigError.
std::string root_address(const Options& options, const std::vector<std::unique_ptr<RemoteRanks>>& hosts,
                         std::size_t first);
/// For each rank that a machine has in an epoch the waiting one of the last that it was, or -1: all that fit. `same`:
/// both have as many ranks; then a rank keeps its number where it can.
std::vector<int> kept(const RanksToStart& some, const Ranks* of, bool same);

/// An epoch in which processes for which there will be no place give what they hold to those for which there will be.
struct Handing {
  std::string heirs = {};        // of its ranks, which are all that wait, host by host
  std::vector<int> counts = {};  // of the hosts
  int ranks = 0;
  explicit operator bool() const { return !heirs.empty(); }
};
/// The one before an epoch of n ranks; none if all processes that wait have places, or none of them.
Handing handing(const std::vector<std::unique_ptr<RemoteRanks>>& hosts, int n);
}  // namespace bora::launch
