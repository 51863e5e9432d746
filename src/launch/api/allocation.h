// allocation.h -- the hosts that Slurm or Kubernetes has given to a job: a launch among them needs no file and no ssh.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "launch/hosts/hosts.h"

namespace bora::launch {
/// Hosts that know each other, and how the launcher runs a command on one.
struct Allocation {
  std::vector<Host> hosts;
  Reach reach;
  int connect_s = 60;  // hosts may come so much later than the launcher
  /// True in the later pods of Kubernetes: this process is to listen for the launcher, which is the job's first pod.
  bool listens = false;
};
/// The hosts that the launcher's environment describes:
/// - slurm: the nodes of the job, with a slot for each task that it has on a node; srun runs the commands. For a batch
///   script, or a shell of salloc.
/// - kubernetes: the pods of an indexed Job, a slot each, with the names of its headless service. Each runs the same
///   command: the first pod's is the launcher, the others listen (tunnel.h). `agent`: this program.
/// None for another word. Throws ConfigError if the environment is not of such a job.
std::optional<Allocation> allocation(const std::string& word, const std::string& agent);
/// A batch job of Slurm's that trains.
struct SlurmJob {
  std::string name = {}, folder = {};  // of the job; in which it runs
  std::string command = {};            // a line of the shell
  std::string out = {};                // folder of its run
  int ranks = 1;
  std::int64_t threads = 0;  // of each rank; 0: as Slurm gives them
  double seconds = 0;        // limit of its time; 0: the partition's
  bool elastic = false;      // it goes on when a node is lost
};
/// The script that sbatch takes. When its run was stopped (130) it requeues the job, unless that was cancelled or got
/// no further. Throws ConfigError for names that such a script cannot hold.
std::string slurm_script(const SlurmJob&);
/// The word, quoted where a shell would change it.
std::string in_shell(const std::string& word);
/// The names in a list of Slurm's: "r[1-2]n[01,03-04],gpu5". ConfigError.
std::vector<std::string> names_in(std::string_view list);
/// Slots of each node as Slurm writes them: "2(x3),1". ConfigError.
std::vector<int> counts_in(std::string_view list);
}  // namespace bora::launch
