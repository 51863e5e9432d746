// host.h -- what of a machine slows a run down or ends it, as the kernel says it in /proc and /sys.
#pragma once
#include <string>
#include <vector>
#include "findings.h"

namespace bora {
struct HostCounters;
}  // namespace bora
namespace bora::app::doctor {
/// Settings and limits: quota, NUMA, governor, huge pages, limits, memory, swap, load, clock. cpus: those that this
/// process may use. root: the parent folder of /proc and /sys, for tests. Adds facts.
void look_at_host(const std::string& root, const std::vector<int>& cpus, HostReport&);
/// What happened while this process worked for so many seconds: throttling, steal, swapping.
void look_at_counters(const HostCounters& before, const HostCounters& after, double seconds, HostReport&);
/// Whether something sets this machine's clock. Not in a tree of files: a call of the system.
void look_at_clock_setting(HostReport&);
/// How fast this process multiplies f32 matrices and copies memory, with all its threads.
void measure_rates(HostReport&);
}  // namespace bora::app::doctor
