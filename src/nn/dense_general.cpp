#include "bora/nn/dense_general.h"
#include "bora/named/axes.h"
#include "nn/support.h"

namespace bora::nn {
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
