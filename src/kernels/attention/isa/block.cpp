// isa/block.cpp -- see attention/block.h. Products keep a block of the result in registers (as gemm/isa/block.cpp does)
// and read one operand element by element in place, the other as vectors; with tiles [keys][queries] no product needs
// packed operands, except for the queries.
#include "kernels/attention/block.h"
#include "kernels/attention/transpose.h"
#include "kernels/loop/functions.h"

namespace bora::kernels::BORA_ISA {
namespace {
using I = std::int64_t;
using Call = AttentionCall;
constexpr I min(I a, I b) { return a < b ? a : b; }
constexpr I max(I a, I b) { return a > b ? a : b; }

template <class X> using Number = typename X::Storage;
template <class X> constexpr int kQueries = 256 / static_cast<int>(sizeof(Number<X>));
template <class X> constexpr int kVectors = kQueries<X> / X::size;
constexpr int kGroup = 4;  // vectors of queries processed together
constexpr I kStep = 16;    // a tile on the diagonal is cut into steps of 16 keys or queries: the part above is skipped

#ifdef __AVX512F__
constexpr int kSums = 24, kMostVecs = 4;  // registers for sums; vectors of the widest block
#else
constexpr int kSums = 12, kMostVecs = 2;
#endif
constexpr int most_rows(int vecs) { return kSums / vecs < 12 ? kSums / vecs : 12; }

template <class X> BORA_INLINE X load(const Number<X>* p) { return Memory<X>::load(p); }
template <class X> BORA_INLINE void store(Number<X>* p, X x) { Memory<X>::store(p, x); }
BORA_INLINE F load_wide(const float* p, F) { return load<F>(p); }
BORA_INLINE D load_wide(const double* p, D) { return load<D>(p); }
BORA_INLINE F load_wide(const bfloat16* p, F) {
#ifdef __AVX512F__
  return F((F::V)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
#else
  return F((F::V)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
#endif
}

// ---- products ------------------------------------------------------------------------------------------------------
enum class From { zero, sums, scaled };  // initial sums: 0, c, or c times a factor per column
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
/// c[m, n] = begin + a[m, k] b[k, n], n a multiple of X::size. See block.
template <class X, bool ByColumn> void product(I m, I n, I k, const Number<X>* a, I a_step, const Number<X>* b,
                                               I b_step, Number<X>* c, I c_step, From from,
                                               const Number<X>* factor = nullptr) {
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
  T *mask_room, *bias_room, *drop_room, *slope_room;
  const T *mask = nullptr, *bias = nullptr, *drop = nullptr;
  T* slope = nullptr;  // d (capped score) / d (score)
  bool edge = false, segments = false;
  I begin[kKeyTile / kStep] = {};  // the first query, a multiple of kStep, that may attend to these kStep keys
  Id query_segment[Q], key_segment[kKeyTile];

  Tile(const Call& call, const AttentionPart& p, I group, I tile, const AttentionScratch& w)
      : c(call), b(p.batch), h(p.head), g(group), s0(tile * Q), nq(min(Q, call.queries - tile * Q)) {
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
  I first(I j0) const { return max(j0, max(0, s0 - c.left) / kKeyTile); }
  I last(I j1) const { return min(j1, (max(0, min(c.keys, s0 + nq + c.right)) + kKeyTile - 1) / kKeyTile); }

  /// Moves to the keys of tile j. False: no query attends to any of them.
  bool move(I j) {
    t0 = j * kKeyTile, nk = min(kKeyTile, c.keys - t0);
    edge = t0 + nk - 1 > s0 + c.right || t0 < s0 + nq - 1 - c.left;
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
      Whole from(static_cast<Id>(t0 + t - c.right)), to(static_cast<Id>(t0 + t + c.left)),
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
    product<X, false>(n, Q - q, k, keys.p + t * keys.step, keys.step, queries_t + q, Q, to + t * Q + q, Q, From::zero);
  });
}
/// to[keys, padded] += from[keys][queries] times rows of the queries [nq, padded].
template <class X>
void add_to_keys(const Tile<X>& tile, I padded, const Number<X>* from, RowsOf<X> rows, Number<X>* to) {
  constexpr I Q = kQueries<X>;
  steps(tile, [&](I t, I n, I q) {
    product<X, false>(n, padded, tile.nq - q, from + t * Q + q, Q, rows.p + q * rows.step, rows.step, to + t * padded,
                      padded, From::sums);
  });
}
/// to[queries, padded] = begin + transposed from[keys][queries] times rows of the keys [nk, padded].
template <class X>
void add_to_queries(const Tile<X>& tile, I padded, const Number<X>* from, RowsOf<X> rows, Number<X>* to, From begin) {
  constexpr I Q = kQueries<X>;
  const bool whole = tile.begin[kKeyTile / kStep - 1] == 0;
  for (I q = 0; q < tile.nq; q += whole ? tile.nq : kStep) {
    I n = whole ? tile.nk : 0;
    while (n < tile.nk && tile.begin[n / kStep] <= q) n += kStep;
    product<X, true>(whole ? tile.nq : min(kStep, tile.nq - q), padded, min(n, tile.nk), from + q, Q, rows.p, rows.step,
                     to + q * padded, padded, begin);
  }
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

/// Turns scores into weights relative to the running maximum, and updates the sums of exp and the factor that rescales
/// the earlier sums. True: that factor is 1.
template <class X>
bool weigh(const Tile<X>& tile, Number<X>* scores, Number<X>* most, Number<X>* sum, Number<X>* factor) {
  constexpr I Q = kQueries<X>;
  bool same_most = true;
  for (int v0 = 0; v0 < kVectors<X>; v0 += kGroup) {
    X m[kGroup], l[kGroup], old[kGroup];
    I at = v0 * X::size;
#pragma GCC unroll 4
    for (int v = 0; v < kGroup; ++v) m[v] = old[v] = load<X>(most + at + v * X::size);
    for (I t = 0; t < tile.nk; ++t)
#pragma GCC unroll 4
      for (int v = 0; v < kGroup; ++v) m[v] = vmax(m[v], load<X>(scores + t * Q + at + v * X::size));
#pragma GCC unroll 4
    for (int v = 0; v < kGroup; ++v) {
      same_most = same_most && !any(m[v] != old[v]);
      store(most + at + v * X::size, m[v]);
      m[v] = finite_or_0(m[v]);
      X f = exp_below(old[v] - m[v]);
      store(factor + at + v * X::size, f);
      l[v] = load<X>(sum + at + v * X::size) * f;
    }
    for (I t = 0; t < tile.nk; ++t)
#pragma GCC unroll 4
      for (int v = 0; v < kGroup; ++v) {
        Number<X>* p = scores + t * Q + at + v * X::size;
        X w = exp_below(load<X>(p) - m[v]);
        l[v] = l[v] + w;
        store(p, tile.drop ? w * load<X>(tile.drop + t * Q + at + v * X::size) : w);
      }
#pragma GCC unroll 4
    for (int v = 0; v < kGroup; ++v) store(sum + at + v * X::size, l[v]);
  }
  return same_most;
}

template <class X, class In>
void forward(const Call& c, const AttentionPart& p, void* out, void* lse, const AttentionScratch& w) {
  using T = Number<X>;
  constexpr I Q = kQueries<X>;
  auto* base = static_cast<T*>(w.base);
  T *queries = base + w.queries_t, *sums = base + w.out_t, *scores = base + w.scores, *most = base + w.rows,
    *sum = most + Q, *factor = sum + Q;
  I heads = c.heads * c.group, head = p.head * c.group + p.g0;
  Tile<X> tile(c, p, p.g0, p.i0, w);
  turned<X>(queries, static_cast<const In*>(c.q) + ((p.batch * c.queries + tile.s0) * heads + head) * c.dim,
            heads * c.dim, tile.nq, c.dim, static_cast<T>(c.scale));
  for (I q = 0; q < Q; ++q) most[q] = -static_cast<T>(kInf), sum[q] = 0;
  bool begun = false;
  for (I j = tile.first(p.j0), end = tile.last(p.j1); j < end; ++j) {
    if (!tile.move(j)) continue;
    I row = (p.batch * c.keys + tile.t0) * c.heads + p.head;
    auto k = rows_of<X>(static_cast<const In*>(c.k) + row * c.dim, c.heads * c.dim, tile.nk, c.dim, w.dim, false,
                        base + w.keys);
    cross(tile, c.dim, k, queries, scores);
    if (tile.special()) tile.adjust(scores);
    tile.draw();
    bool same_most = weigh(tile, scores, most, sum, factor);
    auto v = rows_of<X>(static_cast<const In*>(c.v) + row * c.value_dim, c.heads * c.value_dim, tile.nk, c.value_dim,
                        w.value_dim, false, base + w.values);
    auto from = !begun ? From::zero : same_most ? From::sums : From::scaled;
    steps(tile, [&](I t, I n, I q) {
      product<X, true>(c.value_dim, Q - q, n, v.p + t * v.step, v.step, scores + t * Q + q, Q, sums + q, Q,
                       t == 0 ? from : From::sums, factor);
    });
    begun = true;
  }
  T* to = static_cast<T*>(lse) + ((p.batch * c.heads + p.head) * c.group + p.g0) * c.queries + tile.s0;
  for (I q = 0; q < Q; q += X::size) {
    X l = load<X>(sum + q);
    auto none = l == X(T(0));
    store(factor + q, select(none, X(T(0)), X(T(1)) / l));
    store(most + q, select(none, X(-static_cast<T>(kInf)), load<X>(most + q) + log(l)));
  }
  for (I q = 0; q < tile.nq; ++q) to[q] = most[q];
  for (I d = 0; d < c.value_dim; ++d)
    for (I q = 0; q < Q; q += X::size) {
      X f = load<X>(factor + q);
      store(sums + d * Q + q, begun ? load<X>(sums + d * Q + q) * f : X(T(0)));
    }
  auto* o = static_cast<In*>(out) + ((p.batch * c.queries + tile.s0) * heads + head) * c.value_dim;
  if constexpr (sizeof(In) == sizeof(T)) transpose(o, heads * c.value_dim, sums, Q, c.value_dim, tile.nq);
  else {
    T* rows = base + w.values;
    transpose(rows, c.value_dim, sums, Q, c.value_dim, tile.nq);
    for (I q = 0; q < tile.nq; ++q) put_row<X>(o + q * heads * c.value_dim, rows + q * c.value_dim, c.value_dim, T(1));
  }
}

/// Replaces scores by weights, and d (weights) by the derivatives of the scores: with respect to the products q.k, or
/// to the bias if `to_bias`.
template <class X> void differentiate(const Tile<X>& tile, Number<X>* scores, Number<X>* d_scores, const Number<X>* lse,
                                      const Number<X>* delta, bool to_bias) {
  constexpr I Q = kQueries<X>;
  for (int v0 = 0; v0 < kVectors<X>; v0 += kGroup) {
    X l[kGroup], d[kGroup];
    I at = v0 * X::size;
#pragma GCC unroll 4
    for (int v = 0; v < kGroup; ++v) l[v] = load<X>(lse + at + v * X::size), d[v] = load<X>(delta + at + v * X::size);
    for (I t = 0; t < tile.nk; ++t)
#pragma GCC unroll 4
      for (int v = 0; v < kGroup; ++v) {
        I i = t * Q + at + v * X::size;
        X w = exp_below(load<X>(scores + i) - l[v]), dw = load<X>(d_scores + i);
        if (tile.drop) {
          X f = load<X>(tile.drop + i);
          store(scores + i, w * f);
          dw = dw * f;
        } else store(scores + i, w);
        X ds = w * (dw - d[v]);
        if (tile.slope && !to_bias) ds = ds * load<X>(tile.slope + i);
        store(d_scores + i, ds);
      }
  }
}
template <class X, class In> void backward(const Call& c, const AttentionGradient& grad, const AttentionPart& p,
                                           AttentionWant want, const AttentionScratch& w) {
  using T = Number<X>;
  constexpr I Q = kQueries<X>;
  auto* base = static_cast<T*>(w.base);
  T *queries = base + w.queries_t, *d_out = base + w.d_out_t, *scores = base + w.scores, *d_scores = base + w.d_scores,
    *lse = base + w.rows, *delta = lse + Q, *dq = base + w.dq, *dk = base + w.dk, *dv = base + w.dv;
  const bool to_keys = want == AttentionWant::all || want == AttentionWant::dkv,
             to_queries = want == AttentionWant::all || want == AttentionWant::dq;
  const T scale = static_cast<T>(c.scale);
  const I heads = c.heads * c.group, k_row = c.heads * c.dim, v_row = c.heads * c.value_dim, k0 = p.j0 * kKeyTile,
          k_end = min(c.keys, p.j1 * kKeyTile);
  auto key = [&](I t) { return (p.batch * c.keys + t) * c.heads + p.head; };
  if (to_keys) {
    for (I i = 0; i < (k_end - k0) * w.dim; ++i) dk[i] = 0;
    for (I i = 0; i < (k_end - k0) * w.value_dim; ++i) dv[i] = 0;
  }
  for (I g = p.g0; g < p.g1; ++g)
    for (I i = p.i0; i < p.i1; ++i) {
      Tile<X> tile(c, p, g, i, w);
      I head = p.head * c.group + g, row = (p.batch * c.queries + tile.s0) * heads + head,
        at = ((p.batch * c.heads + p.head) * c.group + g) * c.queries + tile.s0;
      const In *q_from = static_cast<const In*>(c.q) + row * c.dim,
               *d_from = static_cast<const In*>(grad.d_out) + row * c.value_dim;
      RowsOf<X> q{}, d{};
      bool begun = false;
      for (I j = tile.first(p.j0), end = tile.last(p.j1); j < end; ++j) {
        if (!tile.move(j)) continue;
        if (!begun) {  // a tile of queries without keys is never read
          turned<X>(queries, q_from, heads * c.dim, tile.nq, c.dim, scale);
          turned<X>(d_out, d_from, heads * c.value_dim, tile.nq, c.value_dim, T(1));
          for (I x = 0; x < Q; ++x) {
            T l = x < tile.nq ? static_cast<const T*>(grad.lse)[at + x] : static_cast<T>(kInf);
            lse[x] = l == -static_cast<T>(kInf) ? T(0) : l;
            delta[x] = x < tile.nq ? static_cast<const T*>(grad.delta)[at + x] : T(0);
          }
          if (to_keys) {
            q = rows_of<X>(q_from, heads * c.dim, tile.nq, c.dim, w.dim, true, base + w.query_rows);
            d = rows_of<X>(d_from, heads * c.value_dim, tile.nq, c.value_dim, w.value_dim, true, base + w.d_out_rows);
          }
        }
        auto k = rows_of<X>(static_cast<const In*>(c.k) + key(tile.t0) * c.dim, k_row, tile.nk, c.dim, w.dim,
                            to_queries, base + w.keys);
        auto v = rows_of<X>(static_cast<const In*>(c.v) + key(tile.t0) * c.value_dim, v_row, tile.nk, c.value_dim,
                            w.value_dim, false, base + w.values);
        cross(tile, c.dim, k, queries, scores);
        if (tile.special()) tile.adjust(scores);
        cross(tile, c.value_dim, v, d_out, d_scores);
        tile.draw();
        differentiate(tile, scores, d_scores, lse, delta, want == AttentionWant::dbias);
        if (to_keys) {
          I t = tile.t0 - k0;
          add_to_keys(tile, w.value_dim, scores, d, dv + t * w.value_dim);
          add_to_keys(tile, w.dim, d_scores, q, dk + t * w.dim);
        }
        if (to_queries) add_to_queries(tile, w.dim, d_scores, k, dq, begun ? From::sums : From::zero);
        if (want == AttentionWant::dbias) {
          auto* to = static_cast<T*>(grad.dbias) + (tile.template at<T>(c.bias) - static_cast<const T*>(c.bias.data));
          for (I t = 0; t < tile.nk; ++t)
            for (I s = tile.begin[t / kStep]; s < tile.nq; ++s)
              to[s * c.bias.query + t * c.bias.key] += d_scores[t * Q + s];
        }
        begun = true;
      }
      if (to_queries)
        for (I s = 0; s < tile.nq; ++s) {
          if (!begun)
            for (I x = 0; x < c.dim; ++x) dq[s * w.dim + x] = 0;
          put_row<X>(static_cast<In*>(grad.dq) + (row + s * heads) * c.dim, dq + s * w.dim, c.dim, scale);
        }
    }
  if (to_keys)
    for (I t = k0; t < k_end; ++t) {
      put_row<X>(static_cast<In*>(grad.dk) + key(t) * c.dim, dk + (t - k0) * w.dim, c.dim, scale);
      put_row<X>(static_cast<In*>(grad.dv) + key(t) * c.value_dim, dv + (t - k0) * w.value_dim, c.value_dim, T(1));
    }
}
}  // namespace

void attention_forward(const AttentionCall& c, const AttentionPart& p, void* out, void* lse,
                       const AttentionScratch& w) {
  if (c.dtype == Dtype::f64) forward<D, double>(c, p, out, lse, w);
  else if (c.dtype == Dtype::f32) forward<F, float>(c, p, out, lse, w);
  else forward<F, bfloat16>(c, p, out, lse, w);
}
void attention_backward(const AttentionCall& c, const AttentionGradient& g, const AttentionPart& p, AttentionWant want,
                        const AttentionScratch& w) {
  if (c.dtype == Dtype::f64) backward<D, double>(c, g, p, want, w);
  else if (c.dtype == Dtype::f32) backward<F, float>(c, g, p, want, w);
  else backward<F, bfloat16>(c, g, p, want, w);
}
}  // namespace bora::kernels::BORA_ISA
