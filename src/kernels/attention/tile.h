// tile.h -- one tile of queries against one tile of keys: the layout of their operands, their scores, and products
// of both. With tiles [keys][queries] no product needs packed operands, except for the queries. Included once per file
// of isa/.
#pragma once
#include "kernels/attention/lanes.h"
#include "kernels/array/transpose.h"

namespace bora::kernels::BORA_ISA {
namespace {
using Call = AttentionCall;
constexpr I min(I a, I b) { return a < b ? a : b; }
constexpr I max(I a, I b) { return a > b ? a : b; }

template <class X> constexpr int kQueries = 256 / static_cast<int>(sizeof(Number<X>));
template <class X> constexpr int kVectors = kQueries<X> / X::size;
constexpr int kGroup = 4;  // vectors of queries processed together
constexpr I kStep = 16;    // a tile on the diagonal is cut into steps of 16 keys or queries: the part above is skipped
BORA_INLINE F load_wide(const float* p, F) { return load<F>(p); }
BORA_INLINE D load_wide(const double* p, D) { return load<D>(p); }
BORA_INLINE F load_wide(const bfloat16* p, F) {
#ifdef __AVX512F__
  return F((F::V)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
#else
  return F((F::V)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
#endif
}
BORA_INLINE F load_wide(const std::int8_t* p, F) {
#ifdef __AVX512F__
  return F((F::V)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))));
#else
  return F((F::V)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))));
#endif
}
BORA_INLINE D load_wide(const std::int8_t* p, D) {
#ifdef __AVX512F__
  return D((D::V)_mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))));
#else
  int four;
  __builtin_memcpy(&four, p, sizeof four);
  return D((D::V)_mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(four))));
#endif
}
BORA_INLINE D load_wide(const float* p, D) {
#ifdef __AVX512F__
  return D((D::V)_mm512_cvtps_pd(_mm256_loadu_ps(p)));
#else
  return D((D::V)_mm256_cvtps_pd(_mm_loadu_ps(p)));
#endif
}

// ---- layout of operands --------------------------------------------------------------------------------------------
/// to[c * to_step + r] = from[r * row + c], in the compute type.
template <class T, class In> void transpose(T* to, I to_step, const In* from, I row, I rows, I cols) {
  I r8 = 0, c8 = 0;
  if constexpr (sizeof(T) == 4) {
    r8 = rows / 8 * 8, c8 = cols / 8 * 8;
    for (I r = 0; r < r8; r += 8)
      for (I c = 0; c < c8; c += 8) transpose8(to + c * to_step + r, to_step, from + r * row + c, row);
  }
  for (I r = 0; r < rows; ++r)
    for (I c = r < r8 ? c8 : 0; c < cols; ++c) to[c * to_step + r] = static_cast<T>(from[r * row + c]);
}
/// A tile of queries (or of d_out) as [head size][queries], times scale; queries beyond n are 0.
template <class X, class In> void turned(Number<X>* to, const In* from, I row, I n, I size, Number<X> scale) {
  transpose(to, kQueries<X>, from, row, n, size);
  for (I d = 0; d < size; ++d) {
    Number<X>* t = to + d * kQueries<X>;
    for (I q = n; q < kQueries<X>; ++q) t[q] = 0;
    for (I q = 0; q < kQueries<X>; q += X::size) store(t + q, load<X>(t + q) * X(scale));
  }
}
template <class X> struct RowsOf {
  const Number<X>* p;
  I step;
};
/// Rows as a product reads them: in place if they have the compute type (and, if read by vectors, need no padding),
/// else a copy, padded with 0.
template <class X, class In>
RowsOf<X> rows_of(const In* from, I row, I n, I size, I padded, bool by_vectors, Number<X>* room) {
  if constexpr (sizeof(In) == sizeof(Number<X>))
    if (!by_vectors || size == padded) return {from, row};
  for (I r = 0; r < n; ++r) {
    I i = 0;
    for (; i + X::size <= size; i += X::size) store(room + r * padded + i, load_wide(from + r * row + i, X()));
    for (; i < size; ++i) room[r * padded + i] = static_cast<Number<X>>(from[r * row + i]);
    for (; i < padded; ++i) room[r * padded + i] = 0;
  }
  return {room, padded};
}
template <class X, class Out> void put_row(Out* to, const Number<X>* from, I n, Number<X> scale) {
  for (I i = 0; i < n; ++i) to[i] = static_cast<Out>(from[i] * scale);
}

// ---- scores --------------------------------------------------------------------------------------------------------
/// One tile of queries against one tile of keys, and the operations on its scores.
template <class X> struct Tile {
  using T = Number<X>;
  using Whole = typename Ints<X>::Signed;
  using Id = Number<Whole>;
  static constexpr I Q = kQueries<X>;
  const Call& c;
  I b, h, g, s0, nq;  // queries [s0, s0 + nq)
  I t0 = 0, nk = 0;   // keys [t0, t0 + nk)
  I left;             // keys before a query that it may attend to
  T *mask_room, *bias_room, *drop_room, *slope_room;
  const T *mask = nullptr, *bias = nullptr, *drop = nullptr;
  T* slope = nullptr;  // d (capped score) / d (score)
  bool edge = false, segments = false;
  I begin[kKeyTile / kStep] = {};  // the first query, a multiple of kStep, that may attend to these kStep keys
  Id query_segment[Q], key_segment[kKeyTile];

  Tile(const Call& call, const AttentionPart& p, I group, I tile, const AttentionScratch& w)
      : c(call), b(p.batch), h(p.head), g(group), s0(tile * Q), nq(min(Q, call.queries - tile * Q)), left(call.left) {
    if (c.window.data) left = max(-c.queries - c.keys, min(left, at<std::int32_t>(c.window)[0] - I{1}));
    auto* base = static_cast<T*>(w.base);
    mask_room = base + w.mask, bias_room = base + w.bias, drop_room = base + w.drop;
    if (c.soft_cap != 0) slope = base + w.slope;
    for (I q = 0; q < Q; ++q)
      query_segment[q] =
          c.query_segments.data ? static_cast<Id>(at<std::int32_t>(c.query_segments, min(q, nq - 1), 0)[0]) : 0;
  }
  /// Element of query q and key t of the tile.
  template <class E> const E* at(const Call::Extra& x, I q = 0, I t = 0) const {
    return static_cast<const E*>(x.data) + x.batch[b] + h * x.head + g * x.group + (s0 + q) * x.query +
           (t0 + t) * x.key;
  }
  /// Tiles of keys that overlap the window.
  I first(I j0) const { return max(j0, max(0, s0 - left) / kKeyTile); }
  I last(I j1) const { return min(j1, (max(0, min(c.keys, s0 + nq + c.right)) + kKeyTile - 1) / kKeyTile); }

  /// Moves to the keys of tile j. False: no query attends to any of them.
  bool move(I j) {
    t0 = j * kKeyTile, nk = min(kKeyTile, c.keys - t0);
    edge = t0 + nk - 1 > s0 + c.right || t0 < s0 + nq - 1 - left;
    for (I u = 1; u < kKeyTile / kStep; ++u) {
      I from = t0 + u * kStep - c.right - s0;
      begin[u] = from > 0 ? min(from / kStep * kStep, Q) : 0;
    }
    segments = false;
    if (c.query_segments.data && !meet()) return false;
    mask = bias = nullptr;
    if (c.mask.data && !read_mask()) return false;
    if (c.bias.data) read_bias();
    return true;
  }
  bool meet() {
    Id low = query_segment[0], high = low, key_low = 0, key_high = 0;
    for (I q = 1; q < nq; ++q)
      low = query_segment[q] < low ? query_segment[q] : low, high = query_segment[q] > high ? query_segment[q] : high;
    const auto* k = at<std::int32_t>(c.key_segments);
    for (I t = 0; t < nk; ++t) {
      Id x = key_segment[t] = k[t * c.key_segments.key];
      key_low = t == 0 || x < key_low ? x : key_low, key_high = t == 0 || x > key_high ? x : key_high;
    }
    segments = low != high || key_low != key_high || low != key_low;
    return low <= key_high && key_low <= high;
  }
  bool read_mask() {
    const auto* m = at<unsigned char>(c.mask);
    I rows = c.mask.query == 0 ? 1 : nq, cols = c.mask.key == 0 ? 1 : nk, count = 0;
    for (I q = 0; q < rows; ++q)
      for (I t = 0; t < cols; ++t) count += m[q * c.mask.query + t * c.mask.key];
    if (count == 0) return false;
    if (count == rows * cols) return true;
    mask = mask_room;
    for (I t = 0; t < nk; ++t)
      for (I q = 0; q < Q; ++q) mask_room[t * Q + q] = q < nq ? m[q * c.mask.query + t * c.mask.key] : 0;
    return true;
  }
  void read_bias() {
    const auto* from = at<T>(c.bias);
    bias = bias_room;
    if (c.bias.key == 1 && c.bias.query != 0) transpose(bias_room, Q, from, c.bias.query, nq, nk);
    else
      for (I t = 0; t < nk; ++t)
        for (I q = 0; q < nq; ++q) bias_room[t * Q + q] = from[q * c.bias.query + t * c.bias.key];
    for (I t = 0; t < nk; ++t)
      for (I q = nq; q < Q; ++q) bias_room[t * Q + q] = 0;
  }
  /// Do the scores need more than the products?
  bool special() const { return slope || bias || mask || edge || segments; }
  /// Applies cap, bias and masks: masked scores become -inf.
  void adjust(T* scores) const {
    Whole position[kVectors<X>], segment[kVectors<X>];
    for (int v = 0; v < kVectors<X>; ++v) {
      for (int i = 0; i < X::size; ++i) position[v].v[i] = static_cast<Id>(s0 + v * X::size + i);
      segment[v] = Memory<Whole>::load(query_segment + v * X::size);
    }
    for (I t = 0; t < nk; ++t) {
      Whole from(static_cast<Id>(t0 + t - c.right)), to(static_cast<Id>(t0 + t + left)),
          mine(segments ? key_segment[t] : 0);
      for (int v = 0; v < kVectors<X>; ++v) {
        I at = t * Q + v * X::size;
        X x = load<X>(scores + at);
        if (slope) {
          X y = tanh(x / X(static_cast<T>(c.soft_cap)));
          store(slope + at, X(T(1)) - y * y);
          x = y * X(static_cast<T>(c.soft_cap));
        }
        if (bias) x = x + load<X>(bias + at);
        auto keep = (from <= position[v]) & (position[v] <= to);
        if (segments) keep = keep & (segment[v] == mine);
        if (mask) keep = keep & (load<X>(mask + at) != X(T(0)));
        store(scores + at, select(keep, x, X(-static_cast<T>(kInf))));
      }
    }
  }
  /// Draws the dropout factors of the weights: 0 or 1 / keep.
  void draw() {
    if (!c.random_key.data) return;
    drop = drop_room;
    const auto* key = at<std::uint32_t>(c.random_key);
    const U k0(key[0]), k1(key[1]);
    const T up = T(1) / static_cast<T>(c.keep);
    I row = at<std::int64_t>(c.row)[0] * c.queries + s0;
    for (I t = 0; t < nk; ++t)
      for (I q = 0; q < Q; q += U::size) {
        U high, low;
        for (int i = 0; i < U::size; ++i) {
          auto n = static_cast<std::uint64_t>((row + q + i) * c.keys + t0 + t);
          high.v[i] = static_cast<std::uint32_t>(n >> 32), low.v[i] = static_cast<std::uint32_t>(n);
        }
        threefry(k0, k1, high, low);
        F unit = real(((high ^ low) >> 9) | U(0x3f800000u)) - F(1.f);
        auto kept = unit < F(c.keep);
        if constexpr (sizeof(T) == 4) store(drop_room + t * Q + q, select(kept, F(up), F(0.f)));
        else
          for (int i = 0; i < U::size; ++i) drop_room[t * Q + q + i] = bora::kernels::BORA_ISA::at(kept, i) ? up : T(0);
      }
  }
};
/// Calls f(first key, number of keys, first query) for parts of a tile: all of it, or on a diagonal steps of keys with
/// the queries that may attend to them. The rest is masked: its weights are 0 and its scores are never computed.
template <class X, class F> void steps(const Tile<X>& tile, F f) {
  constexpr I last = kKeyTile / kStep - 1;
  if (tile.begin[last] == 0) return f(I{0}, tile.nk, I{0});
  for (I t = 0; t < tile.nk; t += kStep)
    if (I q = tile.begin[t / kStep]; q < tile.nq) f(t, min(kStep, tile.nk - t), q);
}
/// to[keys][queries] = keys [nk, k] times queries_t [k][queries].
template <class X> void cross(const Tile<X>& tile, I k, RowsOf<X> keys, const Number<X>* queries_t, Number<X>* to) {
  constexpr I Q = kQueries<X>;
  steps(tile, [&](I t, I n, I q) {
    product<false>(n, Q - q, k, keys.p + t * keys.step, keys.step, queries_t + q, Q, to + t * Q + q, Q, From::zero);
  });
}
/// e^x for x <= 0 (NaN stays). Denormal results become 0: they would cost more than all others.
BORA_INLINE F exp_below(F x) {
  auto far = x < F(-87.3f);
  F r, n = exp_reduce(x, r);
  constexpr double c[] = {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                          4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1};
  F y = F(1.f) + fma(polynomial(r, c), r * r, r);
  return select(far, F(0.f), real(bits(y) + (as_unsigned(to_int(n)) << 23)));
}
BORA_INLINE D exp_below(D x) { return exp(x); }
template <class X> BORA_INLINE X finite_or_0(X x) {
  return select(x == X(-static_cast<Number<X>>(kInf)), same<X>(0), x);
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
