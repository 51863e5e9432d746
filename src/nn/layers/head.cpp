#include "bora/nn/head.h"
#include "bora/named/random.h"
#include "nn/core/support.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
Head Head::of(const std::optional<Linear>& own, const Embedding& words, std::optional<double> soft_cap) {
  return {auto_sharded(own ? own->weight : words.weight), none, soft_cap, own ? own->packed : words.packed};
}
NamedArray Head::operator()(const NamedArray& input) const {
  auto x = gathered(input, weight);
  auto scores = packed ? packed->dot(x, weight) : dot(x, weight, std::string_view(kEmbed));
  if (bias) scores = scores + *bias;
  if (soft_cap) scores = (tanh(in_real_accumulator(scores) / *soft_cap) * *soft_cap).astype(scores.dtype());
  return auto_sharded(scores);
}

template <> std::vector<LayerSample> samples<"Head">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, vocab{kVocab, 11};
  auto tied = [=](const Array& k) { return Head{random::normal(k, {vocab, embed})}; };
  auto own = [=](const Array& k) {
    auto keys = random::split<2>(k);
    return Head{random::normal(keys[0], {embed, vocab}), random::normal(keys[1], vocab)};
  };
  auto capped = [=](const Array& k) { return Head{random::normal(k, {vocab, embed}), none, 1.5}; };
  auto call = [](const Head& h, const NamedArray& x) { return h(x); };
  return {sample("tied", tied, example({batch, embed}), call),
          sample("with a soft cap", capped, example({batch, embed}), call),
          sample("with a bias", own, example({batch, embed}), call)};
}
template const bool added<"Head">;
}  // namespace bora::nn
