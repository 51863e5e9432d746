// sort.cpp -- sort along rows: vqsort (Wassenberg et al. 2022, in Highway) over keys, a long row in slices that are
// merged, many short rows by a network across rows. The sorted sequence of keys is unique, so the result depends
// neither on the algorithm nor on the number of slices.
#include <hwy/contrib/sort/vqsort.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/api/order.h"
#include "kernels/array/order_keys.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kElement = 7, kTurned = 0.5;  // ns per element: sorted; turned into a key or back
constexpr I kWide = 1 << 16;
template <class T> using Bits = decltype(key_of(T{}));

template <class Key> void sort_keys(Key* k, I n) {
  if constexpr (sizeof(Key) == 1) {
    std::array<I, 256> counts{};
    for (I i = 0; i < n; ++i) ++counts[k[i]];
    for (std::size_t v = 0; v < counts.size(); ++v) k = std::fill_n(k, counts[v], static_cast<Key>(v));
  } else {
    static thread_local hwy::Sorter sorter;
    sorter(k, static_cast<std::size_t>(n), hwy::SortAscending());
  }
}
/// out[begin, end) of the merge of a[0, n) and b[0, m): a binary search finds where it begins in each ("merge path",
/// Odeh et al. 2012).
template <class Key> void merge_part(const Key* a, I n, const Key* b, I m, Key* out, I begin, I end) {
  I low = std::max<I>(0, begin - m), high = std::min(begin, n);
  while (low < high) {
    auto i = (low + high) / 2;
    if (a[i] <= b[begin - i - 1]) low = i + 1;
    else high = i;
  }
  I i = low, j = begin - low;
  for (; begin < end && i < n && j < m; ++begin) {  // no branch depends on the keys
    bool first = a[i] <= b[j];
    out[begin] = first ? a[i] : b[j];
    i += first;
    j += !first;
  }
  if (i < n) std::copy_n(a + i, end - begin, out + begin);
  else std::copy_n(b + j, end - begin, out + begin);
}
/// Sorts a row on all threads. Returns the buffer that holds the result; the other one is scratch.
template <class Key> Key* sort_wide(Key* a, Key* other, I n) {
  I slices = 1;
  while (slices < thread_count()) slices *= 2;
  auto bound = [&](I s) { return n * s / slices; };
  parallel_for(slices, 1, [&](I begin, I end) {
    for (I s = begin; s < end; ++s) sort_keys(a + bound(s), bound(s + 1) - bound(s));
  });
  for (I width = 1; width < slices; width *= 2) {
    I parts = 2 * width;  // per pair of neighbours: as many in all as there are slices
    parallel_for(slices, 1, [&](I begin, I end) {
      for (I s = begin; s < end; ++s) {
        auto pair = s / parts * parts, from = bound(pair), middle = bound(pair + width), to = bound(pair + parts);
        auto cut = [&](I k) { return (to - from) * k / parts; };
        merge_part(a + from, middle - from, a + middle, to - middle, other + from, cut(s - pair), cut(s - pair + 1));
      }
    });
    std::swap(a, other);
  }
  return a;
}
/// Writes the keys of values; true if a key does not identify its value: a NaN or -0.
template <class T, class Key> bool write_keys(const T* in, Key* keys, I n) {
  Key lost = 0;
  for (I i = 0; i < n; ++i) {
    keys[i] = key_of(in[i]);
    lost |= std::bit_cast<Bits<T>>(value_of<T>(keys[i])) ^ std::bit_cast<Bits<T>>(in[i]);
  }
  return lost != 0;
}
/// Writes the values of sorted keys; if `shared`, values that share a key are written in input order.
template <class T, class Key> void write_values(const T* in, const Key* keys, T* out, I n, bool shared) {
  parallel_for(n, grain_for(kTurned), [&](I b, I e) {
    for (I i = b; i < e; ++i) out[i] = value_of<T>(keys[i]);
  });
  for (Key k : {key_of(T(0)), std::numeric_limits<Key>::max()}) {
    if (!shared) break;
    auto* to = out + (std::lower_bound(keys, keys + n, k) - keys);
    for (I i = 0; i < n; ++i)
      if (key_of(in[i]) == k) *to++ = in[i];
  }
}
/// The comparisons of Batcher's odd-even merge sort of n numbers (Knuth, volume 3, 5.2.2 M).
std::vector<std::pair<I, I>> network(I n) {
  std::vector<std::pair<I, I>> r;
  for (I p = 1; p < n; p *= 2)
    for (I k = p; k >= 1; k /= 2)
      for (I j = k % p; j + k < n; j += 2 * k)
        for (I i = j; i < std::min(j + k, n - k); ++i)
          if (i / (2 * p) == (i + k) / (2 * p)) r.emplace_back(i, i + k);
  return r;
}
constexpr I kShort = 128;  // longest rows of a network, whose keys stay in the first-level cache
/// Rows side by side.
template <class Key> constexpr I kTogether = 128 / static_cast<I>(sizeof(Key));
template <class T, class Key> void sort_short(const T* x, T* y, I n, I begin, I end) {
  constexpr I together = kTogether<Key>;
  const auto steps = network(n);
  alignas(64) Key keys[kShort * together], row[kShort];
  for (I first = begin; first < end; first += together) {
    const I count = std::min(together, end - first);
    const T* in = x + first * n;
    T* out = y + first * n;
    Key lost = 0;
    for (I i = 0; i < n; ++i)
      for (I r = 0; r < count; ++r) {
        keys[i * together + r] = key_of(in[r * n + i]);
        lost |= std::bit_cast<Bits<T>>(value_of<T>(keys[i * together + r])) ^ std::bit_cast<Bits<T>>(in[r * n + i]);
      }
    for (I i = 0; i < n; ++i) std::fill(keys + i * together + count, keys + (i + 1) * together, Key(0));
    for (auto [i, j] : steps) {
      Key *a = keys + i * together, *b = keys + j * together;
      for (I r = 0; r < together; ++r) {
        const Key low = std::min(a[r], b[r]), high = std::max(a[r], b[r]);
        a[r] = low, b[r] = high;
      }
    }
    for (I r = 0; r < count; ++r) {
      if (lost == 0) {
        for (I i = 0; i < n; ++i) out[r * n + i] = value_of<T>(keys[i * together + r]);
        continue;
      }
      for (I i = 0; i < n; ++i) row[i] = keys[i * together + r];
      write_values(in + r * n, row, out + r * n, n, true);
    }
  }
}
}  // namespace

void sort(Dtype d, const void* in, void* out, std::int64_t rows, std::int64_t n) {
  if (rows == 0 || n == 0) return;
  dispatch(d, "sort", [&](auto t) {
    using T = decltype(t);
    using Key = decltype(key_of(t));
    auto* x = static_cast<const T*>(in);
    auto* y = static_cast<T*>(out);
    if (rows < thread_count() && n >= kWide) {
      auto bytes = static_cast<std::size_t>(n) * sizeof(Key);
      auto one = allocate(bytes), two = allocate(bytes);
      auto *a = static_cast<Key*>(one.get()), *b = static_cast<Key*>(two.get());
      for (I r = 0; r < rows; ++r, x += n, y += n) {
        std::atomic<bool> shared = false;
        parallel_for(n, grain_for(kTurned), [&](I begin, I end) {
          if (write_keys(x + begin, a + begin, end - begin)) shared = true;
        });
        write_values(x, sort_wide(a, b, n), y, n, shared);
      }
      return;
    }
    if (n <= kShort && 4 * rows >= kTogether<Key>) {
      constexpr I together = kTogether<Key>;
      parallel_for((rows + together - 1) / together, grain_for(kElement * static_cast<double>(n * together)),
                   [&](I begin, I end) {
                     sort_short<T, Key>(x, y, n, begin * together, std::min(rows, end * together));
                   });
      return;
    }
    parallel_for(rows, grain_for(kElement * static_cast<double>(n)), [&](I begin, I end) {
      auto memory = allocate(static_cast<std::size_t>(n) * sizeof(Key));
      auto* keys = static_cast<Key*>(memory.get());
      for (I r = begin; r < end; ++r) {
        bool shared = write_keys(x + r * n, keys, n);
        sort_keys(keys, n);
        write_values(x + r * n, keys, y + r * n, n, shared);
      }
    });
  });
}
}  // namespace bora::kernels
