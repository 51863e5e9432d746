// paged.h -- paged attention of one tile of tokens on one thread and one instruction set. Keys are taken in chunks of
// 256 positions on a grid that begins at position 0: the scores of a chunk, their maximum, weights and the weighted sum
// of values, one chain over keys in order; chunks are joined in order. So a token's bits depend on its own keys alone.
#pragma once
#include "kernels/api/paged_attention.h"

namespace bora::kernels {
inline constexpr std::int64_t kChunk = 256, kPadTo = 16;  // elements to which rows are padded
constexpr std::int64_t padded_to(std::int64_t n) { return (n + kPadTo - 1) / kPadTo * kPadTo; }
/// Tokens [t0, t0 + count) of one sequence; token t sees the positions [low[t], high[t]). Rows are pairs of a token and
/// a query head that share a head of keys, heads first.
struct PagedTile {
  std::int64_t t0, count;
  std::int64_t low, high;  // what any of them sees
  const std::int64_t *from, *to;  // by token of the call
  const std::int32_t* table;      // the sequence's pages
  std::int64_t rows(const PagedCall& c) const { return count * c.group; }
};
/// Sums over some keys, in C: maxima [rows], sums of weights [rows], weighted values [rows, value size], each padded.
struct PagedSums {
  void* base;
  std::int64_t rows, value_dim;  // padded
  static std::int64_t size(std::int64_t rows, std::int64_t value_dim) {
    return padded_to(rows) * (2 + padded_to(value_dim));
  }
};
/// Elements of C that paged_chunk needs beside its sums.
constexpr std::int64_t paged_scratch(std::int64_t rows, std::int64_t dim, std::int64_t value_dim) {
  return rows * padded_to(dim) + rows * kChunk + kPagePositions * padded_to(value_dim) + 2 * padded_to(rows);
}
namespace v3 {
/// The sums of the keys of chunk `number`.
void paged_chunk(const PagedCall&, const PagedTile&, std::int64_t head, std::int64_t number, const PagedSums&,
                 void* scratch);
/// Adds the sums of chunk `number` to those of all chunks before.
void paged_join(const PagedCall&, const PagedTile&, std::int64_t number, const PagedSums& part, const PagedSums& all,
                void* scratch);
void paged_finish(const PagedCall&, const PagedTile&, std::int64_t head, const PagedSums&, void* out);
}  // namespace v3
namespace v4 {
void paged_chunk(const PagedCall&, const PagedTile&, std::int64_t head, std::int64_t number, const PagedSums&,
                 void* scratch);
void paged_join(const PagedCall&, const PagedTile&, std::int64_t number, const PagedSums& part, const PagedSums& all,
                void* scratch);
void paged_finish(const PagedCall&, const PagedTile&, std::int64_t head, const PagedSums&, void* out);
}  // namespace v4
}  // namespace bora::kernels
