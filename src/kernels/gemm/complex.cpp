// complex.cpp -- products of complex matrices: the parts of both operands are copied apart, and four real products give
// the parts of the result. Each real product is as fast as gemm() is.
#include <algorithm>
#include "base/api/complex.h"
#include "bora/base/parallel.h"
#include "kernels/api/complex.h"
#include "kernels/api/memory.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kElement = 2;  // ns
/// The parts of a matrix, each row-major [rows, columns].
template <class C> void split(const C* from, I row, I col, I rows, I columns, typename C::value_type* parts) {
  auto* im = parts + rows * columns;
  parallel_for(rows, grain_for(kElement * static_cast<double>(columns)), [=](I begin, I end) {
    for (I i = begin; i < end; ++i)
      for (I j = 0; j < columns; ++j) {
        auto z = from[i * row + j * col];
        parts[i * columns + j] = z.real();
        im[i * columns + j] = z.imag();
      }
  });
}
template <class C> void run(const Gemm& g) {
  using T = typename C::value_type;
  auto sa = g.m * g.k, sb = g.k * g.n, sc = g.m * g.n;
  auto memory = allocate(static_cast<std::size_t>(2 * sa + 2 * sb + 4 * sc) * sizeof(T));
  auto *a = static_cast<T*>(memory.get()), *b = a + 2 * sa, *c = b + 2 * sb;
  for (I batch = 0; batch < g.batch; ++batch) {
    split(static_cast<const C*>(g.a) + batch * g.a_batch, g.a_row, g.a_col, g.m, g.k, a);
    split(static_cast<const C*>(g.b) + batch * g.b_batch, g.b_row, g.b_col, g.k, g.n, b);
    // c[0] = re re, c[1] = im im, c[2] = re im, c[3] = im re
    for (int p = 0; p < 4; ++p)
      gemm({.dtype = dtype_of<T>, .m = g.m, .n = g.n, .k = g.k, .a = a + (p % 2) * sa, .a_row = g.k,
            .b = b + (p == 1 || p == 2) * sb, .b_row = g.n, .c = c + p * sc, .ldc = g.n});
    auto* to = static_cast<C*>(g.c) + batch * g.c_batch;
    parallel_for(g.m, grain_for(kElement * static_cast<double>(g.n)), [&](I begin, I end) {
      for (I i = begin; i < end; ++i)
        for (I j = 0; j < g.n; ++j) {
          auto k = i * g.n + j;
          C z(c[k] - c[sc + k], c[2 * sc + k] + c[3 * sc + k]);
          auto& old = to[i * g.ldc + j];
          old = g.into == Into::set ? z : g.into == Into::add ? old + z : old - z;
        }
    });
  }
}
}  // namespace

void gemm_complex(const Gemm& g) {
  if (g.dtype == complex64) run<std::complex<float>>(g);
  else run<std::complex<double>>(g);
}
}  // namespace bora::kernels
