// words.h -- a model that makes ids of words, and the words that it has seen.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
/// The key of a word: its bytes with zeros behind them, for up to 16, else two hashes; and a hash of the key.
struct WordKey {
  explicit WordKey(std::string_view s) {
    constexpr std::uint64_t a = 0xa0761d6478bd642full, b = 0xe7037ed1a0b428dbull;
    auto mix = [](std::uint64_t x, std::uint64_t y) {
      auto product = static_cast<unsigned __int128>(x) * y;
      return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    auto eight = [&](std::size_t at) {
      std::uint64_t x;
      std::memcpy(&x, s.data() + at, 8);
      return x;
    };
    auto n = s.size();
    if (n > 16) {
      first = n ^ a;
      for (std::size_t i = 0; n - i > 16; i += 16) first = mix(eight(i) ^ first, eight(i + 8) ^ b);
      second = mix(eight(n - 16) ^ first, eight(n - 8) ^ b);
    } else if (n >= 8) {  // bytes beyond the first eight, above the zeros
      first = eight(0);
      second = n == 8 ? 0 : eight(n - 8) >> 8 * (16 - n);
    } else {
      char bytes[8] = {};
      std::memcpy(bytes, s.data(), n);
      std::memcpy(&first, bytes, 8);
    }
    hash = mix(first ^ a ^ n, second ^ b);
  }
  std::uint64_t first = 0, second = 0, hash = 0;
};

/// Ids of short words. One thread uses it at a time. What most words need lies in one place: a miss of the processor's
/// caches costs more than all else.
class WordCache {
 public:
  static constexpr std::size_t kMostBytes = 128;  // of a word
  /// Brings what is known of a word into the processor's caches, for an append() some words later.
  void expect(std::string_view word) const;
  /// Appends the ids of a word; false if it is not known.
  bool append(std::string_view word, const WordKey&, std::vector<std::int32_t>& ids) const;
  void put(std::string_view word, const WordKey&, std::span<const std::int32_t> ids);

 private:
  static constexpr std::size_t kInside = 3, kWays = 4, kSets = std::size_t{1} << 13, kMostText = std::size_t{1} << 21;
  struct Entry {
    std::uint64_t first = 0, second = 0;      // of the key
    std::uint8_t bytes = 0, count = 0;        // of the word; of its ids. bytes 0: it is free
    std::array<std::int32_t, kInside> ids{};  // or where they begin in ids_, if there are more, and in [1] where the
                                              // word begins in texts_, if its key is of hashes
  };
  struct alignas(64) Set {
    std::array<Entry, kWays> entries = {};
  };
  std::vector<Set> sets_ = std::vector<Set>(kSets);
  std::string texts_;
  std::vector<std::int32_t> ids_;
};
/// Caches that threads take and give back, without waiting for each other.
class WordCaches {
 public:
  WordCaches() = default;
  ~WordCaches();
  std::unique_ptr<WordCache> take();
  void give(std::unique_ptr<WordCache>);

 private:
  std::array<std::atomic<WordCache*>, 32> free_ = {};
};

/// Several threads may use a model at the same time, each with a cache of its own.
class Model {
 public:
  virtual ~Model() = default;
  /// Appends the ids of a word, which is not empty.
  virtual void append(std::string_view word, WordCache&, std::vector<std::int32_t>& ids) const = 0;

 protected:
  /// Appends the word's ids from the cache, or f(ids), which appends them.
  template <class F> static void known(std::string_view word, WordCache& cache, std::vector<std::int32_t>& ids, F&& f) {
    if (word.size() > WordCache::kMostBytes) return f(ids);
    WordKey key(word);
    if (cache.append(word, key, ids)) return;
    auto before = ids.size();
    f(ids);
    cache.put(word, key, std::span(ids).subspan(before));
  }
};

/// A map from 64-bit numbers below 2^64 - 1.
template <class Value> class NumberMap {
 public:
  explicit NumberMap(std::size_t most = 0) {
    std::size_t slots = 16;
    while (slots < 2 * most) slots *= 2;
    slots_.resize(slots);
  }
  const Value* find(std::uint64_t key) const {
    for (auto i = place(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == kFree) return nullptr;
    }
  }
  /// Its value, a new one if there is none.
  Value& operator[](std::uint64_t key) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    auto i = place(key);
    while (slots_[i].key != kFree && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    if (slots_[i].key == kFree) ++size_, slots_[i].key = key;
    return slots_[i].value;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kFree;
    Value value = {};
  };
  std::size_t place(std::uint64_t key) const {
    auto h = (key ^ key >> 32) * 0x9e3779b97f4a7c15ull;
    return (h ^ h >> 29) & (slots_.size() - 1);
  }
  void grow() {
    auto old = std::move(slots_);
    slots_ = std::vector<Slot>(old.size() * 2);
    size_ = 0;
    for (auto& s : old)
      if (s.key != kFree) (*this)[s.key] = s.value;
  }
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};
}  // namespace bora::text
