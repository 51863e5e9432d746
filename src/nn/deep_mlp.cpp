#include "bora/nn/deep_mlp.h"
#include "bora/ops/shape.h"
#include "nn/support.h"

namespace bora::nn {
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
    y = layers[i](y);
    if (i + 1 < layers.size()) y = activate(activation, auto_sharded(y));
  }
  return activate(final_activation, y);
}

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
