// attention.h -- scaled dot-product attention without a matrix of scores (Dao et al. 2022, "FlashAttention"; the running softmax: Milakov
// and Gimelshein 2018): a tile of queries meets a tile of keys after the other.
//   Letters: B batch, S queries, T keys, K heads of k and v, G queries' heads for each of those, D size of a head, E size of a value
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"
#include "bora/kernels/cpu.h"

namespace bora::kernels {
/// q [B, S, K, G, D], k [B, T, K, D], v [B, T, K, E], row-major, f32, f64 or bf16. Computed in C: f64 for f64, else f32.
///   score = soft_cap * tanh(scale q.k / soft_cap) + bias     (without a cap: scale q.k + bias)
/// Query s meets key t where s - left <= t <= s + right, the mask is true and the segments are equal; elsewhere its weight is 0.
struct AttentionCall {
  /// Something of (b, k, g, s, t): data[batch[b] + k head + g group + s query + t key], strides in elements, 0 where it is the same.
  struct Extra {
    const void* data = nullptr;
    const std::int64_t* batch = nullptr;
    std::int64_t head = 0, group = 0, query = 0, key = 0;
  };
  Dtype dtype;
  std::int64_t batch, heads, group, queries, keys, dim, value_dim;
  double scale, soft_cap = 0;  // 0: no cap
  std::int64_t left, right;    // queries + keys: as far as there are keys
  const void *q, *k, *v;
  Extra mask = {}, bias = {};                    // bool; C
  Extra query_segments = {}, key_segments = {};  // i32
  /// Weights are kept with probability `keep` and divided by it. Element (b, k, g, s, t) draws number (row S + s) T + t of the stream
  /// of its key, where `row` (i64) counts (b, k, g) in the whole array, of which this may be a block.
  float keep = 1;
  Extra random_key = {}, row = {};
};
/// out [B, S, K, G, E]; lse [B, K, G, S] in C: log of the sum of exp(score). A query that meets nothing: 0 and -inf.
/// The same bits for any number of threads and on every instruction set.
void attention(const AttentionCall&, void* out, void* lse, Isa = isa());

/// What comes back for d_out [B, S, K, G, E], where delta [B, K, G, S] in C is sum(d_out * out) - d_lse.
struct AttentionGradient {
  const void *d_out, *lse, *delta;
  void *dq, *dk, *dv;
  void* dbias = nullptr;  // C, laid out as `bias` is; null: not wanted
  std::int64_t bias_size = 0;
};
void attention_gradient(const AttentionCall&, const AttentionGradient&, Isa = isa());
}  // namespace bora::kernels
