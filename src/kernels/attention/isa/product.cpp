// isa/product.cpp -- products that keep a block of the result in registers (as gemm/tiles.h does) and read one operand
// element by element in place, the other as vectors.
#include "kernels/attention/lanes.h"

namespace bora::kernels::BORA_ISA {
namespace {
#ifdef __AVX512F__
constexpr int kSums = 24, kMostVecs = 4;  // registers for sums; vectors of the widest block
#else
constexpr int kSums = 12, kMostVecs = 2;
#endif
constexpr int most_rows(int vecs) { return kSums / vecs < 12 ? kSums / vecs : 12; }

/// c[Rows, Vecs * size] = begin + a b, one chain of fused multiply-adds over k. ByColumn: a[r, p] at a[p * a_step + r],
/// else at a[r * a_step + p].
template <class X, int Rows, int Vecs, bool ByColumn> void block(I k, const Number<X>* a, I a_step, const Number<X>* b,
                                                                 I b_step, Number<X>* c, I c_step, From from,
                                                                 const Number<X>* factor) {
  X sum[Rows][Vecs];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) {
      if (from == From::zero) sum[r][v] = X(Number<X>(0));
      else sum[r][v] = load<X>(c + r * c_step + v * X::size);
      if (from == From::scaled) sum[r][v] = sum[r][v] * load<X>(factor + v * X::size);
    }
  for (; k > 0; --k) {
    X x[Vecs];
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) x[v] = load<X>(b + v * X::size);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      X y(a[ByColumn ? r : r * a_step]);
#pragma GCC unroll 4
      for (int v = 0; v < Vecs; ++v) sum[r][v] = fma(y, x[v], sum[r][v]);
    }
    a += ByColumn ? a_step : 1;
    b += b_step;
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) store(c + r * c_step + v * X::size, sum[r][v]);
}
template <class X>
using BlockFn = void (*)(I, const Number<X>*, I, const Number<X>*, I, Number<X>*, I, From, const Number<X>*);
template <class X, bool ByColumn> struct Blocks {
  BlockFn<X> f[kMostVecs + 1][13];
  template <int V, int R> constexpr void put() {
    f[V][R] = block<X, R, V, ByColumn>;
    if constexpr (R < most_rows(V)) put<V, R + 1>();
    else if constexpr (V < kMostVecs) put<V + 1, 1>();
  }
  constexpr Blocks() : f{} { put<1, 1>(); }
};
template <class T> struct LaneOf {
  using X = F;
};
template <> struct LaneOf<double> {
  using X = D;
};
}  // namespace

template <bool ByColumn, class T>
void product(I m, I n, I k, const T* a, I a_step, const T* b, I b_step, T* c, I c_step, From from, const T* factor) {
  using X = typename LaneOf<T>::X;
  static constexpr Blocks<X, ByColumn> blocks;
  I vecs = n / X::size, panels = (vecs + kMostVecs - 1) / kMostVecs;
  for (I p = 0; p < panels; ++p) {
    I v = vecs * p / panels, w = vecs * (p + 1) / panels - v, j = v * X::size;
    I strips = (m + most_rows(static_cast<int>(w)) - 1) / most_rows(static_cast<int>(w));
    for (I s = 0; s < strips; ++s) {
      I r = m * s / strips, rows = m * (s + 1) / strips - r;
      blocks.f[w][rows](k, a + (ByColumn ? r : r * a_step), a_step, b + j, b_step, c + r * c_step + j, c_step, from,
                        factor == nullptr ? nullptr : factor + j);
    }
  }
}
template void product<false>(I, I, I, const float*, I, const float*, I, float*, I, From, const float*);
template void product<true>(I, I, I, const float*, I, const float*, I, float*, I, From, const float*);
template void product<false>(I, I, I, const double*, I, const double*, I, double*, I, From, const double*);
template void product<true>(I, I, I, const double*, I, const double*, I, double*, I, From, const double*);
}  // namespace bora::kernels::BORA_ISA
