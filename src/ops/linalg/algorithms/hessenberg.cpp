// Hessenberg's form.
#include "ops/linalg/algorithms/hessenberg.h"
#include <algorithm>
#include <utility>

namespace bora::linalg {
namespace {
/// c -= left right^H.
template <class T> void subtract_product(Reads<T> left, Reads<T> right, Block<T> c) {
  if constexpr (kComplex<T>) {
    Owned<T> conjugates(right.rows, right.columns, Fill::none);
    copy_conjugates<T>(right, conjugates.block);
    multiply<T>(left, conjugates.block.turned(), c, Into::subtract);
  } else multiply<T>(left, right.turned(), c, Into::subtract);
}
/// Reflects the columns [begin, begin + width) of a and leaves the rest of it: v are the vectors, from row begin + 1
/// on, y = a v t on these rows.
template <class T> void reduce_panel(Block<T> a, Index begin, Block<T> v, Block<T> y, T* factors) {
  const auto n = a.rows, first = begin + 1, m = n - first;
  std::vector<T> memory(size(v.columns));
  for (Index j = 0; j < v.columns; ++j) {
    const auto c = begin + j, below = n - c - 1;
    auto inner = by_columns(memory.data(), j, 1);
    for (Index i = 0; i < j; ++i) inner(i, 0) = conjugated(v(c - first, i));
    multiply<T>(y.part(first, 0, m, j), inner, a.part(first, c, m, 1), Into::subtract);
    for (Index i = 0; i < j; ++i) {
      auto vector = &v(i, i), x = &a(first + i, c);
      add_times(-conjugated(factors[i]) * dot(vector, x, m - i), vector, x, m - i);
    }
    factors[j] = reflect(&a(c + 1, c), below);
    auto x = &v(j, j);
    std::copy_n(&a(c + 1, c), below, x);
    x[0] = 1;
    multiply<T>(a.part(first, c + 1, m, below), by_columns(x, below, 1), y.part(first, j, m, 1));
    for (Index i = 0; i < j; ++i) inner(i, 0) = dot(&v(j, i), x, below);
    multiply<T>(y.part(first, 0, m, j), inner, y.part(first, j, m, 1), Into::subtract);
    for (auto i = first; i < n; ++i) y(i, j) *= factors[j];
  }
}
}  // namespace

template <class T> HessenbergForm<T> hessenberg_form(Owned<T> given) {
  auto a = given.block;
  const auto n = a.rows, count = std::max<Index>(n - 2, 0);
  std::vector<T> factors(size(std::max<Index>(n - 1, 0)));
  for (Index begin = 0; begin < count; begin += kReductionPanel) {
    const auto width = std::min(kReductionPanel, count - begin), first = begin + 1, m = n - first, end = begin + width;
    Owned<T> vectors(m, width), products(n, width), triangle(width, width), above(first, width, Fill::none);
    auto v = vectors.block, y = products.block;
    reduce_panel(a, begin, v, y, factors.data() + begin);
    join_reflections<T>(v, factors.data() + begin, triangle.block);
    multiply<T>(a.part(0, first, first, m), v, above.block);
    multiply<T>(above.block, triangle.block, y.part(0, 0, first, width));
    subtract_product<T>(y.part(0, 0, first, width), v.part(0, 0, width - 1, width), a.part(0, first, first, width - 1));
    subtract_product<T>(y, v.part(width - 1, 0, n - end, width), a.part(0, end, n, n - end));
    Panel<T>{v, triangle.block}.apply(a.part(first, end, m, n - end), true);
  }
  Owned<T> h(n, n);
  for (Index j = 0; j < n; ++j) std::copy_n(&a(0, j), std::min(j + 2, n), &h.block(0, j));
  return {std::move(h), {std::move(given), std::move(factors), 1}};
}

#define BORA_HESSENBERG(T) template HessenbergForm<T> hessenberg_form(Owned<T>);
BORA_HESSENBERG(float)
BORA_HESSENBERG(double)
BORA_HESSENBERG(std::complex<float>)
BORA_HESSENBERG(std::complex<double>)
#undef BORA_HESSENBERG
}  // namespace bora::linalg
