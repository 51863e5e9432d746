// cores.h -- what this process may compute on: physical cores, by NUMA node, and the time that cgroups leave it.
#pragma once
#include <string>
#include <vector>

namespace bora {
/// A physical core, with those of its hardware threads that may be used.
struct Core {
  int node;
  std::vector<int> cpus;
};
/// The cores behind these CPUs, ordered by NUMA node, then by their first CPU, so that blocks of the list are neighbours. CPUs of which
/// the system says nothing are cores of their own. root: where /sys is, for tests.
std::vector<Core> cores_of(const std::vector<int>& cpus, const std::string& root = "");
/// CPUs of this thread's affinity mask; empty where the system does not say.
std::vector<int> allowed_cpus();
/// Cores' worth of time that the cgroups of this process allow, the least of all levels, versions 1 and 2; infinite without a limit.
double cgroup_limit(const std::string& root = "");
/// Threads worth starting: physical cores, cut by cgroups (to the nearest number); at least 1.
int usable_cores();
}  // namespace bora
