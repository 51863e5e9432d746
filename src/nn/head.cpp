#include "bora/nn/head.h"
#include "bora/named/random.h"
#include "nn/support.h"

namespace bora::nn {
NamedArray Head::operator()(const NamedArray& x) const {
  auto scores = dot(x, weight, std::string_view(kEmbed));
  return auto_sharded(bias ? scores + *bias : scores);
}

namespace {
std::vector<LayerSample> samples() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, vocab{kVocab, 11};
  auto tied = [=](const Array& k) { return Head{random::normal(k, {vocab, embed})}; };
  auto own = [=](const Array& k) {
    auto keys = random::split<2>(k);
    return Head{random::normal(keys[0], {embed, vocab}), random::normal(keys[1], vocab)};
  };
  auto call = [](const Head& h, const NamedArray& x) { return h(x); };
  return {sample("tied", tied, example({batch, embed}), call),
          sample("with a bias", own, example({batch, embed}), call)};
}
[[maybe_unused]] const bool registered = add_layer("Head", samples);
}  // namespace
}  // namespace bora::nn
