// paged.cpp -- partition of paged attention over threads: heads of tiles of tokens, or where these are few chunks of
// their keys as well, whose sums are then joined in the same order.
#include "kernels/attention/paged.h"
#include <algorithm>
#include <cstring>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr I kMostRows = 24;                       // of a tile, which has one token at least
constexpr double kMultiplyAdd = 0.02, kRead = 0.1;  // ns; of an element that is read from memory

struct Tiles {
  std::vector<I> from, to;
  std::vector<PagedTile> all;
  I chunks = 0, keys = 0;  // of all tiles
};
I first_chunk(const PagedTile& t) { return t.low / kChunk; }
I end_chunk(const PagedTile& t) { return t.low < t.high ? (t.high + kChunk - 1) / kChunk : first_chunk(t); }
/// Finds the sequence's pages; those that are seen must be there.
void find_pages(const PagedCall& c, PagedTile& t) {
  const I first = c.first[t.t0];
  if (first >= 0 && first < c.table_size) t.table = c.table + first;
  for (I p = t.low / kPagePositions; p * kPagePositions < t.high; ++p) {
    check<IndexError>(t.table != nullptr && first + p < c.table_size, "paged_attention: token ", t.t0, " sees page ", p,
                      " of its sequence, at ", first, " + ", p, " of a table of ", c.table_size);
    check<IndexError>(t.table[p] >= 0 && t.table[p] < c.pages, "paged_attention: page ", p,
                      " of the sequence of token ", t.t0, " is ", t.table[p], ", but there are ", c.pages);
  }
}
/// Tokens that follow each other in one sequence share a tile.
Tiles tiles_of(const PagedCall& c) {
  Tiles r;
  const I most = std::max<I>(1, kMostRows / c.group);
  for (I t = 0; t < c.tokens; ++t) {
    I to = std::max<I>(0, I{c.positions[t]} + 1), from = 0;
    if (c.window != nullptr) from = std::clamp<I>(to - c.window[t], 0, to);
    r.from.push_back(from);
    r.to.push_back(to);
    bool follows = t > 0 && r.all.back().count < most && c.first[t] == c.first[t - 1] &&
                   (c.positions[t] == c.positions[t - 1] || c.positions[t] == c.positions[t - 1] + 1);
    if (!follows) r.all.push_back({t, 0, from, to, nullptr, nullptr, nullptr});
    auto& tile = r.all.back();
    if (from < to && tile.low < tile.high) tile.low = std::min(tile.low, from), tile.high = std::max(tile.high, to);
    else if (from < to) tile.low = from, tile.high = to;
    ++tile.count;
  }
  for (auto& t : r.all) {
    t.from = r.from.data(), t.to = r.to.data();
    find_pages(c, t);
    r.chunks += end_chunk(t) - first_chunk(t);
    r.keys += t.high - t.low;
  }
  return r;
}
/// Calls f(unit, scratch) for units [0, n); the scratch has room for `size` elements of C.
template <class F> void each(const PagedCall& c, I n, double work, I size, F f) {
  parallel_for(n, grain_for(work), [&](I begin, I end) {
    auto memory = allocate(static_cast<std::size_t>(size) * (c.dtype == Dtype::f64 ? 8 : 4));
    for (I u = begin; u < end; ++u) f(u, static_cast<char*>(memory.get()));
  });
}
}  // namespace

void paged_attention(const PagedCall& c, void* out, Isa which) {
  if (c.tokens == 0 || c.heads == 0 || c.group == 0) return;
  auto tiles = tiles_of(c);
  const bool wide = which == Isa::v4;
  auto* chunk = wide ? v4::paged_chunk : v3::paged_chunk;
  auto* join = wide ? v4::paged_join : v3::paged_join;
  auto* finish = wide ? v4::paged_finish : v3::paged_finish;
  const I element = c.dtype == Dtype::f64 ? 8 : 4, n = static_cast<I>(tiles.all.size()),
          rows = std::max(c.group, kMostRows), value_dim = padded_to(c.value_dim);
  const I sums = PagedSums::size(rows, c.value_dim), scratch = paged_scratch(rows, c.dim, c.value_dim);
  auto sums_at = [&](char* p, const PagedTile& t) {
    return PagedSums{p, padded_to(t.rows(c)), value_dim};
  };
  auto tile = [&](I t) -> const PagedTile& { return tiles.all[static_cast<std::size_t>(t)]; };
  const double per_key = static_cast<double>(c.dim + c.value_dim) *
                         (kRead + kMultiplyAdd * static_cast<double>(c.tokens * c.group) / static_cast<double>(n));
  const double work = per_key * static_cast<double>(tiles.keys * c.heads);
  if (n * c.heads >= 4 * thread_count() || tiles.chunks <= n || thread_count() == 1 || grain_for(work) > 1) {
    each(c, n * c.heads, work / static_cast<double>(n * c.heads), 2 * sums + scratch, [&](I u, char* memory) {
      auto& t = tile(u % n);
      auto all = sums_at(memory, t), part = sums_at(memory + sums * element, t);
      auto* room = memory + 2 * sums * element;
      for (I k = first_chunk(t); k < end_chunk(t); ++k) {
        chunk(c, t, u / n, k, part, room);
        join(c, t, k, part, all, room);
      }
      finish(c, t, u / n, all, out);
    });
    return;
  }
  struct Part {
    I tile, chunk;
  };
  std::vector<Part> parts;
  std::vector<I> begin;
  for (I t = 0; t < n; ++t) {
    begin.push_back(static_cast<I>(parts.size()));
    for (I k = first_chunk(tile(t)); k < end_chunk(tile(t)); ++k) parts.push_back({t, k});
  }
  const I count = static_cast<I>(parts.size());
  auto held = allocate(static_cast<std::size_t>(count * c.heads * sums * element));
  auto at = [&](I head, I part) { return static_cast<char*>(held.get()) + (head * count + part) * sums * element; };
  each(c, count * c.heads, work / static_cast<double>(count * c.heads), scratch, [&](I u, char* memory) {
    auto& p = parts[static_cast<std::size_t>(u % count)];
    chunk(c, tile(p.tile), u / count, p.chunk, sums_at(at(u / count, u % count), tile(p.tile)), memory);
  });
  each(c, n * c.heads, kRead * static_cast<double>(count * sums) / static_cast<double>(n), sums + scratch,
       [&](I u, char* memory) {
         auto& t = tile(u % n);
         auto all = sums_at(memory, t);
         for (I k = first_chunk(t), p = begin[static_cast<std::size_t>(u % n)]; k < end_chunk(t); ++k, ++p)
           join(c, t, k, sums_at(at(u / n, p), t), all, memory + sums * element);
         finish(c, t, u / n, all, out);
       });
}

namespace {
template <class T> void write(const PagedRows& w, T* pages) {
  constexpr I P = kPagePositions;
  // A thread has whole heads, so that of two rows for one slot the later one stays.
  parallel_for(w.heads, grain_for(kRead * 4 * static_cast<double>(w.rows * w.dim)), [&](I begin, I end) {
    for (I t = 0; t < w.rows; ++t) {
      I slot = w.slots[t];
      if (slot < 0 || slot >= w.pages * P) continue;
      for (I h = begin; h < end; ++h) {
        const T* from = static_cast<const T*>(w.from) + (t * w.heads + h) * w.dim;
        T* to = pages + (slot / P * w.heads + h) * w.dim * P;
        if (w.turned)
          for (I d = 0; d < w.dim; ++d) to[d * P + slot % P] = from[d];
        else std::memcpy(to + slot % P * w.dim, from, static_cast<std::size_t>(w.dim) * sizeof(T));
      }
    }
  });
}
}  // namespace
void write_pages(const PagedRows& w, void* pages) {
  switch (w.size) {
    case 1: return write(w, static_cast<std::uint8_t*>(pages));
    case 2: return write(w, static_cast<std::uint16_t*>(pages));
    case 4: return write(w, static_cast<std::uint32_t*>(pages));
    default:
      check<DtypeError>(w.size == 8, "write_pages: no rows of elements of ", w.size, " bytes");
      return write(w, static_cast<std::uint64_t*>(pages));
  }
}
}  // namespace bora::kernels
