// tiles.h -- packed panels and register tiles (the structure of Goto and van de Geijn 2008, "Anatomy of
// high-performance matrix multiplication"): b is packed a slab of k x some columns at a time, a a strip of rows at a
// time, and a tile of c of kRows x two vectors stays in registers over a whole slab. bf16 becomes f32 when packed.
// Each type of operands is a file of isa/.
#pragma once
#include <type_traits>
#include "kernels/array/transpose.h"
#include "kernels/gemm/block.h"
#include "kernels/gemm/simd.h"
#include "kernels/gemm/windows.h"

namespace bora::kernels::BORA_ISA {
namespace {
constexpr int kRows = Simd<float>::width == 16 ? 14 : 6;
constexpr I kStripStep = kRows > 8 ? 16 : 8;  // a strip of a^T is packed as [k][kStripStep]
constexpr I kOften = 512;                     // rows for which a slab of b is packed anew
// Values of a tile's Row (below) for a strip of a^T: read in place, and packed. With AVX-512 a stride known only at run
// time costs a tile nothing, so one does both.
constexpr I kLying = -1, kTurned = kRows > 8 ? kLying : 1;

/// Lines to prefetch: for every 16 of k, some lines `step` bytes apart; the next group lies `next` bytes further on.
/// step 0: none.
struct Ahead {
  const char* p;
  I step, next;
};
enum class From { packed, fresh, direct };
/// c[rows, columns] = a b, c + a b or c - a b, over one slab. a: element r, p at r * a_row + p * a_k. b: packed as
/// [k][2 vectors]; fresh: not packed yet, so it is read from `source` and stored to b (the stores cost nothing beside
/// the multiply-adds); direct: read from `source`.
template <class T, class In> struct Tile {
  I k;
  const T* a;
  I a_row, a_k;
  T* b;
  const In* source;
  I source_row;
  T* c;
  I ldc, columns;
  Into into;
  Ahead ahead;
};
/// Part: the last vector is not full; in a packed panel, which is read as a whole, it may be. Row: row stride of a in a
/// packed strip, whose other stride is known; 0: both strides are the tile's; kLying: row stride 1, and the tile has
/// the other one.
template <class T, class In, int Rows, int Vecs, From from, bool Part, I Row> void tile(const Tile<T, In>& t) {
  using S = Simd<T>;
  constexpr int last = Vecs - 1;
  constexpr bool turned = Row == 1 || Row == kLying;
  typename S::V acc[Rows][Vecs];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) acc[r][v] = S::all(T(0));
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)  // prefetch c even if it is only written: it is rarely in a cache
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v)
      _mm_prefetch(reinterpret_cast<const char*>(t.c + r * t.ldc + v * S::width), _MM_HINT_T0);
  const T* a = t.a;
  T* b = t.b;
  const In* source = t.source;
  const I row = Row == 0 ? t.a_row : Row == kLying ? 1 : Row, a_k = Row <= 0 ? t.a_k : Row == 1 ? kStripStep : 1,
          source_row = t.source_row;
  auto step = [&] {
    typename S::V x[Vecs];
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) {
      if constexpr (from == From::packed) x[v] = S::load(b + v * S::width);
      else if constexpr (Part)
        x[v] = v == last ? load_wide<T>(source + v * S::width, t.columns - last * S::width) : load_wide(source);
      else x[v] = load_wide(source + v * S::width);
      if constexpr (from == From::fresh) S::store(b + v * S::width, x[v]);
    }
    if constexpr (from == From::packed) _mm_prefetch(reinterpret_cast<const char*>(b + 16 * S::width), _MM_HINT_T0);
    if constexpr (from != From::packed) {
      _mm_prefetch(reinterpret_cast<const char*>(source + 12 * source_row), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(source + 12 * source_row + S::width), _MM_HINT_T0);
      source += source_row;
    }
    const T* at = a;
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r, at += row) {
      auto y = S::all(*at);
#pragma GCC unroll 2
      for (int v = 0; v < Vecs; ++v) acc[r][v] = S::fma(y, x[v], acc[r][v]);
    }
    a += a_k;
    b += 2 * S::width;
  };
  auto ahead = t.ahead;
  for (I k = t.k; k > 0; k -= 16, ahead.p += ahead.next) {
    if (ahead.step != 0) {
#pragma GCC unroll 16
      for (int i = 0; i < (turned ? 16 : Rows); ++i)
        _mm_prefetch(ahead.p + i * ahead.step, turned ? _MM_HINT_T1 : _MM_HINT_T0);
    }
    for (I p = min(k, 16); p > 0; --p) step();
  }
  [[maybe_unused]] const auto some = S::some(t.columns - last * S::width);
  const bool part = Part && (Vecs == 1 || from != From::packed || t.columns < 2 * S::width);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) {
      T* to = t.c + r * t.ldc + v * S::width;
      if (v == last && part) S::store(to, joined<S>(t.into, [&] { return S::load(to, some); }, acc[r][v]), some);
      else S::store(to, joined<S>(t.into, [&] { return S::load(to); }, acc[r][v]));
    }
}
/// Tiles of 1 .. kRows rows, with two full vectors, one full and one partial, or one partial vector. Row: for packed
/// strips. They are most of what a product takes to compile, so full and partial packed panels share one.
template <class T, class In, I Row> struct Tiles {
  using Fn = void (*)(const Tile<T, In>&);
  Fn f[3][3][kRows + 1];
  template <int R> constexpr void put() {
    f[0][0][R] = f[0][1][R] = tile<T, In, R, 2, From::packed, true, Row>;
    f[0][2][R] = tile<T, In, R, 1, From::packed, true, Row>;
    f[1][0][R] = tile<T, In, R, 2, From::fresh, false, Row>;
    f[2][0][R] = tile<T, In, R, 2, From::direct, false, 0>;
    f[2][1][R] = tile<T, In, R, 2, From::direct, true, 0>;
    f[2][2][R] = tile<T, In, R, 1, From::direct, true, 0>;
    if constexpr (R < kRows) put<R + 1>();
  }
  constexpr Tiles() : f{} { put<1>(); }
};

// Packing.
/// Copies n contiguous values, widened.
template <class T, class In> inline void copy_row(T* to, const In* from, I n) {
  using S = Simd<T>;
  I i = 0;
  for (; i + S::width <= n; i += S::width) S::store(to + i, load_wide(from + i));
  for (; i < n; ++i) to[i] = wide(from[i]);
}
/// Packs k rows of b into panels of `panel` columns, [whole][panel] each; columns beyond n are zero as far as
/// a tile reads them.
template <class T, class In> void pack_b(T* to, const In* b, I row, I col, I k, I n, I whole) {
  using S = Simd<T>;
  constexpr I panel = 2 * S::width;
  for (I j = 0; j < n; j += panel, to += whole * panel) {
    I w = min(panel, n - j);
    const In* from = b + j * col;
    if (col == 1) {
      for (I p = 0; p < k; ++p) {
        if (w == panel) copy_row(to + p * panel, from + p * row, panel);
        else {
          copy_row(to + p * panel, from + p * row, w);
          for (I i = w; i < panel; ++i) to[p * panel + i] = T(0);
        }
      }
      continue;
    }
    if (w < panel) {
      const I whole_vectors = w > S::width ? panel : S::width;  // what a tile reads
      for (I p = 0; p < k; ++p)
        for (I i = w; i < whole_vectors; ++i) to[p * panel + i] = T(0);
      if constexpr (std::is_same_v<T, In>)
        if (row == 1) {
          kernels::turn_dense(from, col, to, panel, w, k);
          continue;
        }
      for (I p = 0; p < k; ++p)
        for (I i = 0; i < w; ++i) to[p * panel + i] = wide(from[p * row + i * col]);
      continue;
    }
    I turned = 0;
    if (row == 1)
      for (constexpr I turn = 16 / sizeof(T); turned + turn <= k; turned += turn)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          typename S::V x[turn];
          columns(from + v * S::width * col + turned, col, x);
#pragma GCC unroll 4
          for (int i = 0; i < turn; ++i) S::store(to + (turned + i) * panel + v * S::width, x[i]);
        }
    for (I p = turned; p < k; ++p)
      for (I i = 0; i < panel; ++i) to[p * panel + i] = wide(from[p * row + i * col]);
  }
}
/// Packs rows [k0, k0 + k) of a matrix b that lies in parts.
template <class T, class In> void pack_parts(T* to, const In* b, const GemmBlock& g, I k0, I k, I n) {
  const I part = g.windows.part;
  for (I p = 0; p < k;) {
    const I at = (k0 + p) % part, rows = min(part - at, k - p);
    pack_b(to + p * 2 * Simd<T>::width, b + g.windows.b_parts[(k0 + p) / part] + at * g.b_row, g.b_row, g.b_col, rows,
           n, k);
    p += rows;
  }
}
/// Packs rows in which k is contiguous, as [rows][Slab].
template <class T, class In, I Slab> void pack_rows(T* to, const In* a, I row, I rows, I k) {
  for (I r = 0; r < rows; ++r) copy_row(to + r * Slab, a + r * row, k);
}
/// Packs two strips, of `first` and `second` rows, as [k][kStripStep] each, in one walk over the lines that hold both.
template <class T, class In, I Slab> void pack_columns(T* to, const In* a, I row, I col, I first, I second, I k) {
  T* next = to + Slab * kStripStep;
  I p = 0;
  if (row == 1 && col >= 2 * kStripStep)  // whole vectors: reads beyond the strips end within the next row
    for (; p + 1 < k; ++p) {
      copy_row(to + p * kStripStep, a + p * col, kStripStep);
      copy_row(next + p * kStripStep, a + p * col + first, kStripStep);
    }
  for (; p < k; ++p) {
    for (I r = 0; r < first; ++r) to[p * kStripStep + r] = wide(a[r * row + p * col]);
    for (I r = 0; r < second; ++r) next[p * kStripStep + r] = wide(a[(first + r) * row + p * col]);
  }
}

template <class T, class In, class Out> void block(const GemmBlock& g, const GemmScratch& scratch) {
  constexpr Dtype d = sizeof(T) == 8 ? Dtype::f64 : Dtype::f32;
  constexpr I slab = slab_size(d), panel = 2 * Simd<T>::width, size = sizeof(T);
  constexpr bool in_place = sizeof(T) == sizeof(Out);
  static constexpr Tiles<T, In, slab> by_row;
  static constexpr Tiles<T, In, kTurned> by_k;
  static constexpr Tiles<T, In, sizeof(In) == size ? kLying : kTurned> lying;  // what is widened is packed
  // A strip of a^T whose lines all fit in L1 is read in place; lines further apart map to too few of its sets.
  const bool lies = sizeof(In) == size && g.a_row == 1 && g.a_col != 1 && g.a_col * size <= 1 << 10;
  const auto& tiles = g.a_col == 1 ? by_row.f : lies ? lying.f : by_k.f;
  T *strip = static_cast<T*>(scratch.memory), *packed = strip + kStripBytes / size, *sums = packed + kMostPacked / size;
  const auto *a = static_cast<const In*>(g.a), *b = static_cast<const In*>(g.b);
  auto* c = static_cast<Out*>(g.c);
  const I slabs = slab_count(d, g.k), strips = (g.m + kRows - 1) / kRows, panels = (g.n + panel - 1) / panel;
  auto r_begin = [&](I t) { return g.m * t / strips; };
  // Little work per element: operands are read in place.
  const auto* patches = g.windows.patches;
  const bool parts = g.windows.b_parts != nullptr;
  const bool direct_b = g.b_col == 1 && !parts && (strips == 1 || g.k * g.n * size <= 12 << 10);
  const bool direct_a = sizeof(In) == size && direct_b && panels <= 4 && !patches;
  // Columns in even blocks, as wide as the packed slab of b and the sums of a strip have room for.
  const I room = in_place ? panels : kSumsBytes / size / kRows / panel;
  const I most = min(room, direct_b ? panels : scratch.packed / size / ((g.k + slabs - 1) / slabs) / panel);
  const I blocks = (panels + most - 1) / most;
  for (I q = 0; q < blocks; ++q) {
    const I j0 = panels * q / blocks * panel, n = min(g.n, panels * (q + 1) / blocks * panel) - j0;
    // Strips that fit in sums; of patches, those whose part of c stays in a cache, unless b had to be packed too often.
    const I fit = max(1, (in_place ? 2 * scratch.packed : kSumsBytes) / size / n / kRows);
    const I lot = !in_place ? fit : patches ? max(fit, kOften / kRows) : strips;
    for (I t0 = 0; t0 < strips; t0 += lot) {
      const I t1 = min(strips, t0 + lot), first = r_begin(t0);
      for (I s = 0; s < slabs; ++s) {
        const I k0 = g.k * s / slabs, k = g.k * (s + 1) / slabs - k0;
        const In* source = b + k0 * g.b_row + j0 * g.b_col;
        const Into into = s > 0 && g.into == Into::set ? Into::add : g.into;
        const bool again = slabs == 1 && t0 > 0;  // packed already
        if (parts && !again) pack_parts(packed, b + j0 * g.b_col, g, g.windows.k0 + k0, k, n);
        else if (g.b_col != 1 && !again) pack_b(packed, source, g.b_row, g.b_col, k, n, k);
        for (I t = t0; t < t1; ++t) {
          const I r0 = r_begin(t), rows = r_begin(t + 1) - r0;
          const In* from = a + r0 * g.a_row + k0 * g.a_col;
          Tile<T, In> x{k, strip, slab, 1, packed, source, g.b_row, nullptr, g.ldc, n, into, {}};
          if constexpr (in_place) x.c = c + r0 * g.ldc + j0;
          else x.c = sums + (r0 - first) * n, x.ldc = n;
          if (direct_a) {
            if constexpr (sizeof(In) == size) x.a = from, x.a_row = g.a_row, x.a_k = g.a_col;
          } else if (patches && patches->turned) {
            pack_taps(strip, kStripStep, a, *patches, g.windows.i0 + r0, rows, g.windows.k0 + k0, k);
            x.a_row = 1, x.a_k = kStripStep;
          } else if (patches) {
            pack_windows<T, In, slab>(strip, a, *patches, g.windows.i0 + r0, rows, g.windows.k0 + k0, k);
          } else if (g.a_col == 1) {
            pack_rows<T, In, slab>(strip, from, g.a_row, rows, k);
            x.ahead = {reinterpret_cast<const char*>(from + rows * g.a_row), g.a_row * I{sizeof(In)}, 64};
          } else if (lies) {
            if constexpr (sizeof(In) == size) x.a = from, x.a_row = 1, x.a_k = g.a_col;
            x.ahead = {reinterpret_cast<const char*>(from + rows) + 63, g.a_col * size, 16 * g.a_col * size};
          } else {  // packs two strips at a time; each of the two prefetches a part of the next pair's lines
            const I odd = (t - t0) % 2, second = odd || t + 1 == t1 ? 0 : r_begin(t + 2) - r_begin(t + 1);
            if (!odd) pack_columns<T, In, slab>(strip, from, g.a_row, g.a_col, rows, second, k);
            x.a = strip + odd * slab * kStripStep, x.a_row = 1, x.a_k = kStripStep;
            const I step = g.a_col * I{sizeof(In)};
            auto next = reinterpret_cast<const char*>(from + (rows + second) * g.a_row);
            next += -reinterpret_cast<std::uintptr_t>(next) % 64;  // the line before it is cached already
            x.ahead = {next + odd * 64, step, 16 * step};
          }
          for (I j = 0; j < n; j += panel, x.b += k * panel, x.source += panel, x.c += panel, x.columns -= panel) {
            const int part = x.columns >= panel ? 0 : x.columns > panel / 2 ? 1 : 2;
            const bool fresh = t == t0 && g.b_col == 1 && !parts && !again;
            auto way = direct_b ? From::direct : fresh ? From::fresh : From::packed;
            if (way == From::fresh && part != 0) {
              pack_b(x.b, x.source, g.b_row, 1, k, x.columns, k);
              way = From::packed;
            }
            tiles[static_cast<int>(way)][part][rows](x);
            x.ahead.step = 0;  // prefetch once
          }
        }
      }
      if constexpr (!in_place)
        for (I r = first; r < r_begin(t1); ++r) narrow(c + r * g.ldc + j0, sums + (r - first) * n, n);
    }
  }
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
