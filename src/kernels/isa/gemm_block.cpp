// isa/gemm_block.cpp -- packed panels and register tiles (the structure of Goto and van de Geijn 2008, "Anatomy of high-performance
// matrix multiplication"): b is packed a slab of k x some columns at a time, a strip of rows at a time, and a tile of c of kRows x two
// vectors stays in registers over a whole slab. bf16 becomes f32 while it is packed. Built once per instruction set.
#include "kernels/gemm_block.h"
#include "kernels/transpose.h"

namespace bora::kernels::BORA_ISA {
namespace {
using I = std::int64_t;
constexpr I min(I a, I b) { return a < b ? a : b; }

/// Vectors of the compute type: load, store, broadcast, fma.
template <class T> struct Simd;
#ifdef __AVX512F__
constexpr int kRows = 14;
template <> struct Simd<float> {
  using V = __m512;
  static constexpr int width = 16;
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static V all(float x) { return _mm512_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
};
template <> struct Simd<double> {
  using V = __m512d;
  static constexpr int width = 8;
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static V all(double x) { return _mm512_set1_pd(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V add(V a, V b) { return _mm512_add_pd(a, b); }
};
#else
constexpr int kRows = 6;
template <> struct Simd<float> {
  using V = __m256;
  static constexpr int width = 8;
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static V all(float x) { return _mm256_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
};
template <> struct Simd<double> {
  using V = __m256d;
  static constexpr int width = 4;
  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static V all(double x) { return _mm256_set1_pd(x); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static V add(V a, V b) { return _mm256_add_pd(a, b); }
};
#endif
constexpr I kStripStep = kRows > 8 ? 16 : 8;  // a strip of a^T is packed as [k][kStripStep]

float wide(float x) { return x; }
double wide(double x) { return x; }
float wide(bfloat16 x) { return x; }
/// A vector of values, made wide.
Simd<float>::V load_wide(const float* p) { return Simd<float>::load(p); }
Simd<double>::V load_wide(const double* p) { return Simd<double>::load(p); }
Simd<float>::V load_wide(const bfloat16* p) {
#ifdef __AVX512F__
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
#else
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
#endif
}
/// What comes next from memory: lines of the next strip of a, asked for while this one is computed.
struct Ahead {
  const char* p;
  I step;
};

/// c[Rows, Vecs * width] = (add ? c : 0) + a b. b: k rows of `width * 2` packed values; Fresh: not yet packed, so they are taken from
/// `source` and left there (the stores cost nothing beside the multiply-adds). a: Rows x k; RowStep != 1: k contiguous, rows at RowStep;
/// else rows contiguous, k at k_step.
template <class T, class In, int Rows, int Vecs, bool Fresh, I RowStep>
void tile(I k, const T* a, I k_step, T* b, T* c, I ldc, bool add, Ahead ahead, const In* source, I source_step) {
  using S = Simd<T>;
  constexpr bool by_row = RowStep != 1;
  if constexpr (by_row) k_step = 1;
  typename S::V acc[Rows][Vecs];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) acc[r][v] = S::all(T(0));
  auto step = [&] {
    typename S::V x[Vecs];
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) {
      if constexpr (Fresh) {
        x[v] = load_wide(source + v * S::width);
        S::store(b + v * S::width, x[v]);
      } else x[v] = S::load(b + v * S::width);
    }
    if constexpr (Fresh) {
      _mm_prefetch(reinterpret_cast<const char*>(source + 12 * source_step), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(source + 12 * source_step + S::width), _MM_HINT_T0);
      source += source_step;
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      auto y = S::all(a[r * RowStep]);
#pragma GCC unroll 2
      for (int v = 0; v < Vecs; ++v) acc[r][v] = S::fma(y, x[v], acc[r][v]);
    }
    a += k_step;
    b += 2 * S::width;
  };
  if constexpr (by_row) {
    for (; k > 0; k -= 16, ahead.p += 64) {
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) _mm_prefetch(ahead.p + r * ahead.step, _MM_HINT_T0);
      for (I p = min(k, 16); p > 0; --p) step();
    }
  } else {
    for (; k > 0; --k, ahead.p += ahead.step) {
      _mm_prefetch(ahead.p, _MM_HINT_T1);
      step();
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) {
      T* to = c + r * ldc + v * S::width;
      S::store(to, add ? S::add(S::load(to), acc[r][v]) : acc[r][v]);
    }
}
template <class T, class In> using TileFn = void (*)(I, const T*, I, T*, T*, I, bool, Ahead, const In*, I);
/// Tiles of 1 .. kRows rows; [0]: one vector wide, [1]: two, [2]: two, from an operand not yet packed.
template <class T, class In, I RowStep> struct Tiles {
  TileFn<T, In> f[3][kRows + 1];
  template <int R> constexpr void put() {
    f[0][R] = tile<T, In, R, 1, false, RowStep>;
    f[1][R] = tile<T, In, R, 2, false, RowStep>;
    f[2][R] = tile<T, In, R, 2, true, RowStep>;
    if constexpr (R < kRows) put<R + 1>();
  }
  constexpr Tiles() : f{} { put<1>(); }
};

// Packing.
/// n contiguous values.
template <class T, class In> inline void copy_row(T* to, const In* from, I n) {
  using S = Simd<T>;
  I i = 0;
  for (; i + S::width <= n; i += S::width) S::store(to + i, load_wide(from + i));
  for (; i < n; ++i) to[i] = wide(from[i]);
}
/// Panels of `panel` columns, [k][panel] each; columns beyond n are zero.
template <class T, class In> void pack_b(T* to, const In* b, I row, I col, I k, I n) {
  constexpr I panel = 2 * Simd<T>::width;
  for (I j = 0; j < n; j += panel, to += k * panel) {
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
    I p0 = 0, full = 0;
    if constexpr (sizeof(T) == 4) {
      if (row == 1) {
        full = w / 8 * 8;
        p0 = k / 8 * 8;
        for (I i = 0; i < full; i += 8)
          for (I p = 0; p < p0; p += 8) transpose8(to + p * panel + i, panel, from + p + i * col, col);
      }
    }
    for (I p = 0; p < k; ++p)
      for (I i = p < p0 ? full : 0; i < panel; ++i) to[p * panel + i] = i < w ? wide(from[p * row + i * col]) : T(0);
  }
}
/// Rows where k is contiguous, as [rows][Slab].
template <class T, class In, I Slab> void pack_rows(T* to, const In* a, I row, I rows, I k) {
  for (I r = 0; r < rows; ++r) copy_row(to + r * Slab, a + r * row, k);
}
/// Two strips, of `first` and `second` rows, as [k][kStripStep] each, in one walk over the lines that hold both.
template <class T, class In, I Slab> void pack_columns(T* to, const In* a, I row, I col, I first, I second, I k) {
  T* next = to + Slab * kStripStep;
  I p = 0;
  if (row == 1 &&
      col >= 2 * kStripStep)  // whole vectors: what is read beyond the strips lies before the end of the next row
    for (; p + 1 < k; ++p) {
      copy_row(to + p * kStripStep, a + p * col, kStripStep);
      copy_row(next + p * kStripStep, a + p * col + first, kStripStep);
    }
  for (; p < k; ++p) {
    for (I r = 0; r < first; ++r) to[p * kStripStep + r] = wide(a[r * row + p * col]);
    for (I r = 0; r < second; ++r) next[p * kStripStep + r] = wide(a[(first + r) * row + p * col]);
  }
}

/// rows x n of one slab; c[rows, n] (+)=. source: b where its rows are contiguous: the first strip packs it; else null: packed already.
template <class T, class In, I Slab> void slab_product(const In* a, I row, I col, const In* source, I source_row,
                                                       T* packed, I m, I n, I k, T* c, I ldc, bool add, T* strip) {
  static constexpr Tiles<T, In, Slab> by_row;
  static constexpr Tiles<T, In, 1> by_k;
  constexpr I panel = 2 * Simd<T>::width;
  const auto& f = col == 1 ? by_row.f : by_k.f;
  I strips = (m + kRows - 1) / kRows;
  auto begin = [&](I s) { return m * s / strips; };
  for (I s = 0; s < strips; ++s) {
    I r0 = begin(s), rows = begin(s + 1) - r0;
    const In* from = a + r0 * row;
    const T* x = strip;
    if (col == 1) pack_rows<T, In, Slab>(strip, from, row, rows, k);
    else if (s % 2 == 1) x = strip + Slab * kStripStep;
    else pack_columns<T, In, Slab>(strip, from, row, col, rows, s + 1 < strips ? begin(s + 2) - begin(s + 1) : 0, k);
    Ahead ahead{reinterpret_cast<const char*>(from + rows * row), (col == 1 ? row : col) * static_cast<I>(sizeof(In))};
    for (I j = 0; j < n; j += panel) {
      I w = min(panel, n - j);
      T *to = c + r0 * ldc + j, *b = packed + j * k;
      bool fresh = s == 0 && source != nullptr;
      if (w == panel)
        f[fresh ? 2 : 1][rows](k, x, kStripStep, b, to, ldc, add, ahead, fresh ? source + j : nullptr, source_row);
      else {  // the last columns go through a tile of their own
        if (fresh) pack_b(b, source + j, source_row, 1, k, w);
        alignas(64) T edge[kRows * panel];
        f[w > panel / 2][rows](k, x, kStripStep, b, edge, panel, false, ahead, nullptr, 0);
        for (I r = 0; r < rows; ++r)
          for (I i = 0; i < w; ++i) to[r * ldc + i] = add ? to[r * ldc + i] + edge[r * panel + i] : edge[r * panel + i];
      }
      ahead.step = 0;  // asked for once
    }
  }
}

template <class T, class In, class Out> void block(const GemmBlock& g, T* scratch) {
  constexpr Dtype d = sizeof(T) == 8 ? Dtype::f64 : Dtype::f32;
  constexpr I slab = slab_size(d);
  constexpr bool direct = sizeof(T) == sizeof(Out);
  T *strip = scratch, *packed = scratch + kStripBytes / sizeof(T), *sums = packed + kPackedBytes / sizeof(T);
  const auto *a = static_cast<const In*>(g.a), *b = static_cast<const In*>(g.b);
  auto* c = static_cast<Out*>(g.c);
  I slabs = slab_count(d, g.k);
  constexpr I panel = 2 * Simd<T>::width;
  // Columns in even blocks, as many as a packed slab of b has room for.
  I panels = (g.n + panel - 1) / panel,
    most = min(4096, kPackedBytes / static_cast<I>(sizeof(T)) / ((g.k + slabs - 1) / slabs)) / panel;
  I blocks = (panels + most - 1) / most;
  for (I q = 0; q < blocks; ++q) {
    I j = panels * q / blocks * panel, n = min(g.n, panels * (q + 1) / blocks * panel) - j;
    for (I i = 0, m = direct ? g.m : kSumsBytes / static_cast<I>(sizeof(T)) / n; i < g.m; i += m) {
      I rows = min(m, g.m - i), ld = direct ? g.ldc : n;
      T* to;
      if constexpr (direct) to = c + i * g.ldc + j;
      else to = sums;
      for (I s = 0; s < slabs; ++s) {
        I k0 = g.k * s / slabs, k = g.k * (s + 1) / slabs - k0;
        const In* from = b + k0 * g.b_row + j * g.b_col;
        if (g.b_col != 1) pack_b(packed, from, g.b_row, g.b_col, k, n);
        slab_product<T, In, slab>(a + i * g.a_row + k0 * g.a_col, g.a_row, g.a_col, g.b_col == 1 ? from : nullptr,
                                  g.b_row, packed, rows, n, k, to, ld, s > 0, strip);
      }
      if constexpr (!direct)
        for (I r = 0; r < rows; ++r)
          for (I x = 0; x < n; ++x) c[(i + r) * g.ldc + j + x] = sums[r * n + x];
    }
  }
}
}  // namespace

void gemm_block(const GemmBlock& g, void* scratch) {
  if (g.dtype == Dtype::f64) block<double, double, double>(g, static_cast<double*>(scratch));
  else if (g.dtype == Dtype::f32) block<float, float, float>(g, static_cast<float*>(scratch));
  else if (g.wide) block<float, bfloat16, float>(g, static_cast<float*>(scratch));
  else block<float, bfloat16, bfloat16>(g, static_cast<float*>(scratch));
}
}  // namespace bora::kernels::BORA_ISA
