#include "places.h"
#include <algorithm>

namespace bora::launch {
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
Handing handing(const std::vector<std::unique_ptr<RemoteRanks>>& hosts, int n) {
  Handing h;
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
  return leave > 0 ? h : Handing{};
}
}  // namespace bora::launch
