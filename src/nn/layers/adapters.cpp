#include "bora/nn/adapters.h"
#include <cmath>
#include "nn/layers/linear_stack.h"
#include "bora/named/random.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"

namespace bora::nn {
double AdapterOptions::scale() const {
  auto r = static_cast<double>(rank);
  return alpha / (rslora ? std::sqrt(r) : r);
}
void add_adapter(Linear& l, const AdapterOptions& o, const Array& key) {
  check<ValueError>(o.rank >= 1, "add_adapter: the rank must be 1 or more, got ", o.rank);
  auto stack = stack_of(l);
  Axis rank{kRank, o.rank};
  auto dtype = l.dtype();
  Axes of_a = joined(joined(stack, l.in), {rank}), of_b = joined(joined(stack, {rank}), l.out);
  auto bound = 1 / std::sqrt(static_cast<double>(volume(shape_of(l.in))));
  auto a = o.init == AdapterInit::kaiming ? random::uniform(key, of_a, f32, -bound, bound)
                                          : random::normal(key, of_a) * (1 / static_cast<double>(o.rank));
  l.lora = Adapter{a.astype(dtype), zeros(of_b, dtype), static_cast<float>(o.scale()), static_cast<float>(o.dropout)};
  if (o.dora)
    l.lora->magnitude = magnitudes(l.packed ? l.packed->unpack(l.weight) : l.weight, none, joined(stack, l.out))
                            .astype(dtype);
}
NamedArray magnitudes(const NamedArray& weight, const std::optional<NamedArray>& product, const AxisList& of_outputs) {
  auto w = weight.astype(f32);
  if (product) w = w + aligned(*product, w.axes());
  return aligned(sqrt(sum(square(w), names_of(without_axes(w.axes(), names_of(of_outputs))))), of_outputs);
}
NamedArray with_adapter(const NamedArray& weight, const Adapter& lora) {
  auto product = dot(lora.a.astype(f32), lora.b.astype(f32), kRank) * lora.scale;
  auto w = weight.astype(f32) + aligned(product, weight.axes());
  if (!lora.magnitude) return w;
  auto& m = *lora.magnitude;
  return aligned(w * (m.astype(f32) / magnitudes(weight, product, m.axes())), weight.axes());
}
void merge_adapter(Linear& l) {
  if (!l.lora) return;
  if (l.packed) {
    l.weight = l.packed->unpack(l.weight);
    l.packed.reset();
  }
  l.weight = with_adapter(l.weight, *l.lora).astype(l.weight.dtype());
  l.lora.reset();
}
void drop_inputs(Linear& l, const Array& key) {
  if (l.lora && l.lora->rate != 0) l.lora->key = keys_of_stack(l, key);
}
bool in_adapter(std::string_view path) { return path.find(".lora.") != path.npos || path.starts_with("lora."); }
}  // namespace bora::nn
