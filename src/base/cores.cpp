#include "base/api/cores.h"
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <thread>
#include "base/openmp.h"
#include "bora/base/parallel.h"

namespace bora {
namespace {
namespace fs = std::filesystem;

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}
/// The first number of "0,4" or "0-1"; -1 if there is none.
int first_number(const std::string& list) {
  int n = -1;
  std::from_chars(list.data(), list.data() + list.size(), n);
  return n;
}
int node_of(const std::string& cpu) {
  std::error_code e;
  for (auto i = fs::directory_iterator(cpu, e); !e && i != fs::directory_iterator(); i.increment(e))
    if (auto name = i->path().filename().string(); name.starts_with("node"))
      return std::max(0, first_number(name.substr(4)));
  return 0;
}
/// Calls f with the folders of a group and of its ancestors.
template <class F> void each_level(const std::string& mount, fs::path group, const F& f) {
  for (;; group = group.parent_path()) {
    f(mount + (group == "/" ? "" : group.string()));
    if (!group.has_relative_path()) return;
  }
}
/// Calls f(folder, version) for all levels of this process's groups that `kind` belongs to.
template <class F> void each_group(const std::string& root, const std::string& kind, const F& f) {
  const auto mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice", "4:cpu,cpuacct:/docker/1f"
    auto a = line.find(':'), b = line.find(':', a + 1);
    if (b == std::string::npos || line.compare(b + 1, 1, "/") != 0) continue;
    auto kinds = line.substr(a + 1, b - a - 1), group = line.substr(b + 1);
    bool old = !kinds.empty();
    if (old && ("," + kinds + ",").find("," + kind + ",") == std::string::npos) continue;
    for (auto mount : {mounts + (old ? "/" + kinds : ""), mounts + "/" + (old ? kind : "unified")})
      each_level(mount, group, [&](const std::string& folder) { f(folder, old ? 1 : 2); });
  }
}
/// The number behind a word in a file of words and numbers; 0 if there is none.
std::int64_t number_of(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::string name;
  for (std::int64_t n = 0; file >> name; file.ignore(1 << 20, '\n'))
    if (name == word && file >> n) return n;
  return 0;
}
std::int64_t number_in(const std::string& path) {  // "max": none
  std::int64_t n = -1;
  return std::ifstream(path) >> n ? n : -1;
}
double limit_v2(const std::string& folder) {
  std::istringstream line(line_of(folder + "/cpu.max"));  // "150000 100000", or "max 100000"
  double quota = 0, period = 0;
  return line >> quota >> period && quota > 0 && period > 0 ? quota / period : std::numeric_limits<double>::infinity();
}
double limit_v1(const std::string& folder) {
  double quota = first_number(line_of(folder + "/cpu.cfs_quota_us"));  // -1: none
  double period = first_number(line_of(folder + "/cpu.cfs_period_us"));
  return quota > 0 && period > 0 ? quota / period : std::numeric_limits<double>::infinity();
}
}  // namespace

std::vector<Core> cores_of(const std::vector<int>& cpus, const std::string& root) {
  std::map<std::pair<int, int>, Core> cores;  // by node and the core's first hardware thread, usable or not
  for (int c : cpus) {
    auto folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(c);
    int first = first_number(line_of(folder + "/topology/core_cpus_list"));
    if (first < 0) first = first_number(line_of(folder + "/topology/thread_siblings_list"));  // before Linux 5.3
    if (first < 0) first = c;
    int node = node_of(folder);
    auto& core = cores[{node, first}];
    core.node = node;
    core.cpus.push_back(c);
  }
  std::vector<Core> r;
  for (auto& [key, core] : cores) r.push_back(std::move(core));
  return r;
}
std::vector<int> allowed_cpus() {
  auto r = detail::cpus_of_places();
  if (!r.empty()) return r;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return r;
  for (int c = 0; c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(c, &set)) r.push_back(c);
  return r;
}
double cgroup_limit(const std::string& root) {
  auto limit = std::numeric_limits<double>::infinity();
  each_group(root, "cpu", [&](const std::string& folder, int version) {
    limit = std::min(limit, version == 1 ? limit_v1(folder) : limit_v2(folder));
  });
  return limit;
}
FreeMemory free_memory(const std::string& root) {
  auto host = root + "/proc/meminfo";
  FreeMemory least{number_of(host, "MemAvailable:") << 10, number_of(host, "MemTotal:") << 10, "this host"};
  each_group(root, "memory", [&](const std::string& folder, int version) {
    bool old = version == 1;
    auto limit = number_in(folder + (old ? "/memory.limit_in_bytes" : "/memory.max"));
    if (limit < 0 || limit >= least.all) return;
    auto files = [&](const std::string& word) {
      return number_of(folder + "/memory.stat", (old ? "total_" : "") + word);
    };
    auto used = number_in(folder + (old ? "/memory.usage_in_bytes" : "/memory.current"));
    auto free = limit - used + files("inactive_file") + files("active_file");
    if (free < least.bytes) least = {std::max<std::int64_t>(free, 0), limit, "the cgroup " + folder};
  });
  return least;
}
HostCounters host_counters(const std::string& root) {
  HostCounters r;
  each_group(root, "cpu", [&](const std::string& folder, int version) {
    auto file = folder + "/cpu.stat";
    auto periods = number_of(file, "nr_periods");
    if (periods <= 0) return;
    r.periods += periods;
    r.throttled_periods += number_of(file, "nr_throttled");
    r.throttled_s += version == 1 ? static_cast<double>(number_of(file, "throttled_time")) / 1e9
                                  : static_cast<double>(number_of(file, "throttled_usec")) / 1e6;
  });
  std::istringstream cpu(line_of(root + "/proc/stat"));  // "cpu  user nice system idle iowait irq softirq steal ..."
  std::string name;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  double n = 0;
  cpu >> name;
  for (int i = 0; i < 8 && cpu >> n; ++i) {
    r.all_s += n / ticks;
    if (i == 7) r.steal_s = n / ticks;
  }
  r.swapped_pages = number_of(root + "/proc/vmstat", "pswpin") + number_of(root + "/proc/vmstat", "pswpout");
  return r;
}
int usable_cores() {
  auto cpus = allowed_cpus();
  auto n = cpus.empty() ? static_cast<double>(std::thread::hardware_concurrency())
                        : static_cast<double>(cores_of(cpus).size());
  return std::max(1, static_cast<int>(std::min(n, std::round(cgroup_limit()))));
}
namespace {
double mhz_of(int cpu, const std::string& root) {
  auto khz = number_in(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq");
  if (khz > 0) return static_cast<double>(khz) / 1e3;
  std::ifstream all(root + "/proc/cpuinfo");
  int processor = -1;
  for (std::string line; std::getline(all, line);) {
    auto value = line.find(": ");
    if (value == std::string::npos) continue;
    if (line.starts_with("processor")) processor = first_number(line.substr(value + 2));
    if (line.starts_with("cpu MHz") && processor == cpu) return std::atof(line.c_str() + value + 2);
  }
  return 0;
}
double seconds_of(const ::timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }
}  // namespace
ProcessCounters process_counters(const std::string& root) {
  ProcessCounters r;
  std::int64_t size = 0, resident = 0;
  if (std::ifstream(root + "/proc/self/statm") >> size >> resident) r.rss_bytes = resident * ::sysconf(_SC_PAGESIZE);
  ::rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    r.major_faults = usage.ru_majflt;
    r.cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  if (int cpu = ::sched_getcpu(); cpu >= 0) r.mhz = mhz_of(cpu, root);
  return r;
}
int bind_to_share(int part, int parts) {
  static const auto cores = cores_of(allowed_cpus());  // before the first binding
  int n = static_cast<int>(cores.size());
  if (part < 0 || part >= parts || n < parts) return 1;
  cpu_set_t share;
  CPU_ZERO(&share);
  int begin = n * part / parts, end = n * (part + 1) / parts;
  for (int i = begin; i < end; ++i)
    for (int c : cores[static_cast<std::size_t>(i)].cpus) CPU_SET(c, &share);
  sched_setaffinity(0, sizeof share, &share);  // a refusal changes speed only
  return end - begin;
}
}  // namespace bora
