// launch.h -- runs a job's ranks as processes of this machine, or of others reached by ssh.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "launch/hosts/hosts.h"

namespace bora::launch {
/// A job that goes on after ranks were lost, with those that are left or with others.
struct Elastic {
  int min = 0, max = 0;  // ranks; 0: the job ends when a rank is lost
  /// The most ranks, at least min and at most so many, with which the job can run; 0 if there is no such number.
  std::function<int(int slots)> fitting = {};
  /// Ranks hold parts of the job's state that others may need: processes that get no rank in the next generation meet
  /// the others once more before they end.
  bool keeps = false;
  /// How far the job is, in words that change when it gets further.
  std::function<std::string()> progress = {};
};
struct Options {
  int ranks = 1;
  std::vector<std::string> command = {};    // argv of every rank
  std::function<std::vector<std::string>()> restarted = {};  // words added to it when ranks are started again
  std::string log_dir = {};                 // rank-<r>.log: everything rank r prints
  int max_restarts = 0;                     // after a rank was lost
  Elastic elastic = {};                     // instead; `hosts` may have more slots than ranks, as spares
  std::string root = {};  // host:port of rank 0; empty: a free port of the loopback interface, or of the first host
  double grace_s = 1.5;   // time that survivors of a failure have before they are killed
  // Other machines
  std::vector<Host> hosts = {};             // empty: all ranks run here
  std::string ssh = {};                     // command instead of ssh, with options
  Reach reach = {};                         // instead of both
  int connect_s = 60;                       // in which hosts must answer
  std::string agent = {};                   // this program's path on every host
  std::vector<std::string> variables = {};  // names of further environment variables to pass to ranks
};
/// Starts the ranks with BORA_RANK, BORA_SIZE, BORA_ROOT in their environment (and BORA_LOCAL_RANK, BORA_LOCAL_SIZE,
/// BORA_JOB, and in BORA_SECRET_FD the secret of BORA_SECRET_FILE or a new one), waits, and in every case leaves no
/// process behind, here or elsewhere: each rank has its own process group and dies with the launcher. On other machines
/// ranks run in this working directory, with the variables of `environment_for_ranks`.
/// Rank 0's output is passed on unchanged, other ranks' with "[rank r] " before each line (with log_dir only in the
/// log). Lines on stderr that begin with "bora: " are errors: of all these lines one is shown, the first failed rank's.
/// SIGTERM and SIGINT are passed on for an orderly stop (in an elastic job as SIGINT: SIGTERM takes single ranks away);
/// a second one kills the ranks. SIGUSR1 is passed on, by which ranks of `bora train` save and go on, and SIGUSR2, by
/// which ranks print which rank waits for which.
/// An elastic job goes on after each loss, with a line that says so, on the hosts that can still be reached, with
/// as many ranks as fit: processes that leave their generation (src/app/launcher_channel.h) get a rank in the next one,
/// others are started beside them, and if none is left the job starts again. Hosts that could not be reached, or were
/// lost, are tried again: once they answer, more ranks fit, and processes there have found that they may join, those of
/// the job leave their generation after a step, in order, and meet again with them. Where new ranks cannot begin beside
/// others, the job goes on without that host, or slot, for a while. It ends with 86 if fewer than its least number are
/// left, or if it was lost ten times without getting further: a new checkpoint, or a step beyond those made before.
/// Returns the job's exit code: 0; 2 a rank reported bad input; 86 a rank was lost (one line on stderr names it); 130
/// interrupted. Throws ConfigError if the port is taken, a host cannot be reached or the logs cannot be written.
int run(const Options&);
}  // namespace bora::launch
