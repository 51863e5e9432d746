// partition.h -- hosts whose ranks live, and answer their launcher, but do not reach the others': the cable between
// them is cut, or a firewall stands there. Private.
#pragma once
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bora::launch {
class Partition {
 public:
  /// Begins a generation; `has` names its ranks' hosts in order.
  void begin();
  void has(const std::string& host_of_rank) { hosts_.push_back(host_of_rank); }
  void reached() { got_further_ = true; }
  /// `rank` left this generation because it cannot reach `lost` (-1: unknown; its own number: it reached nobody, so its
  /// host's network is at fault).
  void misses(int rank, int lost);
  /// The host that ranks of the most other hosts miss, the last of several; empty if the generation made a step.
  std::string host() const;
  /// How long the job goes on without the host before it tries it again: half a minute, then ever longer.
  std::chrono::seconds pause(const std::string& host);
  /// The rest of that pause, also where the job has begun again; 0: none.
  std::chrono::seconds left(const std::string& host) const;
  static constexpr std::string_view kReason = "its ranks and those of other hosts do not reach each other";
  static std::string text(const std::string& host, std::chrono::seconds pause, std::string_view why);

 private:
  std::vector<std::string> hosts_ = {};                     // of the ranks
  std::map<std::string, std::set<std::string>> misses_ = {};  // a host: those that miss it
  std::map<std::string, int> times_ = {};
  std::map<std::string, std::chrono::steady_clock::time_point> until_ = {};  // the end of a host's pause
  bool got_further_ = false;
};
}  // namespace bora::launch
