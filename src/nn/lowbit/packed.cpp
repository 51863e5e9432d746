// Weights of 8 and 4 bits in layers.
#include "bora/fx/custom.h"
#include "bora/named/axes.h"
#include "bora/named/mapping.h"
#include "bora/named/operations.h"
#include "bora/nn/embedding.h"
#include "bora/nn/linear.h"
#include "bora/ops/manipulation.h"
#include "nn/core/support.h"
#include "nn/layers/linear_stack.h"
#include "ops/api/quantized.h"

namespace bora::nn {
namespace {
std::int64_t size_of(const AxisList& axes) { return volume(shape_of(axes)); }
ops::LowbitShape shape_of_packed(const PackedWeight& w) {
  return {{w.format.bits, w.format.group}, size_of(w.out), size_of(w.in)};
}
/// The name of units of these axes, of which each has `unit` numbers.
std::string name_of_units(const AxisList& axes, std::int64_t unit) {
  auto& first = axes.at(0);
  auto own = first.name + "_units";
  if (!here().mesh) return first.name;
  auto spec = spec_for({first}, current_mapping());
  std::int64_t parts = here().mesh->parts(spec[0]), n = size_of(axes);
  bool whole = parts == 1 || (first.size % parts == 0 && n / parts % unit == 0 &&
                              here().mesh->most(first.size, spec[0]) * parts == first.size);
  return whole ? first.name : own;
}
AxisList before(const NamedArray& x, std::size_t last) {
  return {x.axes().begin(), x.axes().end() - static_cast<std::ptrdiff_t>(last)};
}
}  // namespace

std::optional<WeightFormat> WeightFormat::find(std::string_view text) {
  for (auto f : {WeightFormat{8, 32}, WeightFormat{4, 32}, WeightFormat{4, 128}})
    if (text == to_string(f)) return f;
  return none;
}
WeightFormat WeightFormat::parse(std::string_view text) {
  if (auto f = find(text)) return *f;
  fail<ConfigError>("weights: '", text, "' is no format of quantised weights; there are int8, int4 and int4:128");
}
std::string to_string(const WeightFormat& f) {
  return "int" + std::to_string(f.bits) + (f.group == 32 ? "" : ":" + std::to_string(f.group));
}
std::vector<Axis> PackedWeight::axes(const std::vector<Axis>& stacked) const {
  auto shape = shape_of_packed(*this).packed();
  auto r = stacked;
  r.push_back({name_of_units(out, kernels::kLowbitTile), shape[0]});
  r.push_back({name_of_units(in, format.group), shape[1]});
  r.push_back({kPacked, shape[2]});
  return r;
}
NamedArray PackedWeight::pack(const NamedArray& weight) const {
  auto stacked = without_axes(weight.axes(), names_of(joined(out, in)));
  bool inputs_first = weight.axes() != joined(joined(stacked, out), in);
  auto w = aligned(weight, inputs_first ? joined(joined(stacked, in), out) : joined(joined(stacked, out), in));
  auto s = shape_of_packed(*this);
  auto shape = shape_of(stacked);
  shape.push_back(inputs_first ? s.k : s.n), shape.push_back(inputs_first ? s.n : s.k);
  auto numbers = w.dtype() == bf16 ? w.array() : w.array().astype(f32);
  auto packed = ops::quantize(reshape(numbers, shape), s.format, inputs_first);
  return auto_sharded(made(packed, axes(stacked)));
}
NamedArray PackedWeight::unpack(const NamedArray& packed) const {
  auto stacked = before(packed, 3);
  auto all = joined(joined(stacked, out), in);
  return made(reshape(ops::dequantize(packed.array(), shape_of_packed(*this)), shape_of(all)), all);
}
namespace {
NamedArray product_of(const PackedWeight& w, const NamedArray& x, const NamedArray& packed) {
  auto rows = without_axes(x.axes(), names_of(w.in));
  auto s = shape_of_packed(w);
  auto shape = shape_of(rows);
  shape.push_back(s.k);
  auto flat = reshape(aligned(x, joined(rows, w.in)).array().astype(f32), shape);
  auto all = joined(rows, w.out);
  return made(reshape(ops::quantized_dot(flat, packed.array(), s), shape_of(all)), all).astype(x.dtype());
}
}  // namespace
NamedArray PackedWeight::dot(const NamedArray& x, const NamedArray& packed) const {
  auto forward = [w = *this](const NamedArray& x, const NamedArray& packed) { return product_of(w, x, packed); };
  // Only the integers are kept for it; their numbers are made again, one layer's at a time.
  auto backward = [w = *this, axes = x.axes()](const NamedArray& packed, const NamedArray& ct) {
    auto dx = bora::dot(ct, w.unpack(packed).astype(ct.dtype()), names_of(w.out));
    return std::tuple{aligned(dx, axes), none};
  };
  return custom_vjp(
      forward, [=](const NamedArray& x, const NamedArray& packed) { return std::pair{forward(x, packed), packed}; },
      backward)(x, packed);
}
NamedArray PackedWeight::rows(const NamedArray& packed, const NamedArray& indices) const {
  auto all = joined(indices.axes(), in);
  auto y = ops::quantized_take(packed.array(), indices.array().astype(i32), shape_of_packed(*this));
  return made(reshape(y, shape_of(all)), all);
}
void pack(Linear& l, const WeightFormat& f) {
  check<ValueError>(!l.packed, "pack: the layer is packed already, in ", [&] { return to_string(l.packed->format); });
  check<ValueError>(!l.lora, "pack: the layer has an adapter; merge it first: merge_adapter(layer)");
  check<ValueError>(!l.dot_general, "pack: the layer has a product of its own (dot_general), which takes numbers");
  PackedWeight w{f, l.out, l.in};
  l.weight = w.pack(l.weight);
  l.packed = w;
}
void pack(Embedding& e, const WeightFormat& f) {
  check<ValueError>(!e.packed, "pack: the table is packed already, in ", [&] { return to_string(e.packed->format); });
  PackedWeight w{f, {e.weight.axes().at(0)}, {e.weight.axes().at(1)}};
  e.weight = w.pack(e.weight);
  e.packed = w;
}
}  // namespace bora::nn
