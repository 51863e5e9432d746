#include "job_hosts.h"
#include <algorithm>
#include "bora/base/error.h"

namespace bora::launch {
namespace {
constexpr auto kLongestWait = std::chrono::seconds(30);
Reach reach_of(const Options& options) {
  return options.reach.before.empty() ? Reach{ssh_words(options.ssh)} : options.reach;
}
}  // namespace

JobHosts::JobHosts(const Options& options, Partition& partition)
    : joining(reach_of(options), options.agent, partition), options_(options), partition_(partition) {
  for (auto& host : options.hosts)
    remote.push_back(std::make_unique<RemoteRanks>(host, reach_of(options), options.agent));
}
int JobHosts::slots(int more) const {
  int n = options_.hosts.empty() ? options_.ranks - missing_here_ : more;
  for (auto& host : remote) n += host->host().slots;
  return n;
}
int JobHosts::fitting(int more) const { return options_.elastic.fitting(std::min(slots(more), options_.ranks)); }
std::string JobHosts::problems() const {
  std::string problems;
  for (auto& host : remote) {
    if (host->ready() && host->connected()) continue;  // it may have gone while others were awaited
    auto why = host->ready() ? "the connection to it ended" : host->failure();
    if (why.empty()) why = "no answer within " + std::to_string(options_.connect_s) + " s";
    problems += (problems.empty() ? "" : "; ") + host->host().place + ": no ranks can be started on " +
                host->host().name + ": " + why;
  }
  return problems;
}
void JobHosts::leave_out(const std::function<bool(const RemoteRanks&)>& which, std::chrono::seconds pause) {
  for (auto& host : remote)
    if (which(*host)) joining.lack(host->host(), pause);
  std::erase_if(remote, [&](auto& host) { return which(*host); });
}
void JobHosts::leave_out_pausing() {
  std::vector<std::string> pausing;
  for (auto& host : remote)
    if (partition_.left(host->host().name) > std::chrono::seconds(0)) pausing.push_back(host->host().name);
  for (auto& name : pausing)
    if (enough_without(name)) go_without(name, partition_.left(name));
}
void JobHosts::leave_out_cut_off() {
  auto name = partition_.host();
  if (!name.empty() && enough_without(name)) go_without(name, partition_.pause(name));
}
Clock::time_point JobHosts::leave_out_unable(Generation& g, const std::vector<Outputs::Line>& errors) {
  bool any = false, left = false;
  for (int r : g.failed) {
    auto& rank = g.rank(r);
    if (!rank.newcomer || rank.ending->code() != 2) continue;
    any = true;
    auto said = std::find_if(errors.begin(), errors.end(), [&](auto& line) { return line.rank == r; });
    auto why = said == errors.end() ? "a rank could not begin there" : said->text.substr(error_mark.size());
    auto here = [&](auto& host) { return host->host().name == rank.host; };
    bool of_remote = std::any_of(remote.begin(), remote.end(), here);
    if (of_remote && enough_without(rank.host)) {
      left = true;
      go_without(rank.host, partition_.pause(rank.host), why);
    } else if (rank.host.empty() && options_.elastic.fitting(slots() - 1) >= options_.elastic.min) {
      left = true;
      ++missing_here_;
      auto pause = partition_.pause(rank.host);
      back_ = Clock::now() + pause;
      write_all(2, "elastic: without a rank for " + std::to_string(pause.count()) + " s: " + why + "\n");
    }
  }
  unable_ = any && !left ? unable_ + 1 : 0;
  if (unable_ == 0) return {};
  return Clock::now() + std::min(std::chrono::seconds(1 << std::min(unable_ - 1, 5)), kLongestWait);
}
bool JobHosts::slots_are_back() {
  if (missing_here_ == 0 || Clock::now() < back_) return false;
  missing_here_ = 0;
  return true;
}
bool JobHosts::enough_without(const std::string& name) const {
  int slots = 0;
  for (auto& host : remote) slots += host->host().name == name ? 0 : host->host().slots;
  return options_.elastic.fitting(std::min(slots, options_.ranks)) >= options_.elastic.min;
}
void JobHosts::go_without(const std::string& name, std::chrono::seconds pause, std::string_view why) {
  write_all(2, Partition::text(name, pause, why));
  leave_out([&](auto& host) { return host.host().name == name; }, pause);
}
}  // namespace bora::launch
