// decoder.h -- decoders: blocks with an Attention `attn`, called in turn in training and in generation. Private.
#pragma once
#include <algorithm>
#include <array>
#include "bora/models/contract.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/norm.h"
#include "bora/ops/ufuncs.h"

namespace bora::models {
/// A key for each part of something; none of none.
template <std::size_t N> std::array<std::optional<Array>, N> split_keys(const std::optional<Array>& key) {
  std::array<std::optional<Array>, N> r;
  if (key) std::ranges::copy(random::split<N>(*key), r.begin());
  return r;
}
/// The rows of a table [position, embed] at these positions. Its axis gets another name, as keys have: a rule for
/// `position` splits the positions that look rows up.
inline NamedArray rows_at(const NamedArray& table, const NamedArray& places) {
  return take(auto_sharded(rename(table, {{nn::kPosition, nn::kKeyPosition}})), nn::kKeyPosition, places);
}
/// The example's vectors x through every block's (x, mask, key, more..): last(y), or with a loss that of last(y).
template <class Block, class Last, class... More>
NamedArray through_blocks(const nn::Stacked<Block>& blocks, const training::Example& e, const NamedArray& x,
                          const std::optional<Array>& keys, const nn::PipelineOptions& how, const Last& last,
                          const nn::RowsLoss& loss, const More&... more) {
  auto one = [](const Block& block, const NamedArray& v, const std::optional<Array>& part,
                const nn::AttentionMask& mask, const std::optional<Array>& key,
                const auto&... m) { return block(v, mask, nn::key_of_part(key, part), m...); };
  return nn::through(blocks, one, x, how, last, loss)(causal_mask(e), nn::per_layer(keys), more...);
}
/// Of GPT-2's weights, and of BERT's (Radford et al. 2019, Devlin et al. 2018).
inline const nn::Init gpt_weights = nn::Init::normal(0.02);
/// Pages of no keys and values yet.
template <class Block> static nn::KeyValues pages_of(const nn::Stacked<Block>& blocks, const nn::PageOptions& o) {
  return blocks.layer.attn.pages({blocks.axis}, o);
}
/// The places of tokens [position] in their sequences; below 0: of none.
inline NamedArray positions_of(const NamedArray& tokens, const StepPlaces& at) {
  return {at.own.positions, {tokens.axis(nn::kPosition)}};
}
/// The next tokens' vectors x through every block's decode(x, pages, places, more..): {last(y), the pages with theirs}.
template <class Block, class Last, class... More>
std::pair<NamedArray, nn::KeyValues> decode_blocks(const nn::Stacked<Block>& blocks, const NamedArray& x,
                                                   const nn::KeyValues& pages, const StepPlaces& at, const Last& last,
                                                   const More&... more) {
  auto one = [](const Block& block, const NamedArray& v, const nn::KeyValues& kv, const nn::PagePlaces& places,
                const auto&... m) { return block.decode(v, kv, places, m...); };
  auto [y, kv] = nn::scan(blocks, one, x)(nn::per_layer(pages), at.own, more...);
  return {last(y), kv};
}
/// The model of tokens' vectors, equal blocks and a layer norm. Its family F has Config, with words_dropout() and
/// draws(), and perhaps score_scale(), by which the head's scores are multiplied; Block; Head, the output layer's
/// parameters, with static Head init_head(const Config&, const Axis& vocab, key) and static nn::Head head(const Head&,
/// const nn::Embedding& words); and the members of hugging_face.h.
template <class F, class Norm = nn::LayerNorm> struct LayerNormDecoder {
  nn::Embedding wte;
  nn::Dropout dropout;
  nn::Stacked<typename F::Block> blocks;
  Norm norm;
  typename F::Head lm_head;
  bool draws;
  double score_scale;
  using Config = typename F::Config;
  static constexpr bool in_stages = true;
  static LayerNormDecoder init(const Config& c, std::int64_t vocabulary, const Array& key) {
    c.check();
    auto keys = random::split<3>(key);
    Axis vocab{nn::kVocab, vocabulary};
    return {nn::Embedding::init(vocab, c.embed_axis(), keys[0], nn::Init::normal(0.02)),
            {static_cast<float>(c.words_dropout())},
            decltype(blocks)::init({nn::kLayers, c.layers}, c, nn::per_layer(random::split(keys[1], c.layers))),
            Norm::init(c.embed_axis(), c.eps),
            F::init_head(c, vocab, keys[2]),
            c.draws(),
            score_scale_of(c)};
  }
  static double score_scale_of(const Config& c) {
    if constexpr (requires { c.score_scale(); }) return c.score_scale();
    else return 1;
  }
  /// What the head reads, of the last block's result.
  auto last() const {
    return [norm = norm, scale = score_scale](const NamedArray& x) { return scale == 1 ? norm(x) : norm(x) * scale; };
  }
  NamedArray hidden(const training::Example& e, const std::optional<Array>& key, const nn::PipelineOptions& how,
                    const nn::RowsLoss& loss) const {
    auto [first, layers] = split_keys<2>(draws ? key : none);
    if (layers) layers = random::split(*layers, blocks.axis.size);
    auto x = auto_sharded(dropout(wte.embed(auto_sharded(e.tokens)), first));
    return through_blocks(blocks, e, x, layers, how, last(), loss, e.positions);
  }
  nn::Head head() const { return F::head(lm_head, wte); }
  nn::KeyValues pages(const nn::PageOptions& o) const { return pages_of(blocks, o); }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& tokens, const nn::KeyValues& pages,
                                              const StepPlaces& at) const {
    return decode_blocks(blocks, auto_sharded(wte.embed(auto_sharded(tokens))), pages, at, last());
  }
  static constexpr auto& hf_types = F::hf_types;
  static constexpr auto hf_prefix = F::hf_prefix;
  static constexpr auto& hf_ignored = F::hf_ignored;
  static Config from_hf(HfConfig& c) { return F::from_hf(c); }
  static void to_hf(const Config& config, HfConfig& c) { F::to_hf(config, c); }
  static std::vector<HfWeight> hf_weights(const Config& config) { return F::hf_weights(config); }
};
}  // namespace bora::models
