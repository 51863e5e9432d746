// apart.h -- hosts whose ranks live, and answer their launcher, but do not reach the others': the cable between them is
// cut, or a firewall stands there. Private.
#pragma once
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bora::launch {
class Apart {
 public:
  /// An epoch begins; its ranks are named in order.
  void begin();
  void has(const std::string& host_of_rank) { hosts_.push_back(host_of_rank); }
  void reached() { got_further_ = true; }
  /// The rank has left the epoch, and misses another one; -1: it does not know which. Itself: it cannot meet anybody,
  /// which its host's network is to blame for.
  void misses(int rank, int lost);
  /// The host that those of the most others miss, of several the last one, if the epoch made no step; else none.
  std::string host() const;
  /// How long the job goes on without it before it is tried again: half a minute, then ever longer.
  std::chrono::seconds pause(const std::string& host);
  /// The part of that pause still to come, also for ranks that begin again; 0: none.
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
