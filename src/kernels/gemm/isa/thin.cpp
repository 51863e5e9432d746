// isa/thin.cpp -- products of a matrix and one or a few vectors: the matrix is read once, in place. The vectors'
// elements multiply `width` rows or columns of the matrix at a time; rows along which k is contiguous are transposed in
// registers. Built once per instruction set.
#include "kernels/gemm/block.h"
#include "kernels/gemm/simd.h"

namespace bora::kernels::BORA_ISA {
namespace {
constexpr I kSlots = 64;  // result vectors in progress, for each of the few
// From so many vectors on columns are processed in parts that are narrow: a matrix in memory is then read some of its
// rows at a time, and the chains go on from memory.
constexpr I kSomeRows = 5, kRowsAtOnce = 16, kSlotsAtOnce = 16;
constexpr I kTogether = 8;  // vectors in one pass; the second pass finds the matrix in a cache

enum class Order { by_k, by_k_far, by_row, by_row_far };
/// sums[f][G vectors] = one slab, or it is added to them or subtracted. x: [k][F]; y: the matrix. by_k: k is
/// contiguous and `step` leads to the next row; otherwise `step` leads to the next k. far: y comes from memory, and
/// lines ahead are prefetched. begin: chains to go on with, laid out as the sums are; null: zeros.
template <class T, class In, int F, int G, Order order>
void slab(I k, const T* x, const In* y, I step, T* sums, I ld, Into into, const T* begin) {
  using S = Simd<T>;
  typename S::V acc[F][G];
#pragma GCC unroll 8
  for (int f = 0; f < F; ++f)
#pragma GCC unroll 8
    for (int g = 0; g < G; ++g) acc[f][g] = begin == nullptr ? S::all(T(0)) : S::load(begin + f * ld + g * S::width);
  auto multiply = [&](int g, const T* xs, typename S::V v) {
#pragma GCC unroll 8
    for (int f = 0; f < F; ++f) acc[f][g] = S::fma(S::all(xs[f]), v, acc[f][g]);
  };
  if constexpr (order == Order::by_k || order == Order::by_k_far) {
    constexpr int turn = 16 / sizeof(T), line = 64 / sizeof(In);
    I p = 0;
#ifdef __AVX512F__
    if constexpr (order == Order::by_k_far && sizeof(In) == 4 && G == 1)
      for (; k >= line; k -= line, p += line, x += line * F, y += line) {
        typename S::V v[line];
#pragma GCC unroll 16
        for (int r = 0; r < S::width; ++r)
          _mm_prefetch(reinterpret_cast<const char*>(y + (S::width + r) * step), _MM_HINT_T0);
        lines(y, step, v);
#pragma GCC unroll 16
        for (int i = 0; i < line; ++i) multiply(0, x + i * F, v[i]);
      }
#endif
    for (; k >= turn; k -= turn, p += turn, x += turn * F, y += turn) {
      if constexpr (order == Order::by_k_far)  // the prefetcher cannot follow as many rows: those that come next
        if (p % line == 0)
#pragma GCC unroll 4
          for (int r = 0; r < G * S::width; ++r)
            _mm_prefetch(reinterpret_cast<const char*>(y + (G * S::width + r) * step), _MM_HINT_T0);
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        typename S::V v[turn];
        columns(y + g * S::width * step, step, v);
#pragma GCC unroll 4
        for (int i = 0; i < turn; ++i) multiply(g, x + i * F, v[i]);
      }
    }
    for (; k > 0; --k, x += F, ++y)
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        alignas(64) T one[S::width];
        for (int i = 0; i < S::width; ++i) one[i] = wide(y[(g * S::width + i) * step]);
        multiply(g, x, S::load(one));
      }
  } else {
    for (; k > 0; --k, x += F, y += step)
#pragma GCC unroll 8
      for (int g = 0; g < G; ++g) {
        if constexpr (order == Order::by_row_far)
          _mm_prefetch(reinterpret_cast<const char*>(y + (F < kSomeRows ? 8 : kRowsAtOnce) * step + g * S::width),
                       F < kSomeRows ? _MM_HINT_T0 : _MM_HINT_T1);
        multiply(g, x, load_wide(y + g * S::width));
      }
  }
#pragma GCC unroll 8
  for (int f = 0; f < F; ++f)
#pragma GCC unroll 8
    for (int g = 0; g < G; ++g) {
      T* to = sums + f * ld + g * S::width;
      S::store(to, joined<S>(into, [&] { return S::load(to); }, acc[f][g]));
    }
}
/// By log2 of the number of vectors processed together: as many as registers allow, fewer where k is contiguous (then
/// few of the matrix's rows are walked at a time, which the prefetcher can follow).
template <class T, class In> struct Slabs {
  using Fn = void (*)(I, const T*, const In*, I, T*, I, Into, const T*);
  Fn f[4][kTogether + 1][4];
  template <int F, Order order> constexpr void put_rows() {
    constexpr int most = (Simd<float>::width == 16 ? 28 : 12) / F;
    auto& to = f[static_cast<int>(order)][F];
    to[0] = slab<T, In, F, 1, order>;
    if constexpr (most >= 2) to[1] = slab<T, In, F, 2, order>;
    if constexpr (most >= 4) to[2] = slab<T, In, F, 4, order>;
    if constexpr (most >= 8) to[3] = slab<T, In, F, 8, order>;
  }
  template <int F, Order order> constexpr void put_columns() {
    auto& to = f[static_cast<int>(order)][F];
    to[0] = slab<T, In, F, 1, order>;
    if constexpr (F <= 2 && !(order == Order::by_k_far && sizeof(In) == 4 && Simd<T>::width == 16))
      to[1] = slab<T, In, F, 2, order>;
  }
  template <int F> constexpr void put() {
    put_rows<F, Order::by_row>();
    put_rows<F, Order::by_row_far>();
    put_columns<F, Order::by_k>();
    put_columns<F, Order::by_k_far>();
    if constexpr (F < kTogether) put<F + 1>();
  }
  constexpr Slabs() : f{} { put<1>(); }
};

/// Shape and strides of a product few x many; y is the matrix, c the result.
struct Thin {
  I few, many, k;
  I x_few, x_k, y_many, y_k, c_few, c_many;
  Into into;
};
template <class T, class In, class Out> void thin(const Thin& t, const In* x, const In* y, Out* c, T* scratch) {
  using S = Simd<T>;
  static constexpr Slabs<T, In> slabs_of;
  constexpr Dtype d = sizeof(T) == 8 ? Dtype::f64 : Dtype::f32;
  constexpr I width = Simd<T>::width, ld = kSlots * width;
  const bool by_k = t.y_many != 1 && (t.y_k == 1 || t.k == 1);
  constexpr I near = 32 << 10;  // bytes that the first-level cache may hold already
  const bool far = t.many * t.k * I{sizeof(In)} > near;
  const auto order = by_k ? far ? Order::by_k_far : Order::by_k : far ? Order::by_row_far : Order::by_row;
  const bool as_is = sizeof(In) == sizeof(T) && t.few == 1 && t.x_k == 1,
             in_parts = order == Order::by_row_far && t.few >= kSomeRows;
  T *sums = scratch, *chains = sums + kThinRows * ld, *packed = chains + kThinRows * ld;
  const I slabs = slab_count(d, t.k), slots = (t.many + width - 1) / width, step = by_k ? t.y_many : t.y_k,
          at_once = in_parts ? kSlotsAtOnce : kSlots, passes = (t.few + kTogether - 1) / kTogether;
  auto begin = [&](I slot) { return min(slot * width, t.many - width); };  // the last vector overlaps the one before
  for (I u0 = 0; u0 < slots; u0 += at_once) {
    I u1 = min(slots, u0 + at_once);
    if (t.into != Into::set)
      for (I f = 0; f < t.few; ++f)
        for (I u = u0; u < u1; ++u)
          for (I i = 0; i < width; ++i)
            sums[f * ld + (u - u0) * width + i] = static_cast<T>(c[f * t.c_few + (begin(u) + i) * t.c_many]);
    const I whole = min(u1, t.many / width);
    for (I s = 0; s < slabs; ++s) {
      const I k0 = t.k * s / slabs, k = t.k * (s + 1) / slabs - k0;
      const Into into = s > 0 && t.into == Into::set ? Into::add : t.into;
      // Rows [f0, f0 + few) of x in pass p, [k][few].
      auto first_of = [&](I p) { return t.few * p / passes; };
      const T* xs = packed;
      if constexpr (sizeof(In) == sizeof(T))
        if (as_is) xs = x + k0;
      if (!as_is)
        for (I p = 0; p < passes; ++p)
          for (I i = 0, f0 = first_of(p), few = first_of(p + 1) - f0; i < k; ++i)
            for (I f = 0; f < few; ++f)
              packed[f0 * k + i * few + f] = wide(x[(f0 + f) * t.x_few + (k0 + i) * t.x_k]);
      // Rows [i0, i0 + n) of the slab, for every vector of the results.
      auto run = [&](I i0, I n, T* to, Into how, bool goes_on) {
        for (I u = u0; u < u1;) {
          I next = u;
          for (I p = 0; p < passes; ++p) {
            const I f0 = first_of(p), few = first_of(p + 1) - f0;
            const auto* ways = slabs_of.f[static_cast<int>(order)][few];
            int w = 3;
            while (w > 0 && (!ways[w] || u + (I{1} << w) > whole)) --w;
            // All passes take as many vectors as the one with the fewest.
            for (I v = u; v < (p == 0 ? u + (I{1} << w) : next); v += I{1} << w) {
              while (w > 0 && p > 0 && v + (I{1} << w) > next) --w;
              T* at = to + f0 * ld + (v - u0) * width;
              ways[w](n, xs + f0 * k + i0 * few, y + (k0 + i0) * t.y_k + begin(v) * t.y_many, step, at, ld, how,
                      goes_on ? at : nullptr);
            }
            if (p == 0) next = u + (I{1} << w);
          }
          u = next;
        }
      };
      if (!in_parts) {
        run(0, k, sums, into, false);
        continue;
      }
      for (I i = 0; i < k; i += kRowsAtOnce) run(i, min(kRowsAtOnce, k - i), chains, Into::set, i > 0);
      for (I f = 0; f < t.few; ++f)
        for (I u = u0; u < u1; ++u) {
          T *to = sums + f * ld + (u - u0) * width, *chain = chains + f * ld + (u - u0) * width;
          S::store(to, joined<S>(into, [&] { return S::load(to); }, S::load(chain)));
        }
    }
    for (I f = 0; f < t.few; ++f)
      for (I u = u0; u < u1; ++u) {
        const T* from = sums + f * ld + (u - u0) * width;
        Out* to = c + f * t.c_few + begin(u) * t.c_many;
        const I shared = u * width - begin(u);  // elements of the vector before, done already
        if (t.c_many == 1)
          for (I i = shared; i < width; ++i) to[i] = static_cast<Out>(from[i]);
        else
          for (I i = shared; i < width; ++i) to[i * t.c_many] = static_cast<Out>(from[i]);
      }
  }
}
template <class T, class In, class Out> bool thin(const GemmBlock& g, const GemmScratch& scratch) {
  const bool rows = g.m <= kThinRows && g.n >= Simd<T>::width, columns = g.n <= kThin && g.m >= Simd<T>::width;
  if (!rows && !columns) return false;
  const auto *a = static_cast<const In*>(g.a), *b = static_cast<const In*>(g.b);
  if (rows)
    thin({g.m, g.n, g.k, g.a_row, g.a_col, g.b_col, g.b_row, g.ldc, 1, g.into}, a, b, static_cast<Out*>(g.c),
         static_cast<T*>(scratch.memory));
  else
    thin({g.n, g.m, g.k, g.b_col, g.b_row, g.a_row, g.a_col, 1, g.ldc, g.into}, b, a, static_cast<Out*>(g.c),
         static_cast<T*>(scratch.memory));
  return true;
}
}  // namespace

bool gemm_thin(const GemmBlock& g, const GemmScratch& scratch) {
  if (g.dtype == Dtype::f64) return thin<double, double, double>(g, scratch);
  if (g.dtype == Dtype::f32) return thin<float, float, float>(g, scratch);
  return g.wide ? thin<float, bfloat16, float>(g, scratch) : thin<float, bfloat16, bfloat16>(g, scratch);
}
}  // namespace bora::kernels::BORA_ISA
