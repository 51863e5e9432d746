// decoder.h -- generation, common to all decoders: blocks with an Attention `attn`, and a cache of all layers. Private.
#pragma once
#include "bora/models/contract.h"

namespace bora::models {
/// The cache of no token yet.
template <class Block> Cache empty_cache(const nn::Stacked<Block>& blocks, const Axis& batch, std::int64_t length) {
  return {blocks.layer.attn.cache({blocks.axis, batch}, length), array(0)};
}
/// The next tokens' vectors x through every block's decode(x, keys and values, seen, more..): {last(y), grown cache}.
template <class Block, class Last, class... More>
std::pair<NamedArray, Cache> decode_blocks(const nn::Stacked<Block>& blocks, const NamedArray& x, const Cache& cache,
                                           const Last& last, const More&... more) {
  auto one = [](const Block& block, const NamedArray& v, const nn::KeyValues& kv, const Array& seen,
                const auto&... m) { return block.decode(v, kv, seen, m...); };
  auto [y, kv] = nn::scan(blocks, one, x)(nn::per_layer(cache.layers), cache.seen, more...);
  return {last(y), {kv, cache.seen + x.axis(nn::kPosition).size}};
}
}  // namespace bora::models
