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
/// Attention with q_proj, k_proj, v_proj and o_proj, or other names, whose heads of keys are shared by groups.
struct HfGroupedAttention {
  std::int64_t kv_heads, group, size, embed;
  bool qkv_bias = false, out_bias = false;
  /// The dimensions of queries, and of keys and values.
  Shape many() const { return group > 1 ? Shape{kv_heads, group, size} : few(); }
  Shape few() const { return {kv_heads, size}; }
  static Shape and_more(Shape a, std::int64_t last) {
    a.push_back(last);
    return a;
  }
  /// Of a leaf [embed, heads.., size] whose tensor is [heads.., size, embed].
  static Dims in_order(const Shape& heads) {
    auto n = static_cast<std::int64_t>(heads.size());
    Dims order{n};
    for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
    return order;
  }
  void add(HfWeights& all, const std::string& leaf, const std::string& tensor) const {
    for (auto [name, heads] : {std::pair{"q", many()}, {"k", few()}, {"v", few()}}) {
      auto to = leaf + "." + name, from = tensor + "." + name + "_proj";
      all.push_back({.leaf = to + ".weight", .tensor = from + ".weight", .view = and_more(heads, embed),
                     .order = in_order(heads)});
      if (qkv_bias) all.push_back({.leaf = to + ".bias", .tensor = from + ".bias", .view = heads});
    }
    add_out(all, leaf + ".out", tensor + ".o_proj");
  }
  void add_out(HfWeights& all, const std::string& leaf, const std::string& tensor) const {
    Shape view{embed};
    for (auto d : many()) view.push_back(d);
    Dims order;
    for (std::int64_t i = 1; i < static_cast<std::int64_t>(view.size()); ++i) order.push_back(i);
    order.push_back(0);
    all.push_back({.leaf = leaf + ".weight", .tensor = tensor + ".weight", .view = view, .order = order});
    if (out_bias) all.push_back({.leaf = leaf + ".bias", .tensor = tensor + ".bias"});
  }
};
}  // namespace bora::models
