#include "launch/api/allocation.h"
#include <charconv>
#include <cstdlib>
#include "base/api/most_ranks.h"
#include "bora/base/error.h"

namespace bora::launch {
namespace {
constexpr std::size_t kLongestName = 253;  // of a host

std::string variable(const char* name) {
  auto value = std::getenv(name);
  return value ? value : "";
}
int number(std::string_view digits, std::string_view whole) {
  int n = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  check<ConfigError>(error == std::errc{} && end == digits.data() + digits.size() && n >= 0, "--hosts: cannot read '",
                     digits, "' in Slurm's list '", whole, "'");
  return n;
}
/// The words between commas.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  for (;;) {
    auto comma = list.find(',');
    parts.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}
/// Throws ConfigError for more hosts than a job can have.
void check_hosts(std::size_t n, std::string_view whole) {
  check<ConfigError>(n <= kMostRanks, "--hosts: Slurm's list '", whole, "' is of more than ", kMostRanks,
                     " nodes; a job has at most as many ranks");
}
/// The numbers between brackets, as they are written: "1-2,07" -> 1 2 07.
std::vector<std::string> spread(std::string_view inside, std::string_view whole) {
  std::vector<std::string> all;
  for (auto part : parts_of(inside)) {
    auto dash = part.find('-');
    auto first = part.substr(0, dash), last = dash == std::string_view::npos ? first : part.substr(dash + 1);
    auto begin = number(first, whole), end = number(last, whole);
    check<ConfigError>(begin <= end && first.size() <= kLongestName, "--hosts: '", part,
                       "' is no range in Slurm's list '", whole, "'");
    check_hosts(all.size() + static_cast<std::size_t>(end - begin) + 1, whole);
    for (std::int64_t n = begin; n <= end; ++n) {
      auto digits = std::to_string(n);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      all.push_back(digits);
    }
  }
  return all;
}

Allocation of_slurm() {
  auto list = variable("SLURM_JOB_NODELIST"), tasks = variable("SLURM_TASKS_PER_NODE");
  check<ConfigError>(!list.empty(), "--hosts slurm: there is no job of Slurm's here (SLURM_JOB_NODELIST is not set); "
                     "it is for a batch script, or a shell of salloc");
  auto step = variable("SLURM_STEP_NUM_TASKS");
  check<ConfigError>(step.empty() || step == "1", "--hosts slurm: srun has started this ", step,
                     " times; start it once, in the batch script itself: it runs srun on each node");
  Allocation a{.hosts = {}, .reach = {}};
  auto names = names_in(list);
  auto counts = tasks.empty() ? std::vector<int>(names.size(), 1) : counts_in(tasks);
  check<ConfigError>(counts.size() == names.size(), "--hosts slurm: ", names.size(), " nodes in SLURM_JOB_NODELIST=",
                     list, ", but ", counts.size(), " in SLURM_TASKS_PER_NODE=", tasks);
  for (std::size_t i = 0; i < names.size(); ++i)
    a.hosts.push_back({.name = names[i], .slots = counts[i], .place = "slurm"});
  check<ConfigError>(count_slots(a.hosts) <= kMostRanks, "--hosts slurm: SLURM_TASKS_PER_NODE=", tasks, " is of ",
                     count_slots(a.hosts), " tasks; a job has at most ", kMostRanks, " ranks");
  // All that the job has on the node, beside this step; and srun must not wait for a node that does not answer.
  a.reach.before = {"srun",           "--overlap", "--nodes=1",           "--ntasks=1", "--ntasks-per-node=1",
                    "--cpu-bind=none", "--quiet",   "--kill-on-bad-exit=0", "-w"};
  a.reach.after = {"sh", "-c"};
  return a;
}
Allocation of_kubernetes(const std::string& agent) {
  auto index = variable("JOB_COMPLETION_INDEX"), size = variable("BORA_SIZE"), service = variable("BORA_SERVICE"),
       name = variable("HOSTNAME");
  check<ConfigError>(!index.empty(), "--hosts kubernetes: this is no pod of an indexed Job; JOB_COMPLETION_INDEX is "
                     "not set");
  check<ConfigError>(!size.empty() && !service.empty(), "--hosts kubernetes: BORA_SIZE must be the number of pods, and "
                     "BORA_SERVICE the name of the Job's headless service; got '", size, "' and '", service, "'");
  auto mine = number(index, index), n = number(size, size);
  check<ConfigError>(n <= kMostRanks, "--hosts kubernetes: BORA_SIZE is ", n, "; a job has at most ", kMostRanks,
                     " ranks");
  check<ConfigError>(mine < n, "--hosts kubernetes: the pod's index is ", mine, ", but BORA_SIZE is ", n);
  check<ConfigError>(name.ends_with("-" + index), "--hosts kubernetes: HOSTNAME is '", name, "', not that of pod ",
                     index, " of an indexed Job");
  auto job = name.substr(0, name.size() - index.size());
  Allocation a{.hosts = {}, .reach = {.before = {agent, "agent", "--reach"}, .after = {}}, .connect_s = 300,
               .listens = mine > 0};
  for (int i = 0; i < n; ++i)
    a.hosts.push_back({.name = job + std::to_string(i) + "." + service, .place = "kubernetes"});
  return a;
}
}  // namespace

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names, some = {""};
  auto whole = list;
  while (!list.empty()) {
    auto end = list.find_first_of(",[");
    auto fixed = list.substr(0, end);
    check<ConfigError>(some[0].size() + fixed.size() <= kLongestName, "--hosts: a name of more than ", kLongestName,
                       " characters in Slurm's list '", whole, "'");
    for (auto& name : some) name += fixed;
    list.remove_prefix(end == std::string_view::npos ? list.size() : end);
    if (list.starts_with('[')) {
      auto close = list.find(']');
      check<ConfigError>(close != std::string_view::npos, "--hosts: no ] in Slurm's list '", whole, "'");
      auto numbers = spread(list.substr(1, close - 1), whole);
      check_hosts(some.size() * numbers.size(), whole);
      std::vector<std::string> longer;
      for (auto& name : some)
        for (auto& digits : numbers) longer.push_back(name + digits);
      some = longer;
      list.remove_prefix(close + 1);
    }
    if (!list.empty() && list[0] != ',') continue;
    if (!list.empty()) list.remove_prefix(1);
    check_hosts(names.size() + some.size(), whole);
    names.insert(names.end(), some.begin(), some.end());
    some = {""};
  }
  for (auto& name : names)
    check<ConfigError>(!name.empty() && name[0] != '-', "--hosts: '", name, "' is no name in Slurm's list '", whole,
                       "'");
  return names;
}
std::vector<int> counts_in(std::string_view list) {
  std::vector<int> counts;
  for (auto part : parts_of(list)) {
    auto times = part.find("(x");
    auto n = number(part.substr(0, times), list);
    int repeated = 1;
    bool closed = times == std::string_view::npos || part.ends_with(')');
    if (closed && times != std::string_view::npos)
      repeated = number(part.substr(times + 2, part.size() - times - 3), list);
    check<ConfigError>(closed && n >= 1 && n <= 4096 && repeated >= 1, "--hosts: '", part,
                       "' is no number of tasks in Slurm's list '", list, "'");
    check_hosts(counts.size() + static_cast<std::size_t>(repeated), list);
    counts.insert(counts.end(), static_cast<std::size_t>(repeated), n);
  }
  return counts;
}
std::optional<Allocation> allocation(const std::string& word, const std::string& agent) {
  if (word == "slurm") return of_slurm();
  if (word == "kubernetes") return of_kubernetes(agent);
  return std::nullopt;
}
}  // namespace bora::launch
