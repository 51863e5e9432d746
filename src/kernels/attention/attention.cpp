// attention.cpp -- partition of attention over threads. Forward: tiles of queries. Backward: whole heads where there
// are enough of them for the threads, else dk and dv by tiles of keys and dq by tiles of queries, which computes the
// scores twice and gives the same bits.
#include "kernels/api/attention.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>
#include <vector>
#include "bora/base/parallel.h"
#include "kernels/api/cpu.h"
#include "kernels/api/memory.h"
#include "kernels/attention/block.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kMultiplyAdd = 0.02;  // ns

/// Working memory of one thread. key_tiles: tiles of keys whose dk and dv are kept at a time; 0: forward.
struct Scratch {
  std::shared_ptr<void> memory;
  AttentionScratch at;
  Scratch(const AttentionCall& c, I key_tiles) {
    I size = 0, q = query_tile(c.dtype), tile = q * kKeyTile;
    auto take = [&](I n) {
      I begin = size;
      size += (n + kRowPad - 1) / kRowPad * kRowPad;
      return begin;
    };
    I d = at.dim = (c.dim + kRowPad - 1) / kRowPad * kRowPad,
      e = at.value_dim = (c.value_dim + kRowPad - 1) / kRowPad * kRowPad;
    for (auto* tiles : {&at.scores, &at.mask, &at.bias, &at.drop, &at.slope}) *tiles = take(tile);
    at.queries_t = take(d * q);
    at.out_t = take(e * q);
    at.keys = take(d * kKeyTile);
    at.values = take(e * kKeyTile);
    at.rows = take(8 * q);
    if (key_tiles > 0) {
      at.d_scores = take(tile);
      at.d_out_t = take(e * q);
      at.query_rows = take(d * q);
      at.d_out_rows = take(e * q);
      at.dq = take(d * q);
      at.dk = take(d * kKeyTile * key_tiles);
      at.dv = take(e * kKeyTile * key_tiles);
    }
    memory = allocate(static_cast<std::size_t>(size) * (c.dtype == Dtype::f64 ? 8 : 4));
    at.base = memory.get();
  }
};
/// Order of tiles: first, last, second, last but one, .. because under a causal mask later tiles cost more.
I spread(I i, I n) { return i % 2 == 0 ? i / 2 : n - 1 - i / 2; }
/// Calls f(unit, scratch) for units [0, n) of `work` multiply-adds each.
template <class F> void each(const AttentionCall& c, I key_tiles, I n, I work, F f) {
  parallel_for(n, grain_for(kMultiplyAdd * static_cast<double>(work)), [&](I begin, I end) {
    Scratch memory(c, key_tiles);
    for (I u = begin; u < end; ++u) f(u, memory.at);
  });
}
using Backward = decltype(v3::attention_backward);
/// dbias: every element is the sum over the heads that share it, in their order.
void bias_gradient(const AttentionCall& c, const AttentionGradient& g, I tiles, I key_tiles, Backward& run) {
  std::memset(g.dbias, 0, static_cast<std::size_t>(g.bias_size) * (c.dtype == Dtype::f64 ? 8 : 4));
  std::vector<std::tuple<I, I, I, I>> heads;  // sorted by the offset of their bias
  for (I b = 0; b < c.batch; ++b)
    for (I h = 0; h < c.heads; ++h)
      for (I r = 0; r < c.group; ++r) heads.emplace_back(c.bias.batch[b] + h * c.bias.head + r * c.bias.group, b, h, r);
  std::sort(heads.begin(), heads.end());
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < heads.size(); ++i)
    if (i == 0 || std::get<0>(heads[i]) != std::get<0>(heads[i - 1])) first.push_back(i);
  I parts = c.bias.query == 0 ? 1 : tiles;
  each(c, 1, static_cast<I>(first.size()) * parts, c.keys * c.dim * 64, [&](I u, const AttentionScratch& memory) {
    auto n = static_cast<std::size_t>(u / parts);
    I i0 = parts == 1 ? 0 : u % parts, i1 = parts == 1 ? tiles : i0 + 1;
    auto end = n + 1 < first.size() ? first[n + 1] : heads.size();
    for (auto at = first[n]; at < end; ++at) {
      auto [offset, b, h, r] = heads[at];
      run(c, g, {b, h, r, r + 1, i0, i1, 0, key_tiles}, AttentionWant::dbias, memory);
    }
  });
}
}  // namespace

void attention(const AttentionCall& c, void* out, void* lse, Isa which) {
  auto& run = which == Isa::v4 ? v4::attention_forward : v3::attention_forward;
  I size = query_tile(c.dtype), tiles = (c.queries + size - 1) / size;
  each(c, 0, c.batch * c.heads * c.group * tiles, size * c.keys * (c.dim + c.value_dim),
       [&](I u, const AttentionScratch& memory) {
         I i = spread(u % tiles, tiles), g = u / tiles % c.group, h = u / tiles / c.group % c.heads,
           b = u / tiles / c.group / c.heads;
         AttentionPart p{b, h, g, g + 1, i, i + 1, 0, (c.keys + kKeyTile - 1) / kKeyTile};
         run(c, p, out, lse, memory);
       });
}
void attention_gradient(const AttentionCall& c, const AttentionGradient& g, Isa which) {
  auto& run = which == Isa::v4 ? v4::attention_backward : v3::attention_backward;
  I size = query_tile(c.dtype), tiles = (c.queries + size - 1) / size, key_tiles = (c.keys + kKeyTile - 1) / kKeyTile,
    kept = std::max<I>(1, key_tiles), heads = c.batch * c.heads, threads = thread_count(),
    pairs = c.queries * c.keys * (c.dim + c.value_dim);
  I whole = c.group * pairs * 5 / 2, rounds = (heads + threads - 1) / threads;
  if (threads == 1 || rounds * threads * 5 <= heads * 7 ||
      grain_for(kMultiplyAdd * static_cast<double>(heads * whole)) > 1) {
    each(c, kept, heads, whole, [&](I u, const AttentionScratch& memory) {
      run(c, g, {u / c.heads, u % c.heads, 0, c.group, 0, tiles, 0, key_tiles}, AttentionWant::all, memory);
    });
  } else {
    each(c, 1, heads * key_tiles, whole / kept, [&](I u, const AttentionScratch& memory) {
      I j = spread(u % key_tiles, key_tiles), h = u / key_tiles % c.heads, b = u / key_tiles / c.heads;
      run(c, g, {b, h, 0, c.group, 0, tiles, j, j + 1}, AttentionWant::dkv, memory);
    });
    each(c, 1, heads * c.group * tiles, pairs * 2 / std::max<I>(1, tiles), [&](I u, const AttentionScratch& memory) {
      I i = spread(u % tiles, tiles), r = u / tiles % c.group, h = u / tiles / c.group % c.heads,
        b = u / tiles / c.group / c.heads;
      run(c, g, {b, h, r, r + 1, i, i + 1, 0, key_tiles}, AttentionWant::dq, memory);
    });
  }
  if (g.dbias != nullptr) bias_gradient(c, g, tiles, key_tiles, run);
}
}  // namespace bora::kernels
