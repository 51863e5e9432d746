// order.cpp -- argsort and top_k along rows. Pairs of key and position are unique, so every correct sort is stable.
#include "kernels/api/order.h"
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/array/order_keys.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
template <class Key> struct Entry {
  Key key;
  std::uint32_t at;
  bool operator<(const Entry& e) const { return key != e.key ? key < e.key : at < e.at; }
};

/// Stable radix sort by key, least significant byte first; a byte that is equal in all keys costs no pass.
template <class Key> void radix_sort(std::vector<Entry<Key>>& a, std::vector<Entry<Key>>& other) {
  other.resize(a.size());
  std::array<std::array<std::size_t, 256>, sizeof(Key)> counts{};
  for (const auto& e : a)
    for (std::size_t byte = 0; byte < sizeof(Key); ++byte) ++counts[byte][(e.key >> (8 * byte)) & 255];
  for (std::size_t byte = 0; byte < sizeof(Key); ++byte) {
    auto& c = counts[byte];
    if (c[(a[0].key >> (8 * byte)) & 255] == a.size()) continue;
    std::size_t sum = 0;
    for (auto& x : c) sum += std::exchange(x, sum);
    for (const auto& e : a) other[c[(e.key >> (8 * byte)) & 255]++] = e;
    a.swap(other);
  }
}
/// The same on all threads: each byte is counted and placed in slices; the result does not depend on their number.
/// Returns the buffer that holds the result.
template <class Key> const Entry<Key>* radix_sort_wide(Entry<Key>* a, Entry<Key>* other, I n) {
  using Counts = std::array<std::size_t, 256>;
  I slices = thread_count();
  std::vector<Counts> counts(static_cast<std::size_t>(slices));
  for (std::size_t byte = 0; byte < sizeof(Key); ++byte) {
    auto digit = [byte](const Entry<Key>& e) { return (e.key >> (8 * byte)) & 255; };
    auto in_slices = [&](auto&& f) {
      parallel_for(slices, 1, [&](I begin, I end) {
        for (I s = begin; s < end; ++s) {
          auto& c = counts[static_cast<std::size_t>(s)];
          for (I i = n * s / slices; i < n * (s + 1) / slices; ++i) f(c, a[i]);
        }
      });
    };
    std::fill(counts.begin(), counts.end(), Counts{});
    in_slices([&](Counts& c, const Entry<Key>& e) { ++c[digit(e)]; });
    std::size_t sum = 0, same = 0;
    for (std::size_t d = 0; d < 256; ++d) {
      auto before = sum;
      for (auto& c : counts) sum += std::exchange(c[d], sum);
      same = std::max(same, sum - before);
    }
    if (same == static_cast<std::size_t>(n)) continue;
    in_slices([&](Counts& c, const Entry<Key>& e) { other[c[digit(e)]++] = e; });
    std::swap(a, other);
  }
  return a;
}
template <class Key> struct Scratch {
  std::vector<Entry<Key>> a, b;
  /// Frees the buffers if a huge row has left them oversized.
  void trim() {
    if ((a.capacity() + b.capacity()) * sizeof(Entry<Key>) > (std::size_t{8} << 20)) *this = {};
  }
};
template <class Key> Scratch<Key>& scratch() {
  static thread_local Scratch<Key> s;
  return s;
}
constexpr double kElement = 6, kTurned = 0.5, kSeen = 1;  // ns per element: sorted; turned into a key; seen by top_k
constexpr double kStep = 4;  // ns per step of a binary search
constexpr I kRadix = 256, kWide = 1 << 16;

void check_row(std::string_view what, I n) {
  check<ShapeError>(n <= std::numeric_limits<std::int32_t>::max(), what, ": positions are i32, and the dimension has ",
                    n, " elements");
}
}  // namespace

void argsort(Dtype d, const void* in, std::int32_t* out, std::int64_t rows, std::int64_t n) {
  check_row("sort", n);
  if (rows == 0 || n == 0) return;
  dispatch(d, "sort", [&](auto t) {
    using T = decltype(t);
    using Key = decltype(key_of(t));
    if (rows < thread_count() && n >= kWide) {
      auto bytes = static_cast<std::size_t>(n) * sizeof(Entry<Key>);
      auto one = allocate(bytes), two = allocate(bytes);
      auto* a = static_cast<Entry<Key>*>(one.get());
      for (I r = 0; r < rows; ++r) {
        const T* row = static_cast<const T*>(in) + r * n;
        parallel_for(n, grain_for(kTurned), [&](I b, I e) {
          for (I i = b; i < e; ++i) a[i] = {key_of(row[i]), static_cast<std::uint32_t>(i)};
        });
        const auto* sorted = radix_sort_wide(a, static_cast<Entry<Key>*>(two.get()), n);
        parallel_for(n, grain_for(kTurned), [&](I b, I e) {
          for (I i = b; i < e; ++i) out[r * n + i] = static_cast<std::int32_t>(sorted[i].at);
        });
      }
      return;
    }
    parallel_for(rows, grain_for(kElement * static_cast<double>(n)), [&](I begin, I end) {
      auto& s = scratch<Key>();
      for (I r = begin; r < end; ++r) {
        const T* row = static_cast<const T*>(in) + r * n;
        s.a.resize(static_cast<std::size_t>(n));
        for (I i = 0; i < n; ++i) s.a[static_cast<std::size_t>(i)] = {key_of(row[i]), static_cast<std::uint32_t>(i)};
        if (n < kRadix) std::sort(s.a.begin(), s.a.end());
        else radix_sort(s.a, s.b);
        for (I i = 0; i < n; ++i) out[r * n + i] = static_cast<std::int32_t>(s.a[static_cast<std::size_t>(i)].at);
      }
      s.trim();
    });
  });
}

void order_keys(Dtype d, const void* x, const std::int64_t* at, std::uint64_t* keys, std::int64_t n) {
  dispatch(d, "sort", [&](auto t) {
    for (I i = 0; i < n; ++i) keys[i] = key_of(static_cast<const decltype(t)*>(x)[at[i]]);
  });
}
void searchsorted(Dtype d, const void* sorted, const void* x, std::int32_t* out, std::int64_t rows, std::int64_t n,
                  std::int64_t m, bool right) {
  check_row("searchsorted", n);
  dispatch(d, "searchsorted", [&](auto t) {
    using T = decltype(t);
    using Key = decltype(key_of(t));
    constexpr I kTogether = 16;  // searches whose reads wait for memory at the same time
    const auto size = static_cast<std::uint64_t>(n);
    const auto first = static_cast<I>(std::bit_floor(size));
    parallel_for(rows * m, grain_for(kStep * (1 + std::bit_width(size))), [&](I begin, I end) {
      for (I i = begin, count = 0; i < end; i += count) {
        count = std::min({kTogether, end - i, m - i % m});
        const T* row = static_cast<const T*>(sorted) + i / m * n;
        Key key[kTogether];
        I before[kTogether] = {};  // elements known to be before it
        for (I q = 0; q < count; ++q) key[q] = key_of(static_cast<const T*>(x)[i + q]);
        for (I step = first; step > 0; step /= 2)
          for (I q = 0; q < count; ++q) {  // no branch depends on the numbers
            I next = before[q] + step;
            Key other = key_of(row[std::min(next, n) - 1]);
            bool passed = (next <= n) & (right ? other <= key[q] : other < key[q]);
            before[q] += passed ? step : 0;
          }
        for (I q = 0; q < count; ++q) out[i + q] = static_cast<std::int32_t>(before[q]);
      }
    });
  });
}
void top_k(Dtype d, const void* in, void* values, std::int32_t* indices, std::int64_t rows, std::int64_t n,
           std::int64_t k) {
  check_row("top_k", n);
  check<ValueError>(k >= 0 && k <= n, "top_k: k must lie in [0, ", n, "], the size of the last dimension; got ", k);
  if (rows == 0 || k == 0) return;
  dispatch(d, "top_k", [&](auto t) {
    using T = decltype(t);
    using Key = decltype(key_of(t));
    parallel_for(rows, grain_for(kSeen * static_cast<double>(n)), [&](I begin, I end) {
      auto& kept = scratch<Key>();
      auto& s = kept.a;
      for (I r = begin; r < end; ++r) {
        const T* row = static_cast<const T*>(in) + r * n;
        s.clear();
        Key least = 0;  // key of the k-th largest so far: only larger keys can still enter
        T bound{};      // its value
        bool full = false;
        auto prune = [&] {
          std::nth_element(s.begin(), s.begin() + (k - 1), s.end());
          s.resize(static_cast<std::size_t>(k));
          least = static_cast<Key>(~s.back().key);
          bound = row[s.back().at];
          full = true;
        };
        constexpr I block = 64;
        for (I i = 0; i < n; i += block) {
          I end_of_block = std::min(n, i + block);
          if (full) {
            int hit = 0;  // a whole block at a time, without branches
            for (I j = i; j < end_of_block; ++j) hit |= !(row[j] <= bound);
            if (!hit) continue;
          }
          for (I j = i; j < end_of_block; ++j)
            if (auto key = static_cast<Key>(key_of(row[j])); !full || key > least)
              s.push_back({static_cast<Key>(~key), static_cast<std::uint32_t>(j)});
          if (static_cast<I>(s.size()) >= 2 * k + block) prune();
        }
        if (static_cast<I>(s.size()) > k) prune();
        std::sort(s.begin(), s.end());
        for (I i = 0; i < k; ++i) {
          auto at = s[static_cast<std::size_t>(i)].at;
          static_cast<T*>(values)[r * k + i] = row[at];
          indices[r * k + i] = static_cast<std::int32_t>(at);
        }
      }
      kept.trim();
    });
  });
}
}  // namespace bora::kernels
