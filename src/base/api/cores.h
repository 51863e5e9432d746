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
/// What has kept programs from their work, counted since this host, or the cgroup, was started.
struct HostCounters {
  std::int64_t periods = 0, throttled_periods = 0;  // of the cgroups of this process that have a quota
  double throttled_s = 0;                           // in which they had used it up
  double steal_s = 0, all_s = 0;                    // of all CPUs: taken by a hypervisor, in all
  std::int64_t swapped_pages = 0;                   // written to swap, or read from there
};
HostCounters host_counters(const std::string& root = "");
/// Threads worth starting: physical cores, at most the cgroup limit (rounded to the nearest integer); at least 1.
int usable_cores();
/// This process. What the system does not say is 0.
struct ProcessCounters {
  std::int64_t rss_bytes = 0;     // now
  std::int64_t major_faults = 0;  // pages that a disk was read for, so far
  double cpu_s = 0;               // of all threads, so far
  double mhz = 0;                 // now, of the CPU that this thread runs on
};
ProcessCounters process_counters(const std::string& root = "");
}  // namespace bora
