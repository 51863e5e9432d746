// launch.h -- the ranks of a job as processes of this machine.
#pragma once
#include <string>
#include <vector>

namespace bora::app {
struct Launch {
  int ranks = 1;
  std::vector<std::string> command = {};  // what every rank runs: argv
  std::string log_dir = {};               // rank-<r>.log: everything rank r prints
  int max_restarts = 0;                   // after a rank was lost
  std::string root = {};                  // host:port of rank 0; empty: a free port of the loopback interface
  bool waits_passively = false;           // OMP_WAIT_POLICY=passive, unless it is set
  int secret = -1;                        // a descriptor of the job's secret that every rank inherits; -1: none
  double grace_s = 1.5;                   // what survivors of a failure get until they are ended
};
/// A descriptor of 32 random bytes in memory.
int make_secret();
/// The address rank 0 will listen on: `wanted` (host:port), or a free port of the loopback interface. Binding it here finds
/// a taken port before any rank starts. Throws ConfigError.
std::string choose_root(const std::string& wanted);
/// Starts the ranks with BORA_RANK, BORA_SIZE, BORA_ROOT (and BORA_LOCAL_RANK, BORA_LOCAL_SIZE, BORA_JOB) in their environment, waits, and
/// leaves no process behind, whatever happens: each rank has a process group of its own, and dies with the launcher.
/// Rank 0's output passes as it is, the others' with "[rank r] " before each line (with log_dir only in the log). Lines on stderr that
/// begin with "bora: " are errors: of all that the ranks print, one is shown, the first failed rank's.
/// SIGTERM and SIGINT are passed on for an orderly stop; a second one ends the ranks.
/// Returns the job's exit code: 0; 2 a rank reported bad input; 86 a rank was lost (one line on stderr names it); 130 interrupted.
/// Throws ConfigError if the port is taken or the logs cannot be written.
int launch(const Launch&);
}  // namespace bora::app
