// attention.h -- scaled dot-product attention that never stores the score matrix (Dao et al. 2022, "FlashAttention";
// online softmax: Milakov and Gimelshein 2018): each tile of queries visits the tiles of keys one by one.
//   Letters: B batch, S queries, T keys, K heads of k and v, G query heads per head of k, D head size, E value size
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"
#include "kernels/api/cpu.h"

namespace bora::kernels {
/// q [B, S, K, G, D], k [B, T, K, D], v [B, T, K, E], row-major, f32, f64 or bf16. Compute type C: f64 for f64, else
/// f32.
///   score = soft_cap * tanh(scale q.k / soft_cap) + bias     (without a cap: scale q.k + bias)
/// Query s attends to key t where s - left <= t <= s + right, the mask is true and the segments are equal; elsewhere
/// its weight is 0.
struct AttentionCall {
  /// An operand indexed by (b, k, g, s, t): data[batch[b] + k head + g group + s query + t key]. Strides in elements,
  /// 0 along dimensions over which it is constant.
  struct Extra {
    const void* data = nullptr;
    const std::int64_t* batch = nullptr;
    std::int64_t head = 0, group = 0, query = 0, key = 0;
  };
  Dtype dtype;
  std::int64_t batch, heads, group, queries, keys, dim, value_dim;
  double scale, soft_cap = 0;  // 0: no cap
  std::int64_t left, right;    // queries + keys: no limit
  const void *q, *k, *v;
  Extra mask = {}, bias = {};                    // bool; C
  Extra query_segments = {}, key_segments = {};  // i32
  /// Weights are kept with probability `keep` and divided by it. Element (b, k, g, s, t) draws number (row S + s) T + t
  /// of the stream of its random key; `row` (i64) is the index of (b, k, g) in the whole array, of which this may be a
  /// block.
  float keep = 1;
  Extra random_key = {}, row = {};
  /// i32: a query attends to its last so many keys, its own place included; together with `left`.
  Extra window = {};
};
/// out [B, S, K, G, E]; lse [B, K, G, S] in C: log of the sum of exp(score). A query without keys gives 0 and -inf.
/// The same bits for any number of threads and on every instruction set.
void attention(const AttentionCall&, void* out, void* lse, Isa = isa());

/// The gradients for d_out [B, S, K, G, E]; delta [B, K, G, S] in C is sum(d_out * out) - d_lse.
struct AttentionGradient {
  const void *d_out, *lse, *delta;
  void *dq, *dk, *dv;
  void* dbias = nullptr;  // C, laid out as `bias` is; null: not wanted
  std::int64_t bias_size = 0;
};
void attention_gradient(const AttentionCall&, const AttentionGradient&, Isa = isa());
}  // namespace bora::kernels
