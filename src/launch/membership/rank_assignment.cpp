#include "rank_assignment.h"
#include <algorithm>
#include "bora/base/error.h"

namespace bora::launch {
namespace {
/// Whether the launcher reached it at an address by which a machine reaches itself.
bool is_loopback_host(const RemoteRanks& host) {
  auto ip = host.address().substr(0, host.address().rfind(':'));
  return is_loopback(ip.starts_with('[') ? ip.substr(1, ip.size() - 2) : ip);
}
}  // namespace

void move_loopback_hosts_last(const Options& options, std::vector<std::unique_ptr<RemoteRanks>>& hosts) {
  std::stable_partition(hosts.begin(), hosts.end(), [&](auto& host) {
    return !is_loopback_host(*host) || (!options.root.empty() && host->host().name == options.hosts[0].name);
  });
}
std::string root_address(const Options& options, const std::vector<std::unique_ptr<RemoteRanks>>& hosts,
                         std::size_t first) {
  auto& root = *hosts[first];
  if (!options.root.empty() && root.host().name == options.hosts[0].name) return options.root;
  if (root.address().empty()) {  // the command that replaces ssh does not report it
    auto& name = root.host().name;
    return (name.find(':') == std::string::npos ? name : "[" + name + "]") + ":29650";
  }
  for (auto& host : hosts)
    check<ConfigError>(!is_loopback_host(root) || is_loopback_host(*host), root.host().place, ": ", root.host().name,
                       " is ", root.address(), ", which ", host->host().name,
                       " cannot reach; give another name or iface=, or set BORA_ROOT=host:port");
  return root.address();
}
std::vector<int> kept(const RanksToStart& some, const Ranks* of, bool same) {
  auto n = static_cast<std::size_t>(some.count);
  std::vector<int> r(n, -1);
  auto waiting = of ? of->waiting() : std::vector<int>();
  auto here = [&](int w) { return w >= some.first && w < some.first + some.count; };
  same = same && std::all_of(waiting.begin(), waiting.end(), here);
  for (std::size_t k = 0; k < std::min(waiting.size(), n); ++k)
    r[same ? static_cast<std::size_t>(waiting[k] - some.first) : k] = waiting[k];
  return r;
}
HandOver hand_over(const std::vector<std::unique_ptr<RemoteRanks>>& hosts, int n) {
  HandOver h;
  int places = 0, leave = 0;
  for (auto& host : hosts) {
    auto waiting = static_cast<int>(host->waiting().size()), count = std::min(host->host().slots, n - places);
    places += count;
    leave += std::max(0, waiting - count);
    for (int k = 0; k < std::min(waiting, count); ++k)
      h.heirs += (h.heirs.empty() ? "" : ",") + std::to_string(h.ranks + k);
    h.ranks += waiting;
    h.counts.push_back(waiting);
  }
  return leave > 0 ? h : HandOver{};
}
}  // namespace bora::launch
