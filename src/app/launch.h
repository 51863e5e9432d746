// launch.h -- a job's ranks as processes of this machine, or of others that ssh reaches.
#pragma once
#include <string>
#include <vector>
#include "hosts.h"

namespace bora::app {
struct Launch {
  int ranks = 1;
  std::vector<std::string> command = {};  // what every rank runs: argv
  std::vector<std::string> restarted = {};  // words that follow it in a job that is started again
  std::string log_dir = {};               // rank-<r>.log: everything rank r prints
  int max_restarts = 0;                   // after a rank was lost
  std::string root = {};                  // host:port of rank 0; empty: a free port of the loopback interface, or of the first host
  double grace_s = 1.5;                   // what survivors of a failure get until they are ended
  // Other machines
  std::vector<Host> hosts = {};             // empty: all ranks run here
  std::string ssh = {};                     // command instead of ssh, with options
  std::string agent = {};                   // this program's path on every host
  std::vector<std::string> variables = {};  // names of further environment variables that ranks get from here
};
/// Starts the ranks with BORA_RANK, BORA_SIZE, BORA_ROOT (and BORA_LOCAL_RANK, BORA_LOCAL_SIZE, BORA_JOB, and as BORA_SECRET_FD the
/// secret of BORA_SECRET_FILE or a new one) in their environment, waits, and leaves no process behind, here or elsewhere, whatever happens:
/// each rank has a process group of its own, and dies with the launcher. On other machines they run in this working directory, with the variables of
/// `environment_for_ranks`.
/// Rank 0's output passes as it is, the others' with "[rank r] " before each line (with log_dir only in the log). Lines on stderr that
/// begin with "bora: " are errors: of all that the ranks print, one is shown, the first failed rank's.
/// SIGTERM and SIGINT are passed on for an orderly stop; a second one ends the ranks. SIGUSR2 is passed on: who waits for whom?
/// Returns the job's exit code: 0; 2 a rank reported bad input; 86 a rank was lost (one line on stderr names it); 130 interrupted.
/// Throws ConfigError if the port is taken, a host cannot be reached or the logs cannot be written.
int launch(const Launch&);
}  // namespace bora::app
