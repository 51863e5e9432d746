// QR iterations on a small matrix.
#include "ops/linalg/algorithms/schur_window.h"
#include <algorithm>
#include "ops/linalg/algorithms/lanes.h"
#include "ops/linalg/algorithms/reflections.h"
#include "ops/linalg/algorithms/schur_pairs.h"

namespace bora::linalg {
template <class T> bool negligible(Reads<T> h, Index k) {
  const auto least = kLeast * (static_cast<double>(h.rows) / kEps), beside = size_of(h(k, k - 1));
  if (beside <= least) return true;
  auto test = size_of(h(k - 1, k - 1)) + size_of(h(k, k));
  if (test == 0 && k > 1) test += size_of(h(k - 1, k - 2));
  if (test == 0 && k + 1 < h.rows) test += size_of(h(k + 1, k));
  if (beside > kEps * test) return false;
  const auto above = size_of(h(k - 1, k)), own = size_of(h(k, k)), gap = size_of(h(k - 1, k - 1) - h(k, k));
  const auto larger = std::max(beside, above), smaller = std::min(beside, above);
  const auto a = std::max(own, gap), b = std::min(own, gap), sum = a + larger;
  return smaller * (larger / sum) <= std::max(least, kEps * (b * (a / sum)));
}
template <class T> Index begin_of_block(Block<T> h, Index last) {
  auto first = last;
  while (first > 0 && !negligible<T>(h, first)) --first;
  if (first > 0) h(first, first - 1) = 0;
  return first;
}
template <class T> Shifts eigenvalues_of_pair(Reads<T> h, Index i) {
  const T a = h(i, i), b = h(i, i + 1), c = h(i + 1, i), d = h(i + 1, i + 1);
  const T p = (a - d) / 2.0, q = p * p + b * c;
  if constexpr (!kComplex<T>)
    if (q < 0) {
      const auto middle = d + p, side = std::sqrt(-q);
      return {{middle, side}, {middle, -side}};
    }
  const T root = std::sqrt(q), one = p + root, other = p - root, z = size_of(one) > size_of(other) ? one : other;
  return {d + z, z == T(0) ? d : T(d - b / z * c)};
}
template <class T> std::vector<Complex> eigenvalues_of(Reads<T> t, Index count) {
  std::vector<Complex> r;
  for (Index i = 0; i < count; ++i) {
    if (!kComplex<T> && i + 1 < count && t(i + 1, i) != T(0)) {
      auto [one, other] = eigenvalues_of_pair<T>(t, i++);
      r.push_back(one), r.push_back(other);
    } else r.push_back(t(i, i));
  }
  return r;
}

template <class T> void chase(Block<T> h, Block<T> u, Index k, Index first, Index last, const Shifts& shifts) {
  const auto rows = std::min<Index>(3, last - k + 1);
  T x[3] = {};
  if (k == first) {
    // A multiple of the first column of (h - s1) (h - s2).
    const Complex a = h(k, k), d = h(k + 1, k + 1);
    const auto [s1, s2] = shifts;
    const auto scale = size_of(a - s2) + size_of(h(k + 1, k)) + size_of(s2 - s1);
    if (scale == 0) return;
    const auto below = h(k + 1, k) / scale;
    const Complex start = (a - s1) * ((a - s2) / scale), sum = a + d - s1 - s2;
    if constexpr (kComplex<T>) {
      x[0] = below * h(k, k + 1) + start;
      x[1] = below * sum;
    } else {
      x[0] = below * h(k, k + 1) + start.real();
      x[1] = below * sum.real();
    }
    if (rows == 3) x[2] = below * h(k + 2, k + 1);
  } else
    for (Index i = 0; i < rows; ++i) x[i] = h(k + i, k - 1);
  const auto factor = reflect(x, rows);
  if (k != first) {
    h(k, k - 1) = x[0];
    for (Index i = 1; i < rows; ++i) h(k + i, k - 1) = 0;
  }
  if (factor == T(0)) return;
  x[0] = 1;
  const SmallReflection<T> r{{x[0], x[1], x[2]}, factor, rows};
  r.on_rows(h, k, k, h.columns);
  r.on_columns(h, k, 0, std::min(k + 4, last + 1));
  r.on_columns(u, k, 0, u.rows);
}
template <class T> bool iterate(Block<T> h, Block<T> u) {
  Index tries = 0;
  for (auto last = h.rows - 1; last >= 0;) {
    const auto first = begin_of_block(h, last);
    if (last - first < 2) {
      if (last != first) standardize(h, u, first);
      last = first - 1;
      tries = 0;
      continue;
    }
    if (++tries > kIterations * 4) return false;
    auto shifts = eigenvalues_of_pair<T>(h, last - 1);
    if (tries % 10 == 0) {  // exceptional ones, against a cycle: of the lower end and of the upper end in turn
      const auto low = tries % 20 == 0;
      const auto i = low ? last : first + 1;
      const auto side = size_of(h(i, i - 1)) + size_of(low ? h(i - 1, i - 2) : h(i + 1, i));
      const Complex middle = Complex(h(low ? i : first, low ? i : first)) + 0.75 * side;
      const Complex turn(0, side * std::sqrt(0.4375));
      shifts = {middle + turn, middle - turn};
    } else if (!kComplex<T> && shifts.first.imag() == 0) {  // twice the real one that is closer
      const Complex end = h(last, last);
      const auto [one, other] = shifts;
      const auto closer = std::abs(one - end) <= std::abs(other - end) ? one : other;
      shifts = {closer, closer};
    }
    for (auto k = first; k < last; ++k) chase(h, u, k, first, last, shifts);
  }
  return true;
}
template <class T>
void reflect_both(Block<T> t, Block<T> u, const T* x, T factor, Index first, Index count, Index from) {
  if (factor == T(0)) return;
  for (auto j = from; j < t.columns; ++j) {
    auto column = &t(first, j);
    add_times(-conjugated(factor) * dot(x, column, count), x, column, count);
  }
  std::vector<T> sums(static_cast<std::size_t>(std::max(t.rows, u.rows)));
  auto from_right = [&](Block<T> a) {
    std::fill(sums.begin(), sums.end(), T(0));
    for (Index j = 0; j < count; ++j) add_times(x[j], &a(0, first + j), sums.data(), a.rows);
    for (Index j = 0; j < count; ++j) add_times(-factor * conjugated(x[j]), sums.data(), &a(0, first + j), a.rows);
  };
  from_right(t);
  from_right(u);
}

#define BORA_WINDOW(T)                                                                  \
  template bool negligible<T>(Reads<T>, Index);                                         \
  template Index begin_of_block(Block<T>, Index);                                       \
  template Shifts eigenvalues_of_pair<T>(Reads<T>, Index);                              \
  template std::vector<Complex> eigenvalues_of<T>(Reads<T>, Index);                     \
  template void chase(Block<T>, Block<T>, Index, Index, Index, const Shifts&);          \
  template bool iterate(Block<T>, Block<T>);                                            \
  template void reflect_both(Block<T>, Block<T>, const T*, T, Index, Index, Index);
BORA_WINDOW(double)
BORA_WINDOW(Complex)
#undef BORA_WINDOW
}  // namespace bora::linalg
