// block.h -- attention of one tile of queries, or the gradient of some tiles, on one thread and one instruction set.
// Tiles lie on a fixed grid, and every sum is one chain over keys (or queries) in order: no partition over threads and
// no instruction set changes a bit.
#pragma once
#include "kernels/api/attention.h"

namespace bora::kernels {
constexpr std::int64_t kKeyTile = 64;
constexpr std::int64_t query_tile(Dtype d) { return d == Dtype::f64 ? 32 : 64; }
/// Rows that are read by vectors are padded to a multiple of this many elements.
inline constexpr std::int64_t kRowPad = 16;

/// Layout of a thread's working memory: offsets in elements of C from `base`, a multiple of 64 bytes. Tiles are
/// [keys][queries], so that the queries lie in lanes: maxima, sums and masks of a row of scores need no sum over lanes.
struct AttentionScratch {
  void* base = nullptr;
  std::int64_t dim = 0, value_dim = 0;  // padded
  std::int64_t queries_t, out_t, scores, keys, values, mask, bias, drop, slope, rows;
  std::int64_t d_out_t, d_scores, query_rows, d_out_rows, dq, dk, dv;  // backward
};
/// A part of head `head` of batch element `batch`: groups [g0, g1), query tiles [i0, i1) against key tiles [j0, j1).
struct AttentionPart {
  std::int64_t batch, head, g0, g1, i0, i1, j0, j1;
};
enum class AttentionWant : unsigned char { all, dq, dkv, dbias };  // all: dq, dk and dv

namespace v3 {
void attention_forward(const AttentionCall&, const AttentionPart&, void* out, void* lse, const AttentionScratch&);
void attention_backward(const AttentionCall&, const AttentionGradient&, const AttentionPart&, AttentionWant,
                        const AttentionScratch&);
}  // namespace v3
namespace v4 {
void attention_forward(const AttentionCall&, const AttentionPart&, void* out, void* lse, const AttentionScratch&);
void attention_backward(const AttentionCall&, const AttentionGradient&, const AttentionPart&, AttentionWant,
                        const AttentionScratch&);
}  // namespace v4
}  // namespace bora::kernels
