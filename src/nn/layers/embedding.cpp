#include "bora/nn/embedding.h"
#include <cmath>
#include "bora/named/random.h"
#include "bora/named/resize.h"
#include "nn/core/support.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"

namespace bora::nn {
Embedding Embedding::init(const Axis& vocab, const Axis& embed, const Array& key, const Init& weight) {
  return {weight(key, {vocab, embed}, embed.size)};
}
Embedding Embedding::init(const Axis& vocab, const Axis& embed, const Array& key) {
  return init(vocab, embed, key, Init::truncated_normal(1 / static_cast<double>(embed.size)));
}
Embedding Embedding::resize_embeddings(std::int64_t n, const std::optional<Array>& key) const {
  check<ValueError>(!packed, "resize_embeddings: the table is packed; unpack its weight first");
  return {resize_axis(weight, weight.axes().at(0), n, key)};
}
NamedArray Embedding::embed(const NamedArray& indices) const {
  auto x = packed ? packed->rows(auto_sharded(weight), indices)
                  : take(auto_sharded(weight), std::string_view(weight.axes().at(0).name), indices);
  if (!noise) return x;
  double numbers = 1;  // of a row
  for (auto& a : x.axes())
    if (a.name != kBatch) numbers *= static_cast<double>(a.size);
  auto most = static_cast<double>(noise->alpha) / std::sqrt(numbers);
  auto axes = indices.axes();
  for (auto& a : x.axes())
    if (find_axis(axes, a.name) < 0) axes.push_back(a);
  auto drawn = random::uniform(noise->key.array(), axes, f32, -most, most);
  return aligned(x + drawn.astype(x.dtype()), x.axes());
}
NamedArray Embedding::unembed(const NamedArray& x) const {
  if (packed) return packed->dot(gathered(x, weight), auto_sharded(weight));
  return dot(gathered(x, weight), auto_sharded(weight), std::string_view(weight.axes().at(1).name));
}

template <> std::vector<LayerSample> samples<"Embedding">() {
  Axis batch{kBatch, 4}, vocab{kVocab, 11}, embed{kEmbed, 8};
  auto init = [=](const Array& k) { return Embedding::init(vocab, embed, k); };
  auto lookup = [indices = (arange(batch) * 7) % 11](const Embedding& e, const NamedArray& scale) {
    return e.embed(indices) * scale;
  };
  auto scores = [](const Embedding& e, const NamedArray& x) { return e.unembed(x); };
  return {sample("lookup", init, example({batch, embed}), lookup),
          sample("scores", init, example({batch, embed}), scores)};
}
template const bool added<"Embedding">;
}  // namespace bora::nn
