#include "bora/nn/mlp.h"
#include "bora/nn/checkpoint_names.h"
#include "bora/ops/manipulation.h"
#include "nn/core/support.h"
#include "bora/ops/indexing.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"

namespace bora::nn {
using checkpoint_names::kMlpOut;
Mlp Mlp::init(const Axis& embed, const Axis& hidden, const Array& key, const LinearOptions& up,
              const LinearOptions& down, Activation activation) {
  auto keys = random::split<2>(key);
  return {none, Linear::init(embed, hidden, keys[0], up), Linear::init(hidden, embed, keys[1], down), activation};
}
Mlp Mlp::gated(const Axis& embed, const Axis& hidden, const Array& key, const LinearOptions& up,
               const LinearOptions& down, Activation activation) {
  auto keys = random::split<3>(key);
  return {Linear::init(embed, hidden, keys[0], up), Linear::init(embed, hidden, keys[1], up),
          Linear::init(hidden, embed, keys[2], down), activation};
}
NamedArray Mlp::operator()(const NamedArray& x, const std::optional<Array>& key) const {
  auto one = [](const NamedArray& v) { return marked(v, {checkpoint_names::kMlp}); };
  auto hidden = gate ? auto_sharded(activate(activation, one((*gate)(x))) * one(up(x)))
                     : activate(activation, one(auto_sharded(up(x))));
  return marked(down(one(dropout.along(hidden, kPosition, key))), {checkpoint_names::kMlp, kMlpOut});
}
DeepMlp DeepMlp::init(const Axes& in, const Axes& out, const Axis& width, std::int64_t depth, const Array& key,
                      const DeepMlpInit& o) {
  check<ValueError>(depth >= 0, "DeepMlp: a depth of ", depth, " hidden layers");
  auto keys = random::split(key, depth + 1);
  DeepMlp m{{}, o.activation, o.final_activation};
  auto from = in.list();
  for (std::int64_t i = 0; i <= depth; ++i) {
    auto to = i == depth ? out.list() : std::vector<Axis>{i % 2 == 0 ? width : width.alias(width.name + "2")};
    auto options = o.linear;
    if (i == depth) options.use_bias = o.use_final_bias.value_or(options.use_bias);
    m.layers.push_back(Linear::init(from, to, view(keys, i), options));
    from = to;
  }
  return m;
}
NamedArray DeepMlp::operator()(const NamedArray& x) const {
  check<ValueError>(!layers.empty(), "DeepMlp: it has no layers; make it with DeepMlp::init");
  auto y = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    y = marked(layers[i](y), {checkpoint_names::kMlp});
    if (i + 1 < layers.size()) y = marked(activate(activation, auto_sharded(y)), {checkpoint_names::kMlp});
  }
  return marked(activate(final_activation, y), {checkpoint_names::kMlp, kMlpOut});
}

template <> std::vector<LayerSample> samples<"Mlp">() {
  Axis batch{kBatch, 4}, position{kPosition, 3}, embed{kEmbed, 8}, hidden{kMlp, 12};
  auto plain = [=](const Array& k) { return Mlp::init(embed, hidden, k); };
  auto bare = [=](const Array& k) { return Mlp::gated(embed, hidden, k); };
  auto biased = [=](const Array& k) { return Mlp::gated(embed, hidden, k, {}, {}); };
  auto gelu = [=](const Array& k) {
    auto m = Mlp::gated(embed, hidden, k, {.use_bias = false}, {.use_bias = false}, Activation::gelu_new);
    m.dropout = {0.25F};
    return m;
  };
  auto call = [](const Mlp& m, const NamedArray& x) { return m(x); };
  auto dropped = [](const Mlp& m, const NamedArray& x) { return m(x, random::key(3)); };
  return {sample("plain", plain, example({batch, embed}), call),
          sample("SwiGLU", bare, example({batch, embed}), call),
          sample("GeGLU, dropout", gelu, example({batch, position, embed}), dropped),
          sample("SwiGLU with biases", biased, example({batch, embed}), call)};
}
template const bool added<"Mlp">;
template <> std::vector<LayerSample> samples<"DeepMlp">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 5}, width{kMlp, 6}, out{"out", 3};
  auto deep = [=](const Array& k) {
    return DeepMlp::init(embed, out, width, 2, k, {.activation = activation("tanh"), .use_final_bias = false});
  };
  auto flat = [=](const Array& k) {
    return DeepMlp::init(embed, {out, Axis{"part", 2}}, width, 0, k,
                         {.final_activation = Activation::sigmoid, .linear = {.use_bias = false}});
  };
  auto call = [](const DeepMlp& m, const NamedArray& x) { return m(x); };
  return {sample("two hidden layers", deep, example({batch, embed}), call),
          sample("no hidden layer", flat, example({embed, batch}), call)};
}
template const bool added<"DeepMlp">;
}  // namespace bora::nn
