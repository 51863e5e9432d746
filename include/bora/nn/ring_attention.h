// ring_attention.h -- attention over sequences that are split over ranks: context parallelism.
#pragma once
#include <vector>
#include "bora/named/array.h"
#include "bora/nn/axes.h"

namespace bora::nn {
struct RingAttentionOptions {                           // of ring_attention
  bool causal = true;                                   // a query sees no later keys
  std::optional<NamedArray> segments = none;            // i32 over position (and batch axes): only equal ones meet
  std::optional<double> scale = none, soft_cap = none;  // of the scores; by default 1 / sqrt(head_size), no cap
  std::optional<std::int64_t> ranks = none;  // whose zigzag order the rows are in: a ShardError if there are others
};
/// softmax(q k' / sqrt(D)) v along `position`, which the current mapping may split over mesh axes (a rule such as
/// {"position", "context"}): keys and values go round a ring of these ranks, and each rank's partial results meet by
/// their maxima and sums in f32 (Liu et al. 2023, "Ring Attention"). No rank holds more than its own block and one
/// other's: the backward pass goes round again, with gradients of keys and values. What the mapping says of batch axes
/// and of heads holds too.
///   q [.., position, heads, (head_group,) head_size], k and v [.., position, heads, head_size], axes in any order; the
///   queries of a head_group share a key (Ainslie et al. 2023). Returns q's axes, v's head_size, q's dtype.
/// A causal sequence over n ranks is in zigzag order (zigzag() below), in which each rank has as much to compute; q, k,
/// v, segments and the result are. So is that of one rank: the order is then the natural one.
/// Throws ValueError if the positions cannot be cut into n equal parts (causal: 2 n), AxisError for axes that are
/// missing. Over several ranks it has no forward-mode derivative.
NamedArray ring_attention(const NamedArray& q, const NamedArray& k, const NamedArray& v,
                          const RingAttentionOptions& options = {});
/// The ranks over which the current mapping splits `position` by the mesh axis `context`: models then have their rows
/// in the zigzag order of so many, and their attention goes round a ring. 1 without such a rule, axis or mesh: other
/// mesh axes may split positions too, but in natural order, and attention gathers its keys.
std::int64_t context_ranks();
/// The natural place of each element of the zigzag order: of 2 n equal chunks, rank r has chunks r and 2 n - 1 - r
/// (Zhu 2024, ring-flash-attention). Throws ValueError unless 2 n divides the positions.
std::vector<std::int32_t> zigzag_order(std::int64_t positions, std::int64_t ranks);
// x with `position` in zigzag order, and back.
NamedArray zigzag(const NamedArray& x, std::int64_t ranks);
NamedArray from_zigzag(const NamedArray& x, std::int64_t ranks);
}  // namespace bora::nn
