// remote.h -- the ranks of another machine: ssh starts `bora agent` there, which reads the job from its stdin and
// reports events of ranks on its stdout. It ends the ranks and all their processes when its stdin closes: no signal
// needs to reach the other machine.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>
#include "hosts.h"
#include "launch/ranks/messages.h"
#include "launch/api/ranks.h"
#include "liveness.h"

namespace bora::launch {
/// The variables that ranks on other machines get from the launcher: BORA_*, OMP_*, GOMP_*, LC_*, MALLOC_*, ONEDNN_*,
/// PATH, LD_LIBRARY_PATH, LD_PRELOAD, LANG, TZ, the sanitizers' options, and the given names. Not the variables that
/// the launcher sets itself.
std::vector<std::string> environment_for_ranks(char** environment, const std::vector<std::string>& names);

/// The words that start ssh: those of `command` (split at spaces), or ssh. A program called ssh gets options: no
/// questions, 10 s to connect, end after 9 s of silence from the other machine.
std::vector<std::string> ssh_words(const std::string& command);

class RemoteRanks final : public Ranks {
 public:
  /// Starts `ssh HOST exec AGENT agent`, or what reaches the host instead of ssh. Throws ConfigError if no process can
  /// be made.
  RemoteRanks(const Host&, const Reach& ssh, const std::string& agent);
  ~RemoteRanks() override;
  RemoteRanks(const RemoteRanks&) = delete;
  RemoteRanks& operator=(const RemoteRanks&) = delete;

  const Host& host() const { return host_; }
  bool ready() const { return ready_; }                    // the agent has answered
  const std::string& failure() const { return failure_; }  // not empty: why the agent is missing or started nothing
  bool refuses() const { return refuses_; }  // bora has answered, and said that failure
  /// A free host:port there, at the address at which the launcher reached it, or of its interface; may be empty.
  const std::string& address() const { return address_; }
  /// Starts the ranks, once ready, with these variables (NAME=VALUE) in this folder; again, for the next generation of
  /// an elastic job, as LocalRanks::regroup does it.
  void start(const RanksToStart&, const std::vector<std::string>& environment, const std::string& folder,
             const std::vector<int>& kept);

  void add_files(std::vector<::pollfd>&) const override;
  void serve(RankEvents&) override;
  bool running() const override;
  bool connected() const { return ssh_ > 0; }
  /// A rank of another host misses this one; if it runs here, the host is lost after a shorter silence.
  void miss(int rank);
  std::vector<int> waiting() const override;
  void tell(Message, std::string_view payload) override;
  void end_silent() override;
  void signal(int) override;
  void end() override;

 private:
  void send(Message type, std::string_view payload);
  void flush();
  void take_frames(RankEvents&);
  void closed(RankEvents&);
  Host host_;
  ::pid_t ssh_ = 0;
  int in_ = -1, out_ = -1, err_ = -1;  // the agent's stdin, stdout and ssh's stderr
  bool ready_ = false, ending_ = false, missed_ = false, refuses_ = false;
  Liveness liveness_ = {};  // of the agent
  Clock::time_point patience_ = {};  // while ending: when ssh itself is killed
  std::string to_send_ = {}, received_ = {}, said_ = {}, failure_ = {}, address_ = {};
  int first_ = 0, starts_ = -1;
  bool elastic_ = false;
  std::vector<bool> ended_ = {}, waits_ = {};  // of its ranks
};
}  // namespace bora::launch
