// careful.h -- products with weights of which some are 0 because a mask is false: a row that holds NaN or an infinity
// counts for the others only, as 0 times it would be NaN. Included once per file of isa/.
#pragma once
#include <new>
#include "kernels/attention/tile.h"

namespace bora::kernels::BORA_ISA {
namespace {
template <class X> bool all_finite(RowsOf<X> rows, I n, I size) {
  using T = Number<X>;
  X sum(T(0));
  T rest = 0;
  for (I r = 0; r < n; ++r) {
    const T* p = rows.p + r * rows.step;
    I i = 0;
    for (; i + X::size <= size; i += X::size) sum = fma(load<X>(p + i), X(T(0)), sum);
    for (; i < size; ++i) rest += p[i] * T(0);
  }
  return !any(sum != sum) && rest == rest;
}
/// Rows of which a masked product takes the finite numbers, and adds the others where their weight is not 0.
template <class X> class CarefulRows {
 public:
  using T = Number<X>;
  /// masked: may a weight be 0 though the row is no number? Else nothing is looked at.
  CarefulRows(bool masked, RowsOf<X> rows, I n, I size) : all_(rows), n_(n), size_(size) {
    if (!masked || all_finite<X>(rows, n, size)) return;
    I step = (size + X::size - 1) / X::size * X::size;
    copy_ = static_cast<T*>(::operator new(static_cast<std::size_t>(n * step) * sizeof(T)));
    for (I r = 0; r < n; ++r)
      for (I i = 0; i < step; ++i) {
        T x = i < size ? rows.p[r * rows.step + i] : T(0);
        copy_[r * step + i] = x - x == 0 ? x : T(0);
      }
    step_ = step;
  }
  CarefulRows(const CarefulRows&) = delete;
  ~CarefulRows() { ::operator delete(copy_); }
  RowsOf<X> finite() const { return copy_ ? RowsOf<X>{copy_, step_} : all_; }
  /// f(row, column, number) for those that are not finite.
  template <class F> void others(F f) const {
    if (copy_ == nullptr) return;
    for (I r = 0; r < n_; ++r)
      for (I i = 0; i < size_; ++i)
        if (T x = all_.p[r * all_.step + i]; !(x - x == 0)) f(r, i, x);
  }

 private:
  RowsOf<X> all_;
  I n_, size_, step_ = 0;
  T* copy_ = nullptr;
};
/// Can a weight of this tile be 0 for another reason than its size?
template <class X> bool masks(const Tile<X>& tile) { return tile.special() || tile.drop; }

/// sums[size][queries] += transposed rows of the keys [nk, size] times weights[keys][queries], begun as `from` says.
template <class X>
void add_values(const Tile<X>& tile, I size, RowsOf<X> rows, const Number<X>* weights, Number<X>* sums, From from,
                const Number<X>* factor) {
  constexpr I Q = kQueries<X>;
  CarefulRows<X> values(masks(tile), rows, tile.nk, size);
  auto v = values.finite();
  steps(tile, [&](I t, I n, I q) {
    product<true>(size, Q - q, n, v.p + t * v.step, v.step, weights + t * Q + q, Q, sums + q, Q,
                  t == 0 ? from : From::sums, factor);
  });
  values.others([&](I t, I i, Number<X> x) {
    for (I q = tile.begin[t / kStep]; q < tile.nq; ++q)
      if (auto w = weights[t * Q + q]; w != 0) sums[i * Q + q] += w * x;
  });
}
/// to[keys, padded] += from[keys][queries] times rows of the queries [nq, padded].
template <class X>
void add_to_keys(const Tile<X>& tile, I padded, const Number<X>* from, RowsOf<X> rows, Number<X>* to) {
  constexpr I Q = kQueries<X>;
  CarefulRows<X> queries(masks(tile), rows, tile.nq, padded);
  auto r = queries.finite();
  steps(tile, [&](I t, I n, I q) {
    product<false>(n, padded, tile.nq - q, from + t * Q + q, Q, r.p + q * r.step, r.step, to + t * padded, padded,
                   From::sums);
  });
  queries.others([&](I q, I i, Number<X> x) {
    for (I t = 0; t < tile.nk; ++t)
      if (auto w = from[t * Q + q]; tile.begin[t / kStep] <= q && w != 0) to[t * padded + i] += w * x;
  });
}
/// to[queries, padded] = begin + transposed from[keys][queries] times rows of the keys [nk, padded].
template <class X>
void add_to_queries(const Tile<X>& tile, I padded, const Number<X>* from, RowsOf<X> rows, Number<X>* to, From begin) {
  constexpr I Q = kQueries<X>;
  CarefulRows<X> keys(masks(tile), rows, tile.nk, padded);
  auto r = keys.finite();
  const bool whole = tile.begin[kKeyTile / kStep - 1] == 0;
  for (I q = 0; q < tile.nq; q += whole ? tile.nq : kStep) {
    I n = whole ? tile.nk : 0;
    while (n < tile.nk && tile.begin[n / kStep] <= q) n += kStep;
    product<true>(whole ? tile.nq : min(kStep, tile.nq - q), padded, min(n, tile.nk), from + q, Q, r.p, r.step,
                  to + q * padded, padded, begin);
  }
  keys.others([&](I t, I i, Number<X> x) {
    for (I q = tile.begin[t / kStep]; q < tile.nq; ++q)
      if (auto w = from[t * Q + q]; w != 0) to[q * padded + i] += w * x;
  });
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
