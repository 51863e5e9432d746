// joining_hosts.h -- hosts that an elastic job lacks: the launcher tries ssh to each again until it answers. Private.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>
#include "launch/hosts/remote.h"

namespace bora::launch {
/// ssh itself gives up sooner, unless another command replaces it.
inline constexpr auto kMostToConnect = std::chrono::seconds(60);

class JoiningHosts {
 public:
  JoiningHosts(const Reach& ssh, const std::string& agent) : ssh_(ssh), agent_(agent) {}
  /// Tries the host from now on: after the pause, then ever less often, at least twice a minute.
  void lack(const Host&, std::chrono::seconds pause = std::chrono::seconds(1));
  void add_files(std::vector<::pollfd>&) const;
  void serve(RankEvents&);  // begins attempts that are due, and ends those that have failed
  int slots() const;        // of the hosts that have answered
  std::vector<std::unique_ptr<RemoteRanks>> take();  // these

 private:
  struct Missing {
    Host host;
    std::chrono::seconds pause;  // before the next attempt
    Clock::time_point next;      // of it, or the end of this one
    std::unique_ptr<RemoteRanks> attempt = {};
    bool here() const { return attempt && attempt->ready() && attempt->connected(); }
  };
  Reach ssh_;
  std::string agent_;
  std::vector<Missing> missing_ = {};
};
}  // namespace bora::launch
