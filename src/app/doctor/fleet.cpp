#include "fleet.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include "bora/transport/transport.h"
#include "folder.h"
#include "network.h"

namespace bora::app::doctor {
namespace {
constexpr double kSlowHostNote = 1.15, kSlowHostProblem = 1.5;  // times as long as the median
constexpr double kDateNote = 1, kDateProblem = 60;      // s

/// How hosts are made alike.
const std::map<std::string, std::pair<Level, std::string>>& repairs() {
  using enum Level;
  static const std::map<std::string, std::pair<Level, std::string>> all{
      {"version", {problem, "install one version of bora on all hosts"}},
      {"isa", {note, "hosts of one kind: a job computes as the least of them can"}},
      {"mtu", {problem, "sudo ip link set INTERFACE mtu N, the same on all hosts"}},
      {"cores", {note, "mesh.shares=auto gives each rank work by its speed"}},
      {"cpu", {note, "mesh.shares=auto gives each rank work by its speed"}},
      {"governor", {note, "sudo cpupower frequency-set -g performance, on all hosts"}},
      {"memory", {note, "plan for the host with the least: bora plan"}},
      {"folder", {note, "mount one file system on all hosts"}}};
  return all;
}
double date() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }
void compare_rates(const std::vector<HostReport>& hosts, const std::string& rate, const std::string& words,
                   Findings& job) {
  std::vector<std::pair<double, std::string>> all;
  for (auto& host : hosts)
    if (auto found = host.measured.find(rate); found != host.measured.end())
      all.emplace_back(found->second, host.host);
  if (all.size() < 2 || all.size() < hosts.size()) return;
  std::sort(all.begin(), all.end());
  auto median = all[all.size() / 2].first;
  auto factor = median / all[0].first;
  auto text = all[0].second + " is the slowest in " + words + ": " + digits(factor) + " times the median's time";
  const std::string repair = "bora doctor on " + all[0].second + "; or leave it out of the job's hosts";
  if (factor >= kSlowHostProblem) job.problem("slowest", text, repair);
  else if (factor >= kSlowHostNote) job.note("slowest", text, repair);
  else job.ok("slowest", text);
}
}  // namespace

void compare_hosts(const std::vector<HostReport>& hosts, Findings& job) {
  std::set<std::string> all;
  for (auto& host : hosts)
    for (auto& [name, value] : host.facts) all.insert(name);
  bool alike = true;
  for (auto& name : all) {
    std::map<std::string, std::vector<std::string>> of;  // hosts by what they have
    for (auto& host : hosts) {
      auto found = host.facts.find(name);
      of[found == host.facts.end() ? "none" : found->second].push_back(host.host);
    }
    if (of.size() < 2) continue;
    alike = false;
    std::string text = name + " differs:";
    for (auto& [value, where] : of) text += (text.back() == ':' ? " " : "; ") + value + " on " + some_of(where);
    auto found = repairs().find(name);
    auto [level, repair] =
        found != repairs().end() ? found->second : std::pair{Level::note, std::string("make them alike: one image")};
    job.all.push_back({"hosts", level, text, repair});
  }
  if (alike && hosts.size() > 1) job.ok("hosts", std::to_string(hosts.size()) + " are alike");
  compare_rates(hosts, kProducts, "products", job);
  compare_rates(hosts, kCopies, "copies", job);
}
void compare_dates(const std::vector<double>& seconds, const std::vector<std::string>& hosts, Findings& job) {
  auto [first, last] = std::minmax_element(seconds.begin(), seconds.end());
  auto apart = *last - *first;
  auto name = [&](auto at) { return hosts[static_cast<std::size_t>(at - seconds.begin())]; };
  auto text = "the clocks of " + name(first) + " and " + name(last) + " differ by " + digits(apart) + " s";
  const std::string repair = "sudo timedatectl set-ntp true, on all hosts";
  if (apart >= kDateProblem) job.problem("dates", text, repair);
  else if (apart >= kDateNote) job.note("dates", text, repair);
  else job.ok("dates", text);
}
Fleet look_at_fleet(transport::Context& context, const transport::Config& config, const std::string& out,
                    HostReport report) {
  Fleet fleet;
  auto hosts = context.exchange(report.host, "doctor: names of hosts");
  std::map<std::string, int> ranks;
  for (auto& host : hosts) ++ranks[host];
  for (std::size_t r = 0; r < hosts.size(); ++r)
    if (ranks[hosts[r]] > 1) hosts[r] += " rank " + std::to_string(r);
  report.host = hosts[static_cast<std::size_t>(context.rank())];
  if (context.size() > 1) {
    context.exchange("", "doctor: a moment");
    auto now = date();
    std::vector<double> dates;
    for (auto& text : context.exchange(std::to_string(now), "doctor: dates")) dates.push_back(std::stod(text));
    compare_dates(dates, hosts, fleet.job);
    look_at_network(context, config, hosts, report, fleet.job);
    if (!out.empty()) look_at_shared_folder(context, out, hosts, report);
  }
  for (auto& bytes : context.exchange(packed(report), "doctor: reports")) fleet.hosts.push_back(unpacked_report(bytes));
  compare_hosts(fleet.hosts, fleet.job);
  return fleet;
}
}  // namespace bora::app::doctor
