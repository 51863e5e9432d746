// layers.h -- how transformers stores layers: rows of hf_weights. Private.
#pragma once
#include <initializer_list>
#include "bora/models/hugging_face.h"

namespace bora::models {
using HfWeights = std::vector<HfWeight>;
/// nn.Linear: weight [out, in].
inline void hf_linear(HfWeights& all, const std::string& leaf, const std::string& tensor, bool bias) {
  all.push_back({.leaf = leaf + ".weight", .tensor = tensor + ".weight", .order = {1, 0}});
  if (bias) all.push_back({.leaf = leaf + ".bias", .tensor = tensor + ".bias"});
}
/// nn.LayerNorm, nn.Embedding and others whose parameters are the leaves.
inline void hf_same(HfWeights& all, const std::string& leaf, const std::string& tensor,
                    std::initializer_list<const char*> names) {
  for (std::string name : names) all.push_back({.leaf = leaf + "." + name, .tensor = tensor + "." + name});
}
/// Attention with q_proj, k_proj, v_proj and out_proj of equal heads.
inline void hf_attention(HfWeights& all, const std::string& leaf, const std::string& tensor, std::int64_t heads,
                         std::int64_t embed, bool bias) {
  auto size = embed / heads;
  for (std::string name : {"q", "k", "v"}) {
    all.push_back({.leaf = leaf + "." + name + ".weight",
                   .tensor = tensor + "." + name + "_proj.weight",
                   .view = Shape{heads, size, embed},
                   .order = {2, 0, 1}});
    if (bias)
      all.push_back({.leaf = leaf + "." + name + ".bias",
                     .tensor = tensor + "." + name + "_proj.bias",
                     .view = Shape{heads, size}});
  }
  all.push_back({.leaf = leaf + ".out.weight",
                 .tensor = tensor + ".out_proj.weight",
                 .view = Shape{embed, heads, size},
                 .order = {1, 2, 0}});
  if (bias) all.push_back({.leaf = leaf + ".out.bias", .tensor = tensor + ".out_proj.bias"});
}
}  // namespace bora::models
