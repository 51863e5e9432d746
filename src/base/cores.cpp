#include "base/api/cores.h"
#include <sched.h>
#include <algorithm>
#include <charconv>
#include <cmath>
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
/// The least limit of a group and its ancestors; f reads the limit of one folder.
template <class F> double least(const std::string& mount, fs::path group, const F& f) {
  auto limit = std::numeric_limits<double>::infinity();
  for (;; group = group.parent_path()) {
    limit = std::min(limit, f(mount + (group == "/" ? "" : group.string())));
    if (!group.has_relative_path()) return limit;
  }
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
  const auto mounts = root + "/sys/fs/cgroup";
  auto limit = std::numeric_limits<double>::infinity();
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice", "4:cpu,cpuacct:/docker/1f"
    auto a = line.find(':'), b = line.find(':', a + 1);
    if (b == std::string::npos || line.compare(b + 1, 1, "/") != 0) continue;
    auto kinds = line.substr(a + 1, b - a - 1), group = line.substr(b + 1);
    if (kinds.empty()) {
      for (auto mount : {mounts, mounts + "/unified"}) limit = std::min(limit, least(mount, group, limit_v2));
    } else if (("," + kinds + ",").find(",cpu,") != std::string::npos) {
      for (auto mount : {mounts + "/" + kinds, mounts + "/cpu"}) limit = std::min(limit, least(mount, group, limit_v1));
    }
  }
  return limit;
}
int usable_cores() {
  auto cpus = allowed_cpus();
  auto n = cpus.empty() ? static_cast<double>(std::thread::hardware_concurrency())
                        : static_cast<double>(cores_of(cpus).size());
  return std::max(1, static_cast<int>(std::min(n, std::round(cgroup_limit()))));
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
