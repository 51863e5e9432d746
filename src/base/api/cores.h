// cores.h -- the resources of this process: physical cores by NUMA node, and the CPU time that cgroups allow.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bora {
/// A physical core with its usable hardware threads.
struct Core {
  int node;
  std::vector<int> cpus;
};
/// The cores of these CPUs, ordered by NUMA node, then by first CPU, so that blocks of the list are neighbours. A CPU
/// without topology information is a core of its own. root: the parent folder of /sys, for tests.
std::vector<Core> cores_of(const std::vector<int>& cpus, const std::string& root = "");
/// CPUs of this thread's affinity mask; empty if the system does not report it.
std::vector<int> allowed_cpus();
/// CPU time that the cgroups of this process allow, in cores: the least of all levels, versions 1 and 2; infinite
/// without a limit.
double cgroup_limit(const std::string& root = "");
/// Memory that is still free, of so much.
struct FreeMemory {
  std::int64_t bytes, all;
  std::string of;  // this host, or the cgroup with the least of it
};
/// The least of the host's and that of this process's cgroups, versions 1 and 2; pages of files count as free.
FreeMemory free_memory(const std::string& root = "");
/// Threads worth starting: physical cores, at most the cgroup limit (rounded to the nearest integer); at least 1.
int usable_cores();
}  // namespace bora
