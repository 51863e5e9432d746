// The forms derived from a Program: least recently used first out.
#include <algorithm>
#include <array>
#include "base/api/cache_counts.h"
#include "compile/api/program.h"

namespace bora {
namespace {
constexpr std::array kNames{"executable", "body", "batched", "split", "pushed", "dependence", "fingerprint", "sharded",
                            "agreed"};
static_assert(kNames.size() == static_cast<std::size_t>(Form::agreed) + 1);
/// Of the memos of all Programs.
detail::CacheCounts& counts_of(Form form) {
  static auto& all = *new auto([] {
    std::array<std::shared_ptr<detail::CacheCounts>, kNames.size()> r;
    for (std::size_t i = 0; i < r.size(); ++i)
      r[i] = detail::listed_cache("memo(" + std::string(kNames[i]) + ")", Memo::kMost);
    return r;
  }());
  return *all[static_cast<std::size_t>(form)];
}
}  // namespace

Memo::Kept Memo::find(const Shelf& shelf, const std::string& key) const {
  Kept found;
  {
    std::lock_guard l(mutex_);
    if (auto s = shelves_.find(shelf); s != shelves_.end())
      if (auto e = s->second.find(key); e != s->second.end()) {
        found = e->second.kept;
        if (shelf.first != Form::agreed) e->second.used = ++uses_;
      }
  }
  counts_of(shelf.first).found(found != nullptr);
  return found;
}
Memo::Kept Memo::keep(const Shelf& shelf, const std::string& key, Kept made) const {
  Kept gone;  // destroyed without the lock: it may hold Programs
  std::lock_guard l(mutex_);
  auto& entries = shelves_[shelf];
  auto [entry, fresh] = entries.try_emplace(key, Entry{std::move(made), ++uses_});
  auto kept = entry->second.kept;
  if (!fresh) return kept;
  auto& counts = counts_of(shelf.first);
  counts.added();
  if (entries.size() <= kMost) return kept;
  auto oldest = std::min_element(entries.begin(), entries.end(),
                                 [](auto& a, auto& b) { return a.second.used < b.second.used; });
  gone = std::move(oldest->second.kept);
  entries.erase(oldest);
  counts.evicted();
  return kept;
}
void Memo::leave() const {
  for (auto& [shelf, entries] : shelves_) counts_of(shelf.first).removed(entries.size());
}
}  // namespace bora
