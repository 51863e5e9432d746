// isa/forward.cpp -- attention of one tile of queries; see attention/block.h.
#include "kernels/attention/careful.h"

namespace bora::kernels::BORA_ISA {
namespace {
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
    add_values(tile, c.value_dim, v, scores, sums, from, factor);
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
}  // namespace

void attention_forward(const AttentionCall& c, const AttentionPart& p, void* out, void* lse,
                       const AttentionScratch& w) {
  if (c.dtype == Dtype::f64) forward<D, double>(c, p, out, lse, w);
  else if (c.dtype == Dtype::f32) forward<F, float>(c, p, out, lse, w);
  else forward<F, bfloat16>(c, p, out, lse, w);
}
}  // namespace bora::kernels::BORA_ISA
