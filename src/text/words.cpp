#include "text/words.h"
#include <functional>
#include <thread>

namespace bora::text {
const std::span<const std::int32_t>* WordCache::find(std::string_view word, std::uint64_t hash) {
  auto set = entries_.begin() + static_cast<std::ptrdiff_t>(hash % (kEntries / kWays) * kWays);
  for (auto e = set; e != set + kWays; ++e)
    if (e->hash == hash && e->bytes == word.size() && std::string_view(texts_).substr(e->text, e->bytes) == word) {
      found_ = std::span(ids_).subspan(e->ids, e->count);
      return &found_;
    }
  return nullptr;
}
void WordCache::put(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids) {
  if (word.empty() || ids.size() > UINT16_MAX) return;
  if (texts_.size() + word.size() > kMostText || ids_.size() + ids.size() > kMostText) {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    texts_.clear();
    ids_.clear();
  }
  auto set = entries_.begin() + static_cast<std::ptrdiff_t>(hash % (kEntries / kWays) * kWays);
  auto e = set;
  while (e != set + kWays && e->bytes != 0) ++e;
  if (e == set + kWays) e = set + static_cast<std::ptrdiff_t>((hash >> 40) % kWays);
  *e = {hash, static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(ids_.size()),
        static_cast<std::uint16_t>(word.size()), static_cast<std::uint16_t>(ids.size())};
  texts_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

namespace {
/// Where this thread looks first.
std::size_t own_place() {
  static thread_local const std::size_t place = std::hash<std::thread::id>()(std::this_thread::get_id());
  return place;
}
}  // namespace
WordCaches::~WordCaches() {
  for (auto& f : free_) delete f.load();
}
std::unique_ptr<WordCache> WordCaches::take() {
  for (std::size_t i = 0; i < free_.size(); ++i) {
    auto& f = free_[(own_place() + i) % free_.size()];
    if (f.load(std::memory_order_relaxed) == nullptr) continue;
    if (auto cache = f.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<WordCache>(cache);
  }
  return std::make_unique<WordCache>();
}
void WordCaches::give(std::unique_ptr<WordCache> cache) {
  for (std::size_t i = 0; i < free_.size(); ++i) {
    WordCache* none = nullptr;
    auto& f = free_[(own_place() + i) % free_.size()];
    if (f.compare_exchange_strong(none, cache.get(), std::memory_order_release, std::memory_order_relaxed))
      return void(cache.release());
  }
}
}  // namespace bora::text
