// paged_attention.h -- attention of tokens of many sequences to keys and values in pages (Kwon et al. 2023,
// "PagedAttention"). Keys lie turned, [D, 32], so that a vector holds one number of many keys: scores need no sum over
// lanes.
//   Letters: T tokens, P pages, K heads of keys and values, G query heads per head of keys, D head size, E value size
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"
#include "kernels/api/cpu.h"

namespace bora::kernels {
inline constexpr std::int64_t kPagePositions = 32;
/// q [T, K, G, D], keys [P, K, D, 32], values [P, K, 32, E], row-major, f32, f64 or bf16; keys and values may be i8
/// instead, each head of a position times a scale of its own. Compute type C: f64 for f64, else f32.
///   score = soft_cap * tanh(scale q.k / soft_cap) + bias     (without a cap: scale q.k + bias)
/// Token t has the pages table[first[t]], table[first[t] + 1], .. and attends to the positions up to positions[t], the
/// last window[t] of them; below 0: to none, and gets 0. A page that no token sees is not looked at. With sinks a token
/// has one more weight, e^sink, of no value.
struct PagedCall {
  Dtype dtype;
  std::int64_t tokens, heads, group, dim, value_dim, pages, table_size;
  double scale, soft_cap = 0;  // 0: no cap
  const void *q, *keys, *values;
  const std::int32_t *first, *positions, *table;
  const std::int32_t* window = nullptr;
  const void* bias = nullptr;  // C [K, G, distances]: of keys so many positions before the token, the last one of all
                               // keys farther away
  std::int64_t distances = 0;
  const void* sinks = nullptr;  // C [K, G]
  const float *key_scales = nullptr, *value_scales = nullptr;  // [P, K, 32] of i8
};
/// out [T, K, G, E]. A token's result has the same bits whatever other tokens there are, on any number of threads and
/// every instruction set. IndexError for a place outside of the table or a page that there is not.
void paged_attention(const PagedCall&, void* out, Isa = isa());

/// pages [P, K, D, 32] (turned) or [P, K, 32, D] gets the rows [T, K, D] at slots [T], in order: page * 32 + place.
/// Rows whose slot is outside are dropped.
struct PagedRows {
  std::int64_t rows, heads, dim, pages;
  std::size_t size;  // bytes of an element
  bool turned;
  const void* from;
  const std::int32_t* slots;
};
void write_pages(const PagedRows&, void* pages);
}  // namespace bora::kernels
