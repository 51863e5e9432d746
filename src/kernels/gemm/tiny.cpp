#include "kernels/gemm/tiny.h"
#include <algorithm>
#include <cmath>
#include "bora/base/parallel.h"
#include "kernels/gemm/block.h"
#define BORA_ISA v3  // that of sources outside of isa/
#include "kernels/gemm/simd.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
using v3::Simd;
constexpr I kLeastProducts = 8, kMostWork = 216, kMostInVectors = 512, kMostSteps = 160;
constexpr double kMultiplyAdd = 0.1, kStart = 4;  // ns

/// outer x N elements of a product, N next to each other in registers: sum over k of x[outer, k] y[k, N].
struct Walk {
  I outer, x_outer, x_k, y_k, y_inner, c_outer, c_inner;
};
/// N chains of fused multiply-adds over k at a time, each from zero.
template <int N, class T> void product(const Walk& w, I k, const T* x, const T* y, T* c, Into into) {
  for (I i = 0; i < w.outer; ++i, x += w.x_outer, c += w.c_outer) {
    T sum[N] = {};
    const T *from = x, *row = y;
    if (w.y_inner == 1) {
      for (I p = 0; p < k; ++p, from += w.x_k, row += w.y_k)
        for (int j = 0; j < N; ++j) sum[j] = std::fma(*from, row[j], sum[j]);
    } else {
      for (I p = 0; p < k; ++p, from += w.x_k, row += w.y_k)
        for (int j = 0; j < N; ++j) sum[j] = std::fma(*from, row[j * w.y_inner], sum[j]);
    }
    for (int j = 0; j < N; ++j) {
      T& to = c[j * w.c_inner];
      to = into == Into::set ? sum[j] : into == Into::add ? to + sum[j] : to - sum[j];
    }
  }
}
/// The same where rows of y and c are contiguous: a row is one or two vectors, and four rows of c share those of y.
/// K: the number of steps, or 0, where only k says it.
template <int N, int K, class T>
void product_of_rows(const Walk& w, I k, const T* x, const T* y, T* c, Into into) {
  using S = Simd<T>;
  constexpr int parts = (N + S::width - 1) / S::width;
  const auto rest = S::some(N - (parts - 1) * S::width);  // of the last vector
  const auto load = [&](const T* from, int part) {
    return N % S::width != 0 && part == parts - 1 ? S::load(from + part * S::width, rest)
                                                  : S::load(from + part * S::width);
  };
  const auto rows = [&]<int R>() {
    typename S::V sum[R][parts] = {};
    const T *from = x, *row = y;
    const I steps = K > 0 ? K : k;
#pragma GCC unroll 8
    for (I p = 0; p < steps; ++p, from += w.x_k, row += w.y_k)
      for (int j = 0; j < parts; ++j) {
        const auto of_y = load(row, j);
        for (int i = 0; i < R; ++i) sum[i][j] = S::fma(S::all(from[i * w.x_outer]), of_y, sum[i][j]);
      }
    for (int i = 0; i < R; ++i, c += w.c_outer)
      for (int j = 0; j < parts; ++j) {
        const auto v = v3::joined<S>(into, [&] { return load(c, j); }, sum[i][j]);
        if (N % S::width != 0 && j == parts - 1) S::store(c + j * S::width, v, rest);
        else S::store(c + j * S::width, v);
      }
    x += R * w.x_outer;
  };
  I left = w.outer;
  for (; left >= 4; left -= 4) rows.template operator()<4>();
  if (left == 3) rows.template operator()<3>();
  if (left == 2) rows.template operator()<2>();
  if (left == 1) rows.template operator()<1>();
}
/// Are the chains side by side those of a row of c, or else those of a column? The more, the less they wait.
bool in_rows(const Gemm& g) { return g.n <= 8 && (g.m > 8 || g.n >= g.m || (g.n >= 4 && g.b_col == 1)); }
bool in_vectors(const Gemm& g) { return in_rows(g) && g.n > 1 && g.b_col == 1; }
/// Products [begin, end), each of one element, eight at a time: eight chains wait for each other less than one.
template <class T> void dots(const Gemm& g, const T* a, const T* b, T* c, I begin, I end) {
  const Walk w{1, 0, g.a_col, g.b_row, g.b_batch, 0, g.c_batch};
  for (; begin < end; ++begin) {
    if (end - begin >= 8) {
      T sum[8] = {};
      for (I p = 0; p < g.k; ++p)
        for (I j = 0; j < 8; ++j)
          sum[j] = std::fma(a[(begin + j) * g.a_batch + p * g.a_col], b[(begin + j) * g.b_batch + p * g.b_row], sum[j]);
      for (I j = 0; j < 8; ++j) {
        T& to = c[(begin + j) * g.c_batch];
        to = g.into == Into::set ? sum[j] : g.into == Into::add ? to + sum[j] : to - sum[j];
      }
      begin += 7;
      continue;
    }
    product<1>(w, g.k, a + begin * g.a_batch, b + begin * g.b_batch, c + begin * g.c_batch, g.into);
  }
}
template <class T> void run(const Gemm& g) {
  const auto *a = static_cast<const T*>(g.a), *b = static_cast<const T*>(g.b);
  auto* c = static_cast<T*>(g.c);
  const Walk rows{g.m, g.a_row, g.a_col, g.b_row, g.b_col, g.ldc, 1}, columns{g.n, g.b_col, g.b_row, g.a_col, g.a_row,
                                                                             1, g.ldc};
  const bool by_rows = in_rows(g), by_vectors = in_vectors(g);
  const auto all = [&]<int N>(I begin, I end) {
    const auto each = [&]<int K>() {
      for (; begin < end; ++begin)
        product_of_rows<N, K>(rows, g.k, a + begin * g.a_batch, b + begin * g.b_batch, c + begin * g.c_batch, g.into);
    };
    if (by_vectors) return g.k == N ? each.template operator()<N>() : each.template operator()<0>();
    for (; begin < end; ++begin)
      by_rows ? product<N>(rows, g.k, a + begin * g.a_batch, b + begin * g.b_batch, c + begin * g.c_batch, g.into)
              : product<N>(columns, g.k, b + begin * g.b_batch, a + begin * g.a_batch, c + begin * g.c_batch, g.into);
  };
  const double work = kStart + kMultiplyAdd * static_cast<double>(g.m * g.n * g.k);
  parallel_for(g.batch, grain_for(work), [&](I begin, I end) {
    switch (by_rows ? g.n : g.m) {
      case 1: return g.m == g.n ? dots(g, a, b, c, begin, end) : all.template operator()<1>(begin, end);
      case 2: return all.template operator()<2>(begin, end);
      case 3: return all.template operator()<3>(begin, end);
      case 4: return all.template operator()<4>(begin, end);
      case 5: return all.template operator()<5>(begin, end);
      case 6: return all.template operator()<6>(begin, end);
      case 7: return all.template operator()<7>(begin, end);
      default: return all.template operator()<8>(begin, end);
    }
  });
}
}  // namespace

bool gemm_tiny(const Gemm& g) {
  const bool fits = (g.dtype == Dtype::f32 || g.dtype == Dtype::f64) && g.batch >= kLeastProducts &&
                    std::min(g.m, g.n) <= 8 && slab_count(g.dtype, g.k) == 1 &&
                    g.m * g.n * g.k <= (std::min(g.m, g.n) == 1 || in_vectors(g) ? kMostInVectors : kMostWork);
  // One product after the other waits for its chains, for four cycles a step; in vectors four rows wait together.
  if (!fits || (g.m * g.n > 1 && !in_vectors(g) && (in_rows(g) ? g.m : g.n) * g.k > kMostSteps)) return false;
  g.dtype == Dtype::f64 ? run<double>(g) : run<float>(g);
  return true;
}
}  // namespace bora::kernels
