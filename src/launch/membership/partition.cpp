#include "partition.h"
#include <algorithm>

namespace bora::launch {
void Partition::begin() {
  hosts_.clear();
  misses_.clear();
  got_further_ = false;
}
void Partition::misses(int rank, int lost) {
  auto n = static_cast<int>(hosts_.size());
  if (rank < 0 || rank >= n || lost < 0 || lost >= n) return;
  auto &by = hosts_[static_cast<std::size_t>(rank)], &whom = hosts_[static_cast<std::size_t>(lost)];
  if (rank == lost) misses_[whom].insert(hosts_.begin(), hosts_.end());
  else if (by != whom) misses_[whom].insert(by);
}
std::string Partition::host() const {
  std::string found;
  std::size_t most = 0;
  for (auto& host : hosts_) {
    auto by = misses_.find(host);
    if (got_further_ || by == misses_.end() || by->second.size() < std::max<std::size_t>(most, 1)) continue;
    most = by->second.size();
    found = host;
  }
  return found;
}
std::chrono::seconds Partition::pause(const std::string& host) {
  auto pause = std::chrono::seconds(30) * (1 << std::min(times_[host]++, 4));
  until_[host] = std::chrono::steady_clock::now() + pause;
  return pause;
}
std::chrono::seconds Partition::left(const std::string& host) const {
  auto found = until_.find(host);
  if (found == until_.end()) return {};
  return std::max(std::chrono::ceil<std::chrono::seconds>(found->second - std::chrono::steady_clock::now()), {});
}
std::string Partition::text(const std::string& host, std::chrono::seconds pause, std::string_view why) {
  return "elastic: without host " + host + " for " + std::to_string(pause.count()) + " s: " + std::string(why) + "\n";
}
}  // namespace bora::launch
