#include "text/tokenizers/words.h"
#include <algorithm>
#include <functional>
#include <thread>

namespace bora::text {
namespace {
constexpr std::size_t kExact = 16;  // bytes of a word that a key holds whole
}  // namespace
void WordCache::expect(std::string_view word) const {
  if (word.size() > kMostBytes) return;
  auto& set = sets_[WordKey(word).hash % kSets];
  __builtin_prefetch(&set);
  __builtin_prefetch(reinterpret_cast<const char*>(&set) + 64);
}
bool WordCache::append(std::string_view word, const WordKey& key, std::vector<std::int32_t>& ids) const {
  for (auto& e : sets_[key.hash % kSets].entries) {
    if (e.first != key.first || e.second != key.second || e.bytes != word.size()) continue;
    bool exact = word.size() <= kExact, inside = exact && e.count <= kInside;
    if (!exact && std::string_view(texts_).substr(static_cast<std::size_t>(e.ids[1]), e.bytes) != word) continue;
    auto begin = inside ? e.ids.data() : ids_.data() + e.ids[0];
    for (auto id = begin; id != begin + e.count; ++id) ids.push_back(*id);  // of few, faster than insert()
    return true;
  }
  return false;
}
void WordCache::put(std::string_view word, const WordKey& key, std::span<const std::int32_t> ids) {
  if (word.empty() || word.size() > kMostBytes || ids.size() > UINT8_MAX) return;
  if (texts_.size() + word.size() > kMostText || ids_.size() + ids.size() > kMostText) {
    std::fill(sets_.begin(), sets_.end(), Set{});
    texts_.clear();
    ids_.clear();
  }
  auto& entries = sets_[key.hash % kSets].entries;
  auto e = std::find_if(entries.begin(), entries.end(), [](auto& entry) { return entry.bytes == 0; });
  if (e == entries.end()) e = entries.begin() + (key.hash >> 40) % kWays;
  *e = {key.first, key.second, static_cast<std::uint8_t>(word.size()), static_cast<std::uint8_t>(ids.size())};
  if (word.size() <= kExact && ids.size() <= kInside) {
    std::copy(ids.begin(), ids.end(), e->ids.begin());
    return;
  }
  e->ids[0] = static_cast<std::int32_t>(ids_.size());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  if (word.size() <= kExact) return;
  e->ids[1] = static_cast<std::int32_t>(texts_.size());
  texts_ += word;
}

namespace {
/// The place in which this thread looks first.
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
