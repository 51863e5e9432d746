#include "host.h"
#include <sys/timex.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include "base/api/cores.h"
#include "bora/base/text.h"

namespace bora::app::doctor {
namespace {
namespace fs = std::filesystem;
constexpr double kThrottledNote = 0.01, kThrottledProblem = 0.1;  // of the time
constexpr double kStealNote = 0.02, kStealProblem = 0.25;         // of all CPU time
constexpr double kPressureNote = 10;                              // percent of a minute
constexpr std::int64_t kLittleMemory = std::int64_t{1} << 30, kNoMemory = std::int64_t{256} << 20;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}
/// The first number behind a word in a file; `none` without it.
std::int64_t number_behind(const std::string& path, const std::string& word, std::int64_t none = -1) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(word)) continue;
    std::istringstream rest(line.substr(word.size()));
    std::int64_t n = 0;
    return rest >> n ? n : none;
  }
  return none;
}
/// The word in brackets: "always [madvise] never".
std::string chosen(const std::string& line) {
  auto from = line.find('['), to = line.find(']', from);
  return from == std::string::npos || to == std::string::npos ? line : line.substr(from + 1, to - from - 1);
}
std::string percent(double share) { return digits(100 * share) + " %"; }

void look_at_quota(const std::string& root, double cores, Findings& to) {
  auto limit = cgroup_limit(root);
  auto counters = host_counters(root);
  auto share = counters.periods > 0 ? static_cast<double>(counters.throttled_periods) /
                                          static_cast<double>(counters.periods) : 0.0;
  if (share > kThrottledProblem)
    to.note("throttled", "programs of this cgroup had used up their CPU time in " + percent(share) + " of all periods",
            "start fewer threads (threads=N), or ask for more CPU time");
  if (!std::isfinite(limit)) return to.ok("quota", "no limit of CPU time");
  auto text = "the cgroup allows CPU time of " + digits(limit) + " cores";
  const std::string more = "docker update --cpus N CONTAINER, or resources.limits.cpu of the pod";
  if (limit < 0.95) return to.problem("quota", text + ": a run stands still for a part of each period", more);
  if (limit < cores && std::abs(limit - std::round(limit)) > 0.05)
    return to.note("quota", text + ", which is no whole number: one thread more than fits is throttled",
                   "threads=" + std::to_string(static_cast<int>(limit)) + ", or " + more);
  to.ok("quota", text);
}
void look_at_numa(const std::string& root, Findings& to) {
  std::error_code error;
  int nodes = 0;
  std::string without;
  for (auto it = fs::directory_iterator(root + "/sys/devices/system/node", error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    auto name = it->path().filename().string();
    if (!name.starts_with("node") || first_line(it->path() / "cpulist").empty()) continue;
    ++nodes;
    auto memory = first_line(it->path() / "meminfo");  // "Node 0 MemTotal:  16 kB"
    auto at = memory.find("MemTotal:");
    if (at != std::string::npos && std::atoll(memory.c_str() + at + 9) == 0) without += " " + name;
  }
  if (!without.empty())
    to.note("numa", "CPUs of" + without + " have no memory of their own: every access is remote",
            "put a memory module at each processor, or bind ranks to the other nodes (numactl --cpunodebind)");
  if (nodes > 1) {
    auto n = std::to_string(nodes);
    to.note("numa", n + " nodes: threads of one process read the memory of the other nodes",
            "bora launch -n " + n + " -- train ..., which binds each rank to cores of one node");
    if (first_line(root + "/proc/sys/kernel/numa_balancing") == "1")
      to.note("balancing", "the kernel moves pages between NUMA nodes while ranks work",
              "sudo sysctl kernel.numa_balancing=0");
  } else if (without.empty()) to.ok("numa", "one node");
}
void look_at_governor(const std::string& root, const std::vector<int>& cpus, HostReport& to) {
  std::set<std::string> governors, drivers;
  bool saves = false;
  for (int cpu : cpus) {
    auto folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/";
    auto governor = first_line(folder + "scaling_governor");
    if (governor.empty()) continue;
    governors.insert(governor), drivers.insert(first_line(folder + "scaling_driver"));
    auto preference = first_line(folder + "energy_performance_preference");
    saves = saves || preference.starts_with("power") || preference == "balance_power";
  }
  if (governors.empty()) return to.ok("governor", "the frequency of CPUs is not controlled here (a virtual machine)");
  std::string names;
  for (auto& governor : governors) names += (names.empty() ? "" : ", ") + governor;
  to.facts["governor"] = names;
  const std::string repair = "sudo cpupower frequency-set -g performance";
  // With these drivers the hardware chooses the frequency, and "powersave" is the usual word.
  bool by_hardware = drivers.count("intel_pstate") + drivers.count("amd-pstate-epp") > 0;
  if (governors == std::set<std::string>{"performance"} || (by_hardware && !saves))
    return to.ok("governor", names);
  if (governors.count("powersave") + governors.count("userspace") > 0 && !by_hardware)
    return to.problem("governor", "CPUs run with '" + names + "', at their lowest frequency", repair);
  to.note("governor", "CPUs run with '" + names + "' and may be slow when a step begins", repair);
}
void look_at_huge_pages(const std::string& root, HostReport& to) {
  auto word = chosen(first_line(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  if (word.empty())
    return to.note("pages", "this kernel has no huge pages", "a kernel with CONFIG_TRANSPARENT_HUGEPAGE");
  to.facts["huge pages"] = word;
  if (word == "never")
    return to.note("pages", "huge pages are switched off: large arrays cost many page faults",
                   "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
  auto defrag = chosen(first_line(root + "/sys/kernel/mm/transparent_hugepage/defrag"));
  if (word == "always" && defrag == "always")
    return to.note("pages", "the kernel stops programs to collect huge pages (defrag: always)",
                   "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag");
  to.ok("pages", "huge pages on " + std::string(word == "always" ? "all memory" : "request"));
}
/// The soft limit, as /proc/self/limits has it; infinite where it is unlimited or unknown.
double soft_limit(const std::string& root, const std::string& name) {
  auto n = number_behind(root + "/proc/self/limits", name);
  return n < 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(n);
}
void look_at_limits(const std::string& root, Findings& to) {
  struct Limit {
    const char *name, *words, *repair;
    double note, problem;  // below these
  };
  constexpr double any = std::numeric_limits<double>::max(), mib = 1 << 20, gib = 1 << 30;
  bool fine = true;
  for (auto& l : {Limit{"Max open files", "open files", "ulimit -n 4096", 1024, 64},
                  Limit{"Max processes", "processes and threads", "ulimit -u 4096", 1024, 64},
                  Limit{"Max file size", "bytes in a file, checkpoints too", "ulimit -f unlimited", any, 64 * mib},
                  Limit{"Max address space", "bytes of addresses", "ulimit -v unlimited", any, gib},
                  Limit{"Max data size", "bytes of data", "ulimit -d unlimited", any, 256 * mib},
                  Limit{"Max cpu time", "seconds of CPU time, then a run is ended", "ulimit -t unlimited", any, 600}}) {
    auto n = soft_limit(root, l.name);
    if (n >= l.note) continue;
    fine = false;
    char number[32];
    std::snprintf(number, sizeof number, "%.0f", n);
    auto text = std::string("a process may have at most ") + number + " " + l.words;
    if (n < l.problem) to.problem("limits", text, l.repair);
    else to.note("limits", text, l.repair);
  }
  if (fine) to.ok("limits", "none that a run meets");
}
void look_at_memory(const std::string& root, HostReport& to) {
  auto free = free_memory(root);
  auto text = bytes_text(free.bytes) + " are free of " + bytes_text(free.all) + " (" + free.of + ")";
  const std::string repair = "ps -eo pid,rss,comm --sort=-rss | head, and end what is not needed";
  if (free.bytes < kNoMemory) to.problem("memory", text, repair);
  else if (free.bytes < kLittleMemory) to.note("memory", text, repair);
  to.facts["memory"] = std::to_string((free.all + (1 << 29)) >> 30) + " GiB";
  if (first_line(root + "/proc/sys/vm/overcommit_memory") == "2")
    to.note("overcommit", "the kernel refuses memory beyond a fixed limit, also while some is free",
            "sudo sysctl vm.overcommit_memory=0");
  auto swap = number_behind(root + "/proc/meminfo", "SwapTotal:", 0), left =
       number_behind(root + "/proc/meminfo", "SwapFree:", swap);
  if (swap > 0 && (swap - left) * 20 > swap)
    to.note("swap", bytes_text((swap - left) << 10) + " of programs' memory are in swap",
            "free memory, then: sudo swapoff -a && sudo swapon -a");
  else to.ok("swap", swap == 0 ? "there is none" : "nearly empty");
}
void look_at_load(const std::string& root, Findings& to) {
  auto online = 0;
  std::ifstream stat(root + "/proc/stat");
  for (std::string line; std::getline(stat, line);)
    online += line.starts_with("cpu") && line.size() > 3 && line[3] >= '0' && line[3] <= '9';
  auto load = std::atof(first_line(root + "/proc/loadavg").c_str());
  if (online > 0 && load > 0.5 * online)
    to.note("load", "in the last minute " + digits(load) + " programs at a time wanted the " + std::to_string(online) +
                        " CPUs of this host", "top, and end or move what else computes here");
  else to.ok("load", "other programs leave the CPUs alone");
  for (std::string kind : {"memory", "io"}) {
    auto line = first_line(root + "/proc/pressure/" + kind);  // "some avg10=0.00 avg60=12.00 ..."
    auto at = line.find("avg60=");
    auto share = at == std::string::npos ? 0 : std::atof(line.c_str() + at + 6);
    if (share > kPressureNote)
      to.note("pressure", "programs waited for " + std::string(kind == "io" ? "disks" : "memory") + " in " +
                              digits(share) + " % of the last minute",
              kind == "io" ? "iotop, and end or move what else writes here"
                           : "ps -eo pid,rss,comm --sort=-rss | head, and end what is not needed");
  }
}
void look_at_clock(const std::string& root, HostReport& to) {
  const auto folder = root + "/sys/devices/system/clocksource/clocksource0/";
  auto source = first_line(folder + "current_clocksource"), others = first_line(folder + "available_clocksource");
  if (source.empty()) return;
  to.facts["clock"] = source;
  if (source != "hpet" && source != "acpi_pm" && source != "jiffies" && source != "refined-jiffies")
    return to.ok("clock", source);
  for (std::string fast : {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen"})
    if ((" " + others + " ").find(" " + fast + " ") != std::string::npos)
      return to.problem("clock", "to read the time takes a microsecond or more (" + source + ")",
                        "echo " + fast + " | sudo tee /sys/devices/system/clocksource/clocksource0/"
                                         "current_clocksource");
  to.note("clock", "to read the time takes a microsecond or more (" + source + "), and the kernel trusts no other",
          "the kernel's option tsc=reliable, if the clocks of all CPUs run alike");
}
}  // namespace

void look_at_host(const std::string& root, const std::vector<int>& cpus, HostReport& to) {
  look_at_quota(root, static_cast<double>(cores_of(cpus, root).size()), to);
  look_at_numa(root, to);
  look_at_governor(root, cpus, to);
  look_at_huge_pages(root, to);
  look_at_limits(root, to);
  look_at_memory(root, to);
  look_at_load(root, to);
  look_at_clock(root, to);
  if (auto kernel = first_line(root + "/proc/sys/kernel/osrelease"); !kernel.empty()) to.facts["kernel"] = kernel;
}
void look_at_counters(const HostCounters& before, const HostCounters& after, double seconds, HostReport& to) {
  auto throttled = (after.throttled_s - before.throttled_s) / seconds;
  auto about = [&](double share, double note, double problem, const std::string& what, const std::string& text,
                   const std::string& repair) {
    if (share >= problem) to.problem(what, text, repair);
    else if (share >= note) to.note(what, text, repair);
  };
  about(throttled, kThrottledNote, kThrottledProblem, "throttled",
        "the cgroup's CPU time was used up in " + percent(std::min(throttled, 1.0)) + " of the time of this check",
        "start fewer threads (threads=N), or ask for more CPU time");
  auto all = after.all_s - before.all_s, steal = all > 0 ? (after.steal_s - before.steal_s) / all : 0;
  auto text = "a hypervisor gave " + percent(steal) + " of this machine's CPU time to others";
  about(steal, kStealNote, kStealProblem, "steal", text, "ask for cores of your own, or use another host");
  if (steal < kStealNote) to.ok("steal", "none to speak of");
  auto swapped = after.swapped_pages - before.swapped_pages;
  if (swapped > 0)
    to.note("swapping", std::to_string(swapped) + " pages were moved to or from swap during this check",
            "ps -eo pid,rss,comm --sort=-rss | head, and end what is not needed");
}
void look_at_clock_setting(HostReport& to) {
  ::timex t{};
  auto state = ::adjtimex(&t);
  if (state < 0) return;  // forbidden here
  if (state == TIME_ERROR && (t.status & STA_UNSYNC))
    to.note("date", "nothing sets the clock of this machine by others", "sudo timedatectl set-ntp true");
  else to.ok("date", "the clock is set by others");
}
}  // namespace bora::app::doctor
