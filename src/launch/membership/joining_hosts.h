// joining_hosts.h -- hosts that an elastic job lacks: the launcher tries ssh to each again until it answers, and starts
// processes there that compare themselves with the job's ranks before any of these hears of them. Private.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "launch/hosts/remote.h"
#include "launch/membership/partition.h"

namespace bora::launch {
/// ssh itself gives up sooner, unless another command replaces it.
inline constexpr auto kMostToConnect = std::chrono::seconds(60);

class JoiningHosts {
 public:
  JoiningHosts(const Reach& ssh, const std::string& agent, Partition& partition)
      : ssh_(ssh), agent_(agent), partition_(partition) {}
  /// Tries the host from now on: after the pause, then ever less often, at least twice a minute.
  void lack(const Host&, std::chrono::seconds pause = std::chrono::seconds(1));
  void add_files(std::vector<::pollfd>&) const;
  /// Begins attempts that are due, and ends those that have failed. A host on which a process could not begin is left
  /// out for a while, with a line on stderr that says why.
  void serve();
  int slots() const;        // of the hosts that have answered
  int ready_slots() const;  // of those whose processes wait for ranks
  /// Starts processes on each host that has answered, unless they were started; `start` returns their number.
  void prepare(const std::function<int(RemoteRanks&)>& start);
  /// Those whose processes wait for ranks, or with `all` every host that has answered.
  std::vector<std::unique_ptr<RemoteRanks>> take(bool all);

 private:
  /// What the processes of a host say before they have ranks.
  struct Candidates final : RankEvents {
    int begun = 0, wait = 0;
    std::string said = {}, failure = {};
    void printed(int, bool errors, std::string_view bytes) override;
    void ended(int, const Ending&) override;
    void left(int, int, const std::string&) override { ++wait; }
    void reached(std::int64_t) override {}
  };
  struct Missing {
    Host host;
    std::chrono::seconds pause;  // before the next attempt
    Clock::time_point next;      // of it, or the end of this one
    std::unique_ptr<RemoteRanks> attempt = {};
    Candidates candidates = {};
    bool here() const { return attempt && attempt->ready() && attempt->connected(); }
    bool ready() const { return here() && candidates.begun > 0 && candidates.wait == candidates.begun; }
  };
  void begin(Missing&);
  Reach ssh_;
  std::string agent_;
  Partition& partition_;
  std::vector<Missing> missing_ = {};
};
}  // namespace bora::launch
