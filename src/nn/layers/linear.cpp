#include "bora/nn/linear.h"
#include <algorithm>
#include "bora/nn/adapters.h"
#include "bora/named/axes.h"
#include "nn/core/support.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"
#include "bora/named/random.h"

namespace bora::nn {
Linear Linear::init(const Axes& in, const Axes& out, const Array& key, const LinearOptions& o) {
  auto axes = in.list();
  std::int64_t fan_in = 1;
  for (auto& a : in) fan_in *= a.size;
  for (auto& a : out) {
    check<AxisError>(find_axis(axes, a.name) < 0, "Linear: axis '", a.name,
                     "' is named twice; rename it on one side (alias)");
    axes.push_back(a);
  }
  if (o.out_first)
    std::rotate(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(in.size()), axes.end());
  Linear l{o.weight(key, axes, fan_in), none, in.list(), out.list()};
  if (o.use_bias) l.bias = zeros(out);
  return l;
}
NamedArray Linear::operator()(const NamedArray& input) const {
  auto x = gathered(input, weight);
  for (auto& a : in)
    check<AxisError>(x.has_axis(a.name), "Linear: the input ", x.axes(), " has no axis '", a.name,
                     "'; this layer maps ", in, " to ", out);
  for (auto& a : out)
    check<AxisError>(!x.has_axis(a.name), "Linear: the input ", x.axes(), " has axis '", a.name,
                     "' already; this layer maps ", in, " to ", out);
  auto product = [&](const NamedArray& x, const NamedArray& w) {
    if (packed) return packed->dot(x, w);
    if (!dot_general) return dot(x, w, names_of(in));
    return std::visit([&](auto& op) { return op(x, w, names_of(in)); }, *dot_general);
  };
  auto y = scattered(product(x, auto_sharded(weight)), weight);
  if (lora) {
    auto seen = lora->key ? dropout(lora->key->array(), x, static_cast<double>(lora->rate)) : x;
    auto a = auto_sharded(lora->a), b = auto_sharded(lora->b);
    auto more = dot(dot(seen, a, names_of(in)) * lora->scale, b, kRank);
    if (lora->magnitude) {  // as PEFT: the norm is a constant, and only what was not dropped is scaled
      auto numbers = stop_gradient(packed ? packed->unpack(auto_sharded(weight)) : auto_sharded(weight));
      auto delta = stop_gradient(dot(a.astype(f32), b.astype(f32), kRank) * lora->scale);
      auto m = auto_sharded(*lora->magnitude);
      auto by = m.astype(f32) / magnitudes(numbers, delta, m.axes());
      auto kept = lora->key ? scattered(product(seen, auto_sharded(weight)), weight) : y;
      more = (kept * (by - 1.0) + more * by).astype(y.dtype());
    }
    y = y + more;
  }
  return bias ? y + auto_sharded(*bias) : y;
}

template <> std::vector<LayerSample> samples<"Linear">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, heads{kHeads, 4}, size{kHeadSize, 3};
  auto spread = [=](const Array& k) { return Linear::init(embed, {heads, size}, k); };
  auto merge = [=](const Array& k) { return Linear::init({heads, size}, embed, k, {.use_bias = false}); };
  auto out_first = [=](const Array& k) {
    return Linear::init(embed, {heads, size}, k, {.weight = Init::fan_in(0.5), .out_first = true});
  };
  auto call = [](const Linear& l, const NamedArray& x) { return l(x); };
  return {sample("out first, a scale", out_first, example({batch, embed}), call),
          sample("to several axes", spread, example({batch, embed}), call),
          sample("from several axes, no bias", merge, example({heads, batch, size}), call)};
}
template const bool added<"Linear">;

DenseGeneral DenseGeneral::init(const Axes& each, const Axes& in, const Axes& out, const Array& key,
                                const LinearOptions& o) {
  auto axes = each.list();
  auto append = [&](const Axes& more) {
    for (auto& a : more) {
      check<AxisError>(find_axis(axes, a.name) < 0, "DenseGeneral: axis '", a.name,
                       "' is named twice; rename it on one side (alias)");
      axes.push_back(a);
    }
  };
  append(o.out_first ? out : in);
  append(o.out_first ? in : out);
  DenseGeneral l{o.weight(key, axes, volume(shape_of(in.list()))), none, each.list(), in.list(), out.list()};
  if (o.use_bias) l.bias = zeros(concat_axes(l.each, l.out));
  return l;
}
NamedArray DenseGeneral::operator()(const NamedArray& x) const {
  for (auto* list : {&each, &in})
    for (auto& a : *list)
      check<AxisError>(x.has_axis(a.name), "DenseGeneral: the input ", to_string(x.axes()), " has no axis '", a.name,
                       "'; this layer maps ", to_string(in), " to ", to_string(out), " for each of ", to_string(each));
  for (auto& a : out)
    check<AxisError>(!x.has_axis(a.name), "DenseGeneral: the input ", to_string(x.axes()), " has axis '", a.name,
                     "' already; this layer maps ", to_string(in), " to ", to_string(out));
  auto y = scattered(dot(gathered(x, weight), auto_sharded(weight), names_of(in)), weight);
  if (bias) y = y + auto_sharded(*bias);
  return aligned(y, concat_axes(without_axes(x.axes(), names_of(in)), out));
}

template <> std::vector<LayerSample> samples<"DenseGeneral">() {
  Axis batch{kBatch, 4}, heads{kHeads, 4}, embed{kEmbed, 3}, size{kHeadSize, 5};
  auto init = [=](const Array& k) { return DenseGeneral::init(heads, embed, size, k); };
  auto first = [=](const Array& k) {
    return DenseGeneral::init({heads, batch}, embed, size, k, {.use_bias = false, .out_first = true});
  };
  auto call = [](const DenseGeneral& l, const NamedArray& x) { return l(x); };
  return {sample("for each head", init, example({batch, heads, embed}), call),
          sample("for each head and row, out first", first, example({batch, embed, heads}), call)};
}
template const bool added<"DenseGeneral">;
}  // namespace bora::nn
