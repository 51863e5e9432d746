// isa/paged.cpp -- paged attention of one tile; see attention/paged.h.
#include "kernels/attention/paged.h"
#include "kernels/attention/tile.h"

namespace bora::kernels::BORA_ISA {
namespace {
constexpr I P = kPagePositions;
template <int N> struct Int {
  static constexpr int value = N;
};
#ifdef __AVX512F__
constexpr int kMostRows = 12, kMostVectors = 4;
#else
constexpr int kMostRows = 6, kMostVectors = 2;
#endif
/// Views of PagedSums.
template <class T> struct Sums {
  T *most, *sum, *values;
  I step;
  explicit Sums(const PagedSums& s)
      : most(static_cast<T*>(s.base)), sum(most + s.rows), values(sum + s.rows), step(s.value_dim) {}
};

// ---- products, one chain over d or over keys for each number -------------------------------------------------------
/// Prefetches the lines of n elements: pages lie anywhere, so the processor's prefetcher begins anew with each.
template <int n, class In> BORA_INLINE void fetch(const In* p) {
#pragma GCC unroll 4
  for (int i = 0; i < n; i += 64 / static_cast<int>(sizeof(In)))
    _mm_prefetch(reinterpret_cast<const char*>(p + i), _MM_HINT_T0);
}
/// scores[R rows][two vectors of keys] = q [rows, D] times keys [D, 32]. next: what is read after this page.
template <class X, int R, class In> BORA_INLINE void score_rows(I dim, const Number<X>* q, I q_step, const In* keys,
                                                                const In* next, Number<X>* scores) {
  X acc[R][2];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) acc[r][0] = acc[r][1] = X(Number<X>(0));
  for (I d = 0; d < dim; ++d) {
    fetch<2 * X::size>(next + d * P);
    X a = load_wide(keys + d * P, X()), b = load_wide(keys + d * P + X::size, X());
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      X x(q[r * q_step + d]);
      acc[r][0] = fma(x, a, acc[r][0]);
      acc[r][1] = fma(x, b, acc[r][1]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) store(scores + r * kChunk, acc[r][0]), store(scores + r * kChunk + X::size, acc[r][1]);
}
template <class X, class In>
void score_page(I rows, I dim, const Number<X>* q, I q_step, const In* keys, const In* next, Number<X>* scores) {
  for (I k = 0; k < P; k += 2 * X::size)
    for (I r = 0; r < rows;) {
      auto run = [&](auto n) {
        score_rows<X, decltype(n)::value>(dim, q + r * q_step, q_step, keys + k, next + k, scores + r * kChunk + k);
        r += decltype(n)::value;
      };
      I left = rows - r;
      if (left >= kMostRows) run(Int<kMostRows>());
      else if (kMostRows > 8 && left >= 8) run(Int<8>());
      else if (left >= 6) run(Int<6>());
      else if (left >= 4) run(Int<4>());
      else if (left >= 2) run(Int<2>());
      else run(Int<1>());
    }
}
/// sums[R rows][V vectors] += weights[rows][n keys] times values [n keys].
template <class X, int R, int V, class In> BORA_INLINE void value_block(I n, const Number<X>* weights, const In* values,
                                                                        const In* next, I step, Number<X>* sums,
                                                                        I sums_step) {
  X acc[R][V];
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) acc[r][v] = load<X>(sums + r * sums_step + v * X::size);
  for (I t = 0; t < n; ++t) {
    fetch<V * X::size>(next + t * step);
    X y[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) y[v] = load_wide(values + t * step + v * X::size, X());
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      X w(weights[r * kChunk + t]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = fma(w, y[v], acc[r][v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store(sums + r * sums_step + v * X::size, acc[r][v]);
}
template <class X, int R, class In>
void value_rows(I n, I size, const Number<X>* weights, const In* values, const In* next, I step, Number<X>* sums,
                I sums_step) {
  if (n <= 0) return;
  for (I e = 0; e < size;) {
    auto run = [&](auto v) {
      value_block<X, R, decltype(v)::value>(n, weights, values + e, next + e, step, sums + e, sums_step);
      e += decltype(v)::value * X::size;
    };
    I left = (size - e + X::size - 1) / X::size;
    if (left >= kMostVectors) run(Int<kMostVectors>());
    else if (left >= 2) run(Int<2>());
    else run(Int<1>());
  }
}
/// The values of one page, of which each row sees its own keys [from, to): those that all of some rows see are read
/// once, the others row by row. Numbers of keys that a row does not see may be anything.
template <class X, int R, class In>
void value_page(I size, const I* from, const I* to, const Number<X>* weights, const In* values, const In* next, I step,
                Number<X>* sums, I sums_step) {
  I begin = from[0], end = to[0];
  for (int r = 1; r < R; ++r) begin = max(begin, from[r]), end = min(end, to[r]);
  end = max(begin, end);
  auto alone = [&](int r, I a, I b) {
    value_rows<X, 1>(b - a, size, weights + r * kChunk + a, values + a * step, next, step, sums + r * sums_step,
                     sums_step);
  };
  for (int r = 0; r < R; ++r) alone(r, from[r], min(begin, to[r]));
  value_rows<X, R>(end - begin, size, weights + begin, values + begin * step, next + begin * step, step, sums,
                   sums_step);
  for (int r = 0; r < R; ++r) alone(r, max(end, from[r]), to[r]);
}

// ---- weights --------------------------------------------------------------------------------------------------------
template <class X> constexpr int kParts = static_cast<int>(kPadTo) / X::size;  // vectors of the 16 partial sums
template <class X> Number<X> total(const X* sums) {
  Number<X> s[kPadTo];
  for (int i = 0; i < kParts<X>; ++i) store(s + i * X::size, sums[i]);
  for (I n = kPadTo / 2; n > 0; n /= 2)
    for (I i = 0; i < n; ++i) s[i] += s[i + n];
  return s[0];
}
/// Scores [from, to) of a row become weights relative to their maximum. position: of the token, from the chunk's begin.
template <class X> void weigh_row(const PagedCall& c, Number<X>* s, I from, I to, const Number<X>* bias, I position,
                                  Number<X>& most, Number<X>& sum) {
  using T = Number<X>;
  const I begin = from / kPadTo * kPadTo, end = (to + kPadTo - 1) / kPadTo * kPadTo;
  if (c.soft_cap != 0)
    for (I i = begin; i < end; i += X::size) {
      const X cap(static_cast<T>(c.soft_cap));
      store(s + i, tanh(load<X>(s + i) / cap) * cap);
    }
  if (bias)
    for (I i = from; i < to; ++i) s[i] += bias[min(position - i, c.distances - 1)];
  for (I i = begin; i < from; ++i) s[i] = -static_cast<T>(kInf);
  for (I i = to; i < end; ++i) s[i] = -static_cast<T>(kInf);
  X high(-static_cast<T>(kInf));
  for (I i = begin; i < end; i += X::size) high = vmax(high, load<X>(s + i));
  T h[X::size];
  store(h, high);
  for (int i = 1; i < X::size; ++i) h[0] = h[i] > h[0] ? h[i] : h[0];
  most = h[0];
  const X m(h[0] == -static_cast<T>(kInf) ? T(0) : h[0]);
  X parts[kParts<X>];
  for (auto& p : parts) p = X(T(0));
  for (I i = begin; i < end; i += kPadTo)
#pragma GCC unroll 4
    for (int v = 0; v < kParts<X>; ++v) {
      X w = exp_below(load<X>(s + i + v * X::size) - m);
      store(s + i + v * X::size, w);
      parts[v] = parts[v] + w;
    }
  sum = total(parts);
}

/// Rows of a page's scores, or of its weights, times the scales of its keys, or of its values.
template <class X> void scale_page(I rows, const float* scales, Number<X>* s) {
  for (I k = 0; k < P; k += X::size) {
    const X f = load_wide(scales + k, X());
    for (I r = 0; r < rows; ++r) store(s + r * kChunk + k, load<X>(s + r * kChunk + k) * f);
  }
}

// ---- a chunk --------------------------------------------------------------------------------------------------------
/// Page: the type of keys and values.
template <class X, class In, class Page>
void chunk(const PagedCall& c, const PagedTile& t, I head, I number, const PagedSums& to, Number<X>* scratch) {
  using T = Number<X>;
  const I rows = t.rows(c), D = c.dim, E = c.value_dim, q_step = padded_to(D), room_step = padded_to(E);
  T *q = scratch, *scores = q + rows * q_step, *room = scores + rows * kChunk;
  Sums<T> sums(to);
  for (I r = 0; r < rows; ++r) {
    const auto* from = static_cast<const In*>(c.q) +
                       (((t.t0 + r / c.group) * c.heads + head) * c.group + r % c.group) * D;
    for (I d = 0; d < D; ++d) q[r * q_step + d] = static_cast<T>(from[d]) * static_cast<T>(c.scale);
  }
  const I k0 = number * kChunk, low = max(t.low, k0) - k0, high = min(t.high, k0 + kChunk) - k0;
  const I first = low / P, last = (high + P - 1) / P;
  auto page = [&](I p) { return I{t.table[k0 / P + p]} * c.heads + head; };
  constexpr bool scaled = std::is_same_v<Page, std::int8_t>;
  auto keys = [&](I p) { return static_cast<const Page*>(c.keys) + page(p) * D * P; };
  auto values_of = [&](I p) { return static_cast<const Page*>(c.values) + page(min(p, last - 1)) * P * E; };
  for (I p = first; p < last; ++p) {
    score_page<X>(rows, D, q, q_step, keys(p), p + 1 < last ? keys(p + 1) : values_of(first), scores + p * P);
    if constexpr (scaled) scale_page<X>(rows, c.key_scales + page(p) * P, scores + p * P);
  }
  auto seen = [&](I r, I& from, I& end) {
    from = max(t.from[t.t0 + r / c.group] - k0, 0), end = min(t.to[t.t0 + r / c.group] - k0, kChunk);
    return from < end;
  };
  for (I r = 0; r < rows; ++r) {
    I from, end;
    sums.most[r] = -static_cast<T>(kInf), sums.sum[r] = 0;
    for (I e = 0; e < room_step; e += X::size) store(sums.values + r * sums.step + e, X(T(0)));
    if (!seen(r, from, end)) continue;
    const T* bias = c.bias == nullptr ? nullptr
                                      : static_cast<const T*>(c.bias) + (head * c.group + r % c.group) * c.distances;
    weigh_row<X>(c, scores + r * kChunk, from, end, bias, c.positions[t.t0 + r / c.group] - k0, sums.most[r],
                 sums.sum[r]);
  }
  const bool whole = E % X::size == 0;
  for (I p = first; p < last; ++p) {
    const auto *values = values_of(p), *next = values_of(p + 1);
    if constexpr (scaled) scale_page<X>(rows, c.value_scales + page(p) * P, scores + p * P);
    if (!whole)
      for (I k = 0; k < P; ++k)
        for (I e = 0; e < room_step; ++e) room[k * room_step + e] = e < E ? static_cast<T>(values[k * E + e]) : T(0);
    for (I r = 0; r < rows;) {
      auto run = [&](auto n) {
        constexpr int R = decltype(n)::value;
        I from[R], end[R];
        for (int i = 0; i < R; ++i) {
          if (!seen(r + i, from[i], end[i])) from[i] = end[i] = 0;
          from[i] = min(max(from[i] - p * P, 0), P), end[i] = max(from[i], min(end[i] - p * P, P));
        }
        const T* weights = scores + r * kChunk + p * P;
        T* at = sums.values + r * sums.step;
        if (whole) value_page<X, R>(E, from, end, weights, values, next, E, at, sums.step);
        else value_page<X, R, T>(E, from, end, weights, room, room, room_step, at, sums.step);
        r += R;
      };
      I left = rows - r;
      if (left >= 6 && left != 8) run(Int<6>());
      else if (left >= 4) run(Int<4>());
      else if (left >= 2) run(Int<2>());
      else run(Int<1>());
    }
  }
}
template <class X> void join(const PagedCall& c, const PagedTile& t, I number, const PagedSums& part,
                             const PagedSums& to, Number<X>* scratch) {
  using T = Number<X>;
  Sums<T> one(part), all(to);
  const I k0 = number * kChunk, rows = t.rows(c), padded = padded_to(rows);
  T *mine = scratch, *its = scratch + padded;  // factors of the sums so far and of those that come
  for (I r = 0; r < padded; ++r) {
    I from = r < rows ? t.from[t.t0 + r / c.group] : 0, end = r < rows ? t.to[t.t0 + r / c.group] : 0;
    bool begins = from < end && from / kChunk == number, seen = max(from, k0) < min(end, k0 + kChunk);
    // Maxima in place of factors: exp_below(m - max(m, n)) comes next.
    mine[r] = begins ? -static_cast<T>(kInf) : seen ? all.most[r] : T(0);
    its[r] = begins ? T(0) : seen ? one.most[r] : -static_cast<T>(kInf);
    if (begins) all.most[r] = one.most[r];
    else if (seen) all.most[r] = one.most[r] > all.most[r] ? one.most[r] : all.most[r];
  }
  for (I r = 0; r < padded; r += X::size) {
    X a = load<X>(mine + r), b = load<X>(its + r), m = finite_or_0(vmax(a, b));
    store(mine + r, exp_below(a - m));
    store(its + r, exp_below(b - m));
  }
  for (I r = 0; r < rows; ++r) {
    I from = t.from[t.t0 + r / c.group], end = t.to[t.t0 + r / c.group];
    if (max(from, k0) >= min(end, k0 + kChunk)) continue;
    T *x = all.values + r * all.step, *y = one.values + r * one.step;
    if (from / kChunk == number) {
      all.sum[r] = one.sum[r];
      for (I e = 0; e < padded_to(c.value_dim); e += X::size) store(x + e, load<X>(y + e));
      continue;
    }
    const X f(mine[r]), g(its[r]);
    T s[X::size];
    store(s, fma(X(one.sum[r]), g, X(all.sum[r]) * f));
    all.sum[r] = s[0];
    for (I e = 0; e < padded_to(c.value_dim); e += X::size)
      store(x + e, fma(load<X>(y + e), g, load<X>(x + e) * f));
  }
}
/// 1 / (sum + e^(sink - most)), where sum is that of e^(score - most).
template <class X> Number<X> beside_sink(Number<X> most, Number<X> sum, Number<X> sink) {
  using T = Number<X>;
  T less[X::size];
  store(less, exp_below(X(most < sink ? most - sink : sink - most)));
  return most < sink ? less[0] / (sum * less[0] + T(1)) : T(1) / (sum + less[0]);
}
template <class X, class Out> void finish(const PagedCall& c, const PagedTile& t, I head, const PagedSums& from,
                                          Out* out) {
  using T = Number<X>;
  Sums<T> sums(from);
  for (I r = 0; r < t.rows(c); ++r) {
    I token = t.t0 + r / c.group;
    Out* to = out + ((token * c.heads + head) * c.group + r % c.group) * c.value_dim;
    bool none = t.from[token] >= t.to[token] || sums.sum[r] == 0;
    T f = none ? T(0) : T(1) / sums.sum[r];
    if (!none && c.sinks != nullptr)
      f = beside_sink<X>(sums.most[r], sums.sum[r], static_cast<const T*>(c.sinks)[head * c.group + r % c.group]);
    for (I e = 0; e < c.value_dim; ++e)
      to[e] = none ? static_cast<Out>(T(0)) : static_cast<Out>(sums.values[r * sums.step + e] * f);
  }
}
template <class Fn> void by_dtype(Dtype d, Fn f) {
  if (d == Dtype::f64) f(D(), double());
  else if (d == Dtype::f32) f(F(), float());
  else f(F(), bfloat16());
}
}  // namespace

void paged_chunk(const PagedCall& c, const PagedTile& t, I head, I number, const PagedSums& to, void* scratch) {
  by_dtype(c.dtype, [&](auto x, auto in) {
    using X = decltype(x);
    using In = decltype(in);
    auto* room = static_cast<Number<X>*>(scratch);
    if (c.key_scales) chunk<X, In, std::int8_t>(c, t, head, number, to, room);
    else chunk<X, In, In>(c, t, head, number, to, room);
  });
}
void paged_join(const PagedCall& c, const PagedTile& t, I number, const PagedSums& part, const PagedSums& all,
                void* scratch) {
  by_dtype(c.dtype, [&](auto x, auto) {
    using X = decltype(x);
    join<X>(c, t, number, part, all, static_cast<Number<X>*>(scratch));
  });
}
void paged_finish(const PagedCall& c, const PagedTile& t, I head, const PagedSums& sums, void* out) {
  by_dtype(c.dtype, [&](auto x, auto in) {
    finish<decltype(x)>(c, t, head, sums, static_cast<decltype(in)*>(out));
  });
}
}  // namespace bora::kernels::BORA_ISA
