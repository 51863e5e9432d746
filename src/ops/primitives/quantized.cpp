// Products with weights of 8 and 4 bits, and their rows. Letters: B.. batch, R.. rows, N outputs, K inputs, T tiles of
// outputs, G groups of inputs.
#include "ops/api/quantized.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/collective_primitives.h"
#include "ops/api/primitives.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
namespace {
kernels::Lowbit format_of(int bits, std::int64_t group) { return {bits, group}; }
/// Labels of N and K, which T and G share where a rank's block of these can be whole tiles and groups; else both are
/// needed whole.
struct LowbitLabels {
  std::int64_t n, k;
  LowbitLabels() : n(kNone), k(kNone) {}
  LowbitLabels(const LowbitShape& s, std::int64_t first)
      : n(s.n % kernels::kLowbitTile == 0 ? first : kNone), k(s.k % s.format.group == 0 ? first + 1 : kNone) {}
};
/// Whether the splits of dimensions `d` of an operand cut the numbers where they cut tiles or groups.
bool cuts_whole(ShardRules& s, std::int64_t numbers, std::int64_t units, const std::vector<MeshAxes>& splits) {
  MeshAxes all;
  for (auto& axes : splits)
    for (auto& a : axes)
      if (!all.has(a)) all.push_back(a);
  return s.same_blocks(numbers, units, all);
}
/// Whether an operand is split along a dimension that is needed whole. Such a split may be handed to another dimension,
/// which must be neither tiles nor groups.
bool splits_units(const std::vector<Sharded>& in, const DimFactors& f) {
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t d = 0; d < in[i].spec.size(); ++d)
      if (f.in[i][d] == kNone && !in[i].spec[d].empty()) return true;
  return false;
}
/// The rows of numbers that R.. are.
std::int64_t rows_of(const Shape& s, std::int64_t lead) {
  std::int64_t m = 1;
  for (auto d = at(lead); d + 1 < s.size(); ++d) m *= s[d];
  return m;
}
void check_packed(std::string_view what, const Type& w, std::int64_t lead, const LowbitShape& s) {
  auto whole = lead >= 0 && w.ndim() == lead + 3;
  check<ShapeError>(w.dtype == Dtype::u8 && whole && pick(w.shape, range_of(3, lead)) == s.packed(), what,
                    ": weights of ", s.format.bits, " bits in groups of ", s.format.group, ", [", s.n, ", ", s.k,
                    "], are ", Type{s.packed(), Dtype::u8}, ", got ", w);
}
}  // namespace

/// Inputs x f32 [B.., R.., K], w u8 [B.., T, G, bytes] -> f32 [B.., R.., N].
struct QuantizedDot {
  int bits;
  std::int64_t group, n;
  static constexpr std::string_view name = "quantized_dot";
  static constexpr std::string_view memory = "products";
  LowbitShape shape(const Types& in) const { return {format_of(bits, group), n, in.at(0).shape.back()}; }
  static std::int64_t lead(const Types& in) { return in.at(1).ndim() - 3; }
  Type infer(const Types& in) const {
    auto &x = in.at(0), &w = in.at(1);
    check<DtypeError>(x.dtype == f32, "quantized_dot: x must be f32, got ", x, "; use astype()");
    check<ShapeError>(x.ndim() >= 1, "quantized_dot: x needs a dimension of inputs, got ", x);
    check_packed("quantized_dot", w, lead(in), shape(in));
    check<ShapeError>(x.ndim() > lead(in) && pick(x.shape, range_of(lead(in))) == pick(w.shape, range_of(lead(in))),
                      "quantized_dot: the batch of ", x, " and of the weights ", w, " differ");
    auto out = x.shape;
    out[out.size() - 1] = n;
    return {out, f32};
  }
  void eval(InputViews in, OutputViews out) const {
    Types types{in[0].type, in[1].type};
    auto s = shape(types);
    auto b = lead(types), m = rows_of(types[0].shape, b), bytes = s.format.bytes(n, s.k);
    for (std::int64_t i = 0, batch = product(types[0].shape, 0, b); i < batch; ++i)
      kernels::lowbit_product({s.format, m, n, s.k, in[0].as<float>() + i * m * s.k,
                               static_cast<const char*>(in[1].data) + i * bytes, out[0].as<float>() + i * m * n});
  }
  Cost cost(const Types& in, const Types& out) const {
    Cost c;
    for (auto* list : {&in, &out})
      for (auto& t : *list) c.bytes += static_cast<double>(t.nbytes());
    c.flops = 2.0 * static_cast<double>(out[0].size()) * static_cast<double>(in[0].shape.back());
    return c;
  }
  DimFactors factors(const Types& in) const { return factors(in, LowbitLabels(shape(in), in[0].ndim())); }
  static DimFactors factors(const Types& in, const LowbitLabels& l) {
    auto rows = range_of(in[0].ndim() - 1);
    return {{joined(rows, {l.k}), joined(range_of(lead(in)), {l.n, l.k, kNone})}, {joined(rows, {l.n})}};
  }
  QuantizedDot resized(const Types&, const Types& out) const { return {bits, group, out[0].shape.back()}; }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& rules) const {
    Types types{in[0].type, in[1].type};
    LowbitLabels l(shape(types), types[0].ndim());
    auto k = types[0].shape.back(), b = lead(types);
    auto& w = in[1].type.shape;
    if (!cuts_whole(rules, k, w[at(b + 1)], {in[0].spec[in[0].spec.size() - 1], in[1].spec[at(b + 1)]})) l.k = kNone;
    if (!cuts_whole(rules, n, w[at(b)], {in[1].spec[at(b)]})) l.n = kNone;
    if (splits_units(in, factors(types, l))) l = {};
    return rules.by_factors(primitive(*this), factors(types, l), in);
  }
  /// Weights that are not mapped are read once for all rows.
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& rules) const {
    if (in[1].axis >= 0) return {{call_one(*this, {rules.front(in[0]), rules.front(in[1])}), 0}};
    auto lead = in[1].value.ndim() - 3;
    return {{call_one(*this, {moveaxis(in[0].value, in[0].axis, lead), in[1].value}), lead}};
  }
  static SamplesOf<QuantizedDot> samples();
};
/// Inputs w u8 [T, G, bytes], indices i32 [R..] -> f32 [R.., k]; w has n rows.
struct QuantizedTake {
  int bits;
  std::int64_t group, n, k;
  static constexpr std::string_view name = "quantized_take";
  LowbitShape shape() const { return {format_of(bits, group), n, k}; }
  Type infer(const Types& in) const {
    check_packed("quantized_take", in.at(0), 0, shape());
    check<DtypeError>(in.at(1).dtype == i32, "quantized_take: indices must be i32, got ", in[1]);
    auto out = in[1].shape;
    out.push_back(k);
    return {out, f32};
  }
  void eval(InputViews in, OutputViews out) const {
    kernels::lowbit_rows(format_of(bits, group), in[0].data, n, k, in[1].as<std::int32_t>(), in[1].type.size(),
                         out[0].as<float>());
  }
  DimFactors factors(const Types& in) const { return factors(in, LowbitLabels(shape(), in[1].ndim())); }
  static DimFactors factors(const Types& in, const LowbitLabels& l) {
    auto rows = range_of(in[1].ndim());
    return {{{kNone, l.k, kNone}, rows}, {joined(rows, {l.k})}};
  }
  QuantizedTake resized(const Types&, const Types& out) const { return {bits, group, n, out[0].shape.back()}; }
  /// Rows that are split over ranks: each takes those of its block, and the sum over the ranks is pending.
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& rules) const {
    Types types{in[0].type, in[1].type};
    LowbitLabels l(shape(), types[1].ndim());
    auto& w = in[0];
    if (!cuts_whole(rules, k, w.type.shape[1], {w.spec[1]})) l.k = kNone;
    auto axes = w.spec[0];
    bool own = !axes.empty() && n % kernels::kLowbitTile == 0 && cuts_whole(rules, n, w.type.shape[0], {axes});
    for (auto& d : in[1].spec)
      for (auto& a : d) own = own && !axes.has(a);
    auto whole = [&] {
      if (splits_units(in, factors(types, l))) l = {};
      return rules.by_factors(primitive(*this), factors(types, l), in);
    };
    if (!own) return whole();
    auto spec = w.spec;
    if (l.k == kNone) spec[1] = {};
    spec[2] = {};
    for (auto& a : spec[1])  // a mesh axis splits one dimension of the result
      for (auto& d : in[1].spec)
        if (d.has(a)) return whole();
    auto x = rules.reshard(w, spec);
    auto i = rules.resolve(in[1]);
    auto own_rows = rules.local_shape({n}, Spec({axes}))[0], own_k = rules.local_shape({k}, Spec({spec[1]}))[0];
    auto start = block_start(n, axes), end = block_start(n, axes, {}, 1);
    auto y = call_one(QuantizedTake{bits, group, own_rows, own_k}, {x.local, i.local - start});
    auto mine = (i.local >= start && i.local < end) || i.local < 0 || i.local >= constant(n, i32);
    y = select(broadcast_in_dim(mine, y.shape(), range_of(i.type.ndim())), y, zeros_like(y));
    auto placed = i.spec;
    placed.push_back(spec[1]);
    return {{{y, infer({x.type, i.type}), placed, axes}}};
  }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& rules) const {
    if (in[0].axis < 0) return {{call_one(*this, {in[0].value, in[1].value}), in[1].axis}};
    Arrays each;
    auto w = rules.front(in[0]), i = rules.front(in[1]);
    for (std::int64_t b = 0; b < rules.size; ++b) each.push_back(call_one(*this, {view(w, b), view(i, b)}));
    return {{stack(each, 0), 0}};
  }
  static SamplesOf<QuantizedTake> samples();
};
/// Input w f32 or bf16 [B.., N, K], or inputs first [B.., K, N] -> u8 [B.., T, G, bytes].
struct Quantize {
  int bits;
  std::int64_t group;
  bool inputs_first;
  static constexpr std::string_view name = "quantize";
  static constexpr bool flat = true;
  LowbitShape shape(const Type& w) const {
    auto last = w.shape[at(w.ndim() - 1)], before = w.shape[at(w.ndim() - 2)];
    return {format_of(bits, group), inputs_first ? last : before, inputs_first ? before : last};
  }
  Type infer(const Types& in) const {
    auto& w = in.at(0);
    check<DtypeError>(w.dtype == f32 || w.dtype == bf16, "quantize: weights must be f32 or bf16, got ", w,
                      "; use astype()");
    check<ShapeError>(w.ndim() >= 2, "quantize: weights need outputs and inputs, got ", w);
    auto out = pick(w.shape, range_of(w.ndim() - 2));
    out.append(shape(w).packed());
    return {out, Dtype::u8};
  }
  void eval(InputViews in, OutputViews out) const {
    auto& type = in[0].type;
    auto s = shape(type);
    auto bytes = s.format.bytes(s.n, s.k), each = s.n * s.k * static_cast<std::int64_t>(dtype_size(type.dtype));
    for (std::int64_t b = 0, batch = product(type.shape, 0, type.ndim() - 2); b < batch; ++b)
      kernels::lowbit_pack(s.format,
                           kernels::LowbitSource{static_cast<const char*>(in[0].data) + b * each, s.n, s.k,
                                                 inputs_first ? 1 : s.k, inputs_first ? s.n : 1, type.dtype},
                           static_cast<char*>(out[0].data) + b * bytes);
  }
  DimFactors factors(const Types& in) const {
    return factors(in, LowbitLabels(shape(in[0]), in[0].ndim()));
  }
  DimFactors factors(const Types& in, const LowbitLabels& l) const {
    auto rows = range_of(in[0].ndim() - 2);
    return {{joined(rows, inputs_first ? Dims{l.k, l.n} : Dims{l.n, l.k})}, {joined(rows, {l.n, l.k, kNone})}};
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& rules) const {
    Types types{in[0].type};
    auto s = shape(types[0]);
    LowbitLabels l(s, types[0].ndim());
    auto packed = s.packed();
    auto nd = in[0].spec.size();
    auto of_n = in[0].spec[nd - (inputs_first ? 1 : 2)], of_k = in[0].spec[nd - (inputs_first ? 2 : 1)];
    if (!cuts_whole(rules, s.n, packed[0], {of_n})) l.n = kNone;
    if (!cuts_whole(rules, s.k, packed[1], {of_k})) l.k = kNone;
    if (splits_units(in, factors(types, l))) l = {};
    return rules.by_factors(primitive(*this), factors(types, l), in);
  }
  Quantize lift(std::int64_t) const { return *this; }
  static SamplesOf<Quantize> samples() {
    auto w = [](const Shape& s, int seed) { return random_values(s, -1, 1, seed).astype(f32); };
    return {{{8, 32, false}, {w({32, 64}, 1)}},
            {{4, 32, true}, {w({40, 20}, 2)}},
            {{4, 128, false}, {w({2, 3, 5}, 3)}},
            {{4, 32, false}, {w({16, 32}, 4).astype(bf16)}}};
  }
};
/// Input u8 [B.., T, G, bytes] -> f32 [B.., n, k].
struct Dequantize {
  int bits;
  std::int64_t group, n, k;
  static constexpr std::string_view name = "dequantize";
  static constexpr bool flat = true;
  LowbitShape shape() const { return {format_of(bits, group), n, k}; }
  Type infer(const Types& in) const {
    auto lead = in.at(0).ndim() - 3;
    check_packed("dequantize", in[0], lead, shape());
    auto out = pick(in[0].shape, range_of(lead));
    out.push_back(n), out.push_back(k);
    return {out, f32};
  }
  void eval(InputViews in, OutputViews out) const {
    auto f = format_of(bits, group);
    std::vector<std::int32_t> rows(at(n));
    for (std::int64_t i = 0; i < n; ++i) rows[at(i)] = static_cast<std::int32_t>(i);
    for (std::int64_t b = 0, batch = product(in[0].type.shape, 0, in[0].type.ndim() - 3); b < batch; ++b)
      kernels::lowbit_rows(f, static_cast<const char*>(in[0].data) + b * f.bytes(n, k), n, k, rows.data(), n,
                           out[0].as<float>() + b * n * k);
  }
  DimFactors factors(const Types& in) const { return factors(in, LowbitLabels(shape(), in[0].ndim())); }
  static DimFactors factors(const Types& in, const LowbitLabels& l) {
    auto rows = range_of(in[0].ndim() - 3);
    return {{joined(rows, {l.n, l.k, kNone})}, {joined(rows, {l.n, l.k})}};
  }
  Dequantize resized(const Types&, const Types& out) const {
    auto& s = out[0].shape;
    return {bits, group, s[s.size() - 2], s.back()};
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& rules) const {
    Types types{in[0].type};
    LowbitLabels l(shape(), types[0].ndim());
    auto& w = in[0];
    auto nd = w.spec.size();
    if (!cuts_whole(rules, n, w.type.shape[nd - 3], {w.spec[nd - 3]})) l.n = kNone;
    if (!cuts_whole(rules, k, w.type.shape[nd - 2], {w.spec[nd - 2]})) l.k = kNone;
    if (splits_units(in, factors(types, l))) l = {};
    return rules.by_factors(primitive(*this), factors(types, l), in);
  }
  Dequantize lift(std::int64_t) const { return *this; }
  static SamplesOf<Dequantize> samples();
};
namespace {
/// Weights whose numbers are integers, so that sums of products are exact in whatever order they are made.
Array whole_weights(const kernels::Lowbit& f, std::int64_t n, std::int64_t k, int seed) {
  auto numbers = rint(random_values({n, k}, -7, 7, seed)).to_vector<double>();
  std::vector<std::int8_t> q(numbers.begin(), numbers.end());
  std::vector<std::uint16_t> scales(at(n * f.groups(k)), 0x3c00);  // 1
  std::vector<std::uint8_t> packed(at(f.bytes(n, k)));
  kernels::lowbit_pack(f, kernels::LowbitGiven{q.data(), scales.data(), n, k}, packed.data());
  return asarray(packed, LowbitShape{f, n, k}.packed());
}
/// Integers, of which each 32 have a magnitude of 127 among them.
Array whole_rows(Shape s, int seed) {
  auto x = rint(random_values(s, -100, 100, seed));
  auto k = arange(s.back());
  return where(remainder(k, 32) == 0, 127.0, x).astype(f32);
}
}  // namespace
SamplesOf<QuantizedDot> QuantizedDot::samples() {
  return {{{8, 32, 32}, {whole_rows({3, 64}, 1), whole_weights({8, 32}, 32, 64, 2)}},
          {{4, 32, 21}, {whole_rows({2, 2, 96}, 3), whole_weights({4, 32}, 21, 96, 4)}},
          {{4, 128, 16}, {whole_rows({40}, 5), whole_weights({4, 128}, 16, 40, 6)}},
          {{8, 32, 16},
           {whole_rows({2, 3, 32}, 7),
            stack({whole_weights({8, 32}, 16, 32, 8), whole_weights({8, 32}, 16, 32, 9)}, 0)}}};
}
SamplesOf<QuantizedTake> QuantizedTake::samples() {
  auto ids = [](Shape s, std::initializer_list<double> v) { return values(s, v, i32); };
  return {{{8, 32, 32, 64}, {whole_weights({8, 32}, 32, 64, 1), ids({2, 2}, {0, 31, 17, 5})}},
          {{4, 32, 21, 40}, {whole_weights({4, 32}, 21, 40, 2), ids({3}, {20, 3, 3})}}};
}
SamplesOf<Dequantize> Dequantize::samples() {
  return {{{8, 32, 32, 64}, {whole_weights({8, 32}, 32, 64, 1)}},
          {{4, 128, 5, 40}, {whole_weights({4, 128}, 5, 40, 2)}}};
}
Array quantize(const Array& w, const kernels::Lowbit& f, bool inputs_first) {
  return call_one(Quantize{f.bits, f.group, inputs_first}, {w});
}
Array dequantize(const Array& packed, const LowbitShape& s) {
  return call_one(Dequantize{s.format.bits, s.format.group, s.n, s.k}, {packed});
}
Array quantized_dot(const Array& x, const Array& packed, const LowbitShape& s) {
  check<ShapeError>(x.ndim() > 0 && x.shape().back() == s.k, "quantized_dot: x ", x.type(), " has no ", s.k, " inputs");
  return call_one(QuantizedDot{s.format.bits, s.format.group, s.n}, {x, packed});
}
Array quantized_take(const Array& packed, const Array& indices, const LowbitShape& s) {
  return call_one(QuantizedTake{s.format.bits, s.format.group, s.n, s.k}, {packed, indices});
}
}  // namespace bora::ops

namespace bora {
template PrimitivePtr primitive<ops::QuantizedDot>(ops::QuantizedDot);
template PrimitivePtr primitive<ops::QuantizedTake>(ops::QuantizedTake);
template PrimitivePtr primitive<ops::Quantize>(ops::Quantize);
template PrimitivePtr primitive<ops::Dequantize>(ops::Dequantize);
}  // namespace bora
