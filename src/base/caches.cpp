#include <algorithm>
#include <mutex>
#include "base/api/cache_counts.h"

namespace bora {
namespace {
struct List {
  std::mutex mutex;
  std::vector<std::weak_ptr<const detail::CacheCounts>> caches;
  std::size_t swept = 64;  // at this length those that are gone are removed
};
/// Never destroyed: caches outlive the end of main.
List& list() {
  static auto& l = *new List;
  return l;
}
}  // namespace

std::shared_ptr<detail::CacheCounts> detail::listed_cache(std::string name, std::size_t limit,
                                                          std::size_t (*bytes)()) {
  auto made = std::make_shared<CacheCounts>(std::move(name), limit, bytes);
  auto& l = list();
  std::lock_guard lock(l.mutex);
  if (l.caches.size() >= l.swept) {
    std::erase_if(l.caches, [](auto& c) { return c.expired(); });
    l.swept = std::max<std::size_t>(64, 2 * l.caches.size());
  }
  l.caches.push_back(made);
  return made;
}
std::vector<CacheReport> caches() {
  std::vector<std::shared_ptr<const detail::CacheCounts>> alive;
  {
    auto& l = list();
    std::lock_guard lock(l.mutex);
    for (auto& c : l.caches)
      if (auto one = c.lock()) alive.push_back(std::move(one));
  }
  auto of_function = [](auto& c) { return c->name.starts_with("jit"); };
  std::stable_partition(alive.begin(), alive.end(), of_function);
  std::vector<CacheReport> r;
  for (auto& c : alive) {
    r.push_back({c->name, c->entries, c->limit, c->hits, c->misses, c->evictions});
    if (c->bytes) r.back().bytes = c->bytes();
  }
  return r;
}
}  // namespace bora
