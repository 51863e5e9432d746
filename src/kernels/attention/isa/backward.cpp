// isa/backward.cpp -- the gradient of some tiles; see attention/block.h.
#include "kernels/attention/careful.h"

namespace bora::kernels::BORA_ISA {
namespace {
/// Replaces scores by weights, and d (weights) by the derivatives of the scores: with respect to the products q.k, or
/// to the bias if `to_bias`.
template <class X> void differentiate(const Tile<X>& tile, Number<X>* scores, Number<X>* d_scores, const Number<X>* lse,
                                      const Number<X>* delta, bool to_bias) {
  constexpr I Q = kQueries<X>;
  const X zero(Number<X>(0)), masked(-static_cast<Number<X>>(kInf));
  const bool special = tile.special();
  for (int v0 = 0; v0 < kVectors<X>; v0 += kGroup) {
    X l[kGroup], d[kGroup];
    I at = v0 * X::size;
#pragma GCC unroll 4
    for (int v = 0; v < kGroup; ++v) l[v] = load<X>(lse + at + v * X::size), d[v] = load<X>(delta + at + v * X::size);
    for (I t = 0; t < tile.nk; ++t)
#pragma GCC unroll 4
      for (int v = 0; v < kGroup; ++v) {
        I i = t * Q + at + v * X::size;
        X score = load<X>(scores + i), w = exp_below(score - l[v]), dw = load<X>(d_scores + i);
        if (special) w = select(score == masked, zero, w);  // 0 beside NaN too, as is its derivative
        if (tile.drop) {
          X f = load<X>(tile.drop + i);
          store(scores + i, w * f);
          dw = select(f == zero, zero, dw * f);  // what is dropped may be NaN
        } else store(scores + i, w);
        X ds = w * (dw - d[v]);
        if (tile.slope && !to_bias) ds = ds * load<X>(tile.slope + i);
        if (special) ds = select(score == masked, zero, ds);
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

void attention_backward(const AttentionCall& c, const AttentionGradient& g, const AttentionPart& p, AttentionWant want,
                        const AttentionScratch& w) {
  if (c.dtype == Dtype::f64) backward<D, double>(c, g, p, want, w);
  else if (c.dtype == Dtype::f32) backward<F, float>(c, g, p, want, w);
  else backward<F, bfloat16>(c, g, p, want, w);
}
}  // namespace bora::kernels::BORA_ISA
