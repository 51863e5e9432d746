// Attention and its gradient: primitives over the tiled kernel (kernels/api/attention.h). The gradient's own
// derivative is in attention_second.cpp, the public function in ops/nn/attention.cpp.
#include "kernels/api/attention.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/attention_inputs.h"
#include "bora/array/primitive.h"
#include "bora/ops/accumulator.h"

namespace bora::ops {
namespace {
/// The inputs' dimensions as labels: B.. are 0, 1, .., then K, G and S; keys and sizes of heads are needed whole, and
/// queries whose numbers count: for causal masks, windows and dropout.
struct AttentionLabels {
  Dims b;
  std::int64_t k, g, s;
  AttentionLabels(const Attention& p, std::int64_t lead)
      : b(range_of(lead)), k(lead), g(lead + 1), s(p.left || p.right || p.window || p.keep < 1 ? kNone : lead + 2) {}
  Dims operator()(const Dims& more) const { return joined(b, more); }
  Dims q() const { return (*this)({s, k, g, kNone}); }
  Dims kv() const { return (*this)({kNone, k, kNone}); }
  Dims rows() const { return (*this)({k, g, s}); }
  /// An optional input is broadcast along its dimensions of size 1.
  static Dims of(const Type& t, Dims d) {
    for (std::size_t i = 0; i < d.size(); ++i)
      if (t.shape[i] == 1) d[i] = kNone;
    return d;
  }
};
/// Calls f(input, required dtype, allowed sizes) for every optional input.
template <class F> void for_each_extra(const Extras& x, const AttentionSizes& s, Dtype bias, F f) {
  Dims all{s.K, s.G, s.S, s.T};
  if (x.mask) f(x.mask, boolean, all);
  if (x.bias) f(x.bias, bias, all);
  if (x.query_segments) f(x.query_segments, i32, Dims{s.S}), f(x.key_segments, i32, Dims{s.T});
  if (x.key) f(x.key, Dtype::key, Dims{}), f(x.row, i64, Dims{s.K, s.G});
  if (x.window) f(x.window, i32, Dims{});
}
void check_extras(const Attention& p, const Types& in, const AttentionSizes& s, std::size_t n) {
  Extras x(p, n);
  check<ShapeError>(in.size() == x.end, "attention: needs ", x.end, " inputs, got ", in.size());
  for_each_extra(x, s, real_accumulator(in[0].dtype), [&](std::size_t i, Dtype dtype, const Dims& tail) {
    auto full = AttentionSizes::with(s.batch, tail);
    bool fits = in[i].shape.size() == full.size() && in[i].dtype == dtype;
    for (std::size_t d = 0; fits && d < full.size(); ++d) fits = in[i].shape[d] == 1 || in[i].shape[d] == full[d];
    check<ShapeError>(fits, "attention: input ", i, " must be ", Type{full, dtype}, " or 1 in some of its sizes, got ",
                      in[i]);
  });
}
std::vector<Dims> input_labels(const Attention& p, const Types& in, std::vector<Dims> main) {
  AttentionLabels l(p, in[0].ndim() - 4);
  Extras x(p, main.size());
  main.resize(x.end);
  auto put = [&](std::size_t i, const Dims& tail) {
    if (i) main[i] = AttentionLabels::of(in[i], l(tail));
  };
  put(x.mask, {l.k, l.g, l.s, kNone});
  put(x.bias, {l.k, l.g, l.s, kNone});
  put(x.query_segments, {l.s});
  put(x.key_segments, {kNone});
  put(x.key, {});
  put(x.row, {l.k, l.g});
  put(x.window, {});
  return main;
}
/// Adds a leading dimension: the first `n` inputs (and `whole`) get it in full, an unmapped optional input has size 1.
std::vector<Mapped> lifted(const PrimitivePtr& p, const std::vector<Mapped>& in, std::size_t n, std::size_t whole,
                           const BatchRules& rules) {
  Arrays a;
  for (std::size_t i = 0; i < in.size(); ++i)
    a.push_back(i < n || i == whole || in[i].axis >= 0 ? rules.front(in[i]) : expand_dims(in[i].value, 0));
  std::vector<Mapped> r;
  for (auto& y : call(p, a)) r.push_back({y, 0});
  return r;
}

/// The kernel's arguments. Lives beside its offsets.
struct Prepared {
  kernels::AttentionCall call{};
  std::vector<Dims> offsets;
  Prepared(const Attention& p, InputViews in, std::size_t n) {
    AttentionSizes s(in[0].type, in[1].type, in[2].type);
    auto far = s.S + s.T;
    auto reach = [&](const std::optional<std::int64_t>& r) { return std::clamp(r.value_or(far), -far, far); };
    call = {.dtype = in[0].type.dtype,
            .batch = volume(s.batch),
            .heads = s.K,
            .group = s.G,
            .queries = s.S,
            .keys = s.T,
            .dim = s.D,
            .value_dim = s.E,
            .scale = p.scale,
            .soft_cap = p.soft_cap,
            .left = reach(p.left),
            .right = reach(p.right),
            .q = in[0].data,
            .k = in[1].data,
            .v = in[2].data};
    call.keep = p.keep;
    Extras x(p, n);
    offsets.reserve(7);
    using Extra = kernels::AttentionCall::Extra;
    /// steps: the strides of the dimensions after the batch.
    auto put = [&](std::size_t i, Extra& e, std::initializer_list<std::int64_t Extra::*> steps) {
      if (!i) return;
      auto strides = strides_of(in[i].type.shape);
      for (std::size_t d = 0; d < strides.size(); ++d)
        if (in[i].type.shape[d] == 1) strides[d] = 0;
      auto d = at(s.lead);
      for (auto step : steps) e.*step = strides[d++];
      if (x.key == i)
        for (auto& stride : strides) stride *= 2;  // a key is two words
      auto& to = offsets.emplace_back();
      for_each_index(s.batch, [&](std::int64_t, const Dims& b) {
        std::int64_t o = 0;
        for (std::size_t k = 0; k < b.size(); ++k) o += b[k] * strides[k];
        to.push_back(o);
      });
      e.data = in[i].data;
      e.batch = to.data();
    };
    put(x.mask, call.mask, {&Extra::head, &Extra::group, &Extra::query, &Extra::key});
    put(x.bias, call.bias, {&Extra::head, &Extra::group, &Extra::query, &Extra::key});
    put(x.query_segments, call.query_segments, {&Extra::query});
    put(x.key_segments, call.key_segments, {&Extra::key});
    put(x.key, call.random_key, {});
    put(x.row, call.row, {&Extra::head, &Extra::group});
    put(x.window, call.window, {});
  }
};
Cost cost_of(const Attention& p, const Types& in, const Types& out, double products) {
  AttentionSizes s(in[0], in[1], in[2]);
  Cost c;
  for (auto* list : {&in, &out})
    for (auto& t : *list) c.bytes += static_cast<double>(t.nbytes());
  double pairs = static_cast<double>(s.S) * static_cast<double>(s.T) * (p.right && *p.right <= 0 ? 0.5 : 1);
  c.flops = products * pairs * static_cast<double>((s.D + s.E) * volume(s.batch) * s.K * s.G);
  return c;
}
}  // namespace

bool Attention::saved(Saveable keep, const std::vector<std::string>&) const {
  return keep == Saveable::dots || keep == Saveable::everything;
}
Types Attention::infer(const Types& in) const {
  check<ShapeError>(in.size() >= 3, "attention: needs q, k and v, got ", in.size(), " inputs");
  AttentionSizes s(in[0], in[1], in[2]);
  check_extras(*this, in, s, 3);
  return {{AttentionSizes::with(s.batch, {s.S, s.K, s.G, s.E}), in[0].dtype},
          {AttentionSizes::with(s.batch, {s.K, s.G, s.S}), real_accumulator(in[0].dtype)}};
}
void Attention::eval(InputViews in, OutputViews out) const {
  Prepared p(*this, in, 3);
  kernels::attention(p.call, out[0].data, out[1].data);
}
Cost Attention::cost(const Types& in, const Types& out) const { return cost_of(*this, in, out, 2); }
Arrays Attention::vjp(const Vjp& v) const {
  auto dtype = v.out[1].dtype();
  auto d_out = v.ct[0].defined() ? v.ct[0] : zeros(v.out[0].shape(), v.out[0].dtype());
  // A weight w propagates w (d_w - delta), where delta = sum of w d_w = d_out . out; lse counts as one more weight.
  auto delta = moveaxis(sum(d_out.astype(dtype) * v.out[0].astype(dtype), -1), v.in[0].ndim() - 4, -1);
  if (v.ct[1].defined()) delta = delta - v.ct[1];
  Extras x(*this, 3);
  Arrays in{v.in[0], v.in[1], v.in[2], d_out, v.out[1], delta}, r(v.in.size());
  in.insert(in.end(), v.in.begin() + 3, v.in.end());
  auto g = call(AttentionGrad{*this, x.bias && v.needs[x.bias]}, in);
  std::copy(g.begin(), g.begin() + 3, r.begin());
  if (g.size() > 3) r[x.bias] = g[3];
  return r;
}
DimFactors Attention::factors(const Types& in) const {
  AttentionLabels l(*this, in[0].ndim() - 4);
  return {input_labels(*this, in, {l.q(), l.kv(), l.kv()}), {l.q(), l.rows()}};
}
std::vector<Mapped> Attention::batch(const std::vector<Mapped>& in, const BatchRules& rules) const {
  return lifted(primitive(*this), in, 3, 0, rules);
}

Types AttentionGrad::infer(const Types& in) const {
  check<ShapeError>(in.size() >= 6, "attention_grad: needs q, k, v, d_out, lse and delta, got ", in.size(), " inputs");
  AttentionSizes s(in[0], in[1], in[2]);
  Type rows{AttentionSizes::with(s.batch, {s.K, s.G, s.S}), real_accumulator(in[0].dtype)},
      out{AttentionSizes::with(s.batch, {s.S, s.K, s.G, s.E}), in[0].dtype};
  check<ShapeError>(in[3] == out && in[4] == rows && in[5] == rows, "attention_grad: d_out must be ", out,
                    ", lse and delta ", rows, ", got ", in[3], ", ", in[4], ", ", in[5]);
  check_extras(of, in, s, 6);
  Types r{in[0], in[1], in[2]};
  if (bias) r.push_back(in[Extras(of, 6).bias]);
  return r;
}
void AttentionGrad::eval(InputViews in, OutputViews out) const {
  Prepared p(of, in, 6);
  kernels::AttentionGradient g{in[3].data, in[4].data, in[5].data, out[0].data, out[1].data, out[2].data};
  if (bias) g.dbias = out[3].data, g.bias_size = out[3].type.size();
  kernels::attention_gradient(p.call, g);
}
Cost AttentionGrad::cost(const Types& in, const Types& out) const { return cost_of(of, in, out, bias ? 7 : 5); }
DimFactors AttentionGrad::factors(const Types& in) const {
  AttentionLabels l(of, in[0].ndim() - 4);
  DimFactors f{input_labels(of, in, {l.q(), l.kv(), l.kv(), l.q(), l.rows(), l.rows()}), {l.q(), l.kv(), l.kv()}};
  if (bias) f.out.push_back(f.in[Extras(of, 6).bias]);
  return f;
}
/// Sums over queries, and over heads that share a key, a value or a bias, are pending where those are split.
std::optional<std::vector<Sharded>> AttentionGrad::shard(const std::vector<Sharded>& in, ShardRules& rules) const {
  Types types;
  for (auto& x : in) types.push_back(x.type);
  auto f = factors(types);
  auto r = rules.by_factors(primitive(*this), f, in);
  for (std::size_t d = 0; d < f.out[0].size(); ++d)
    for (std::size_t o = 1; o < r.size(); ++o)
      if (f.out[0][d] != kNone && !contains(f.out[o], f.out[0][d])) r[o].partial.append(r[0].spec[d]);
  return r;
}
std::vector<Mapped> AttentionGrad::batch(const std::vector<Mapped>& in, const BatchRules& rules) const {
  return lifted(primitive(*this), in, 6, bias ? Extras(of, 6).bias : 0, rules);  // each with its own bias gradient
}

// ---- samples: every option, in f64 ----------------------------------------------------------------------------------
namespace {
struct Case {
  Attention p;
  Arrays in;
};
std::vector<Case> cases() {
  auto some = [](const Shape& s, int seed) { return random_values(s, -1, 1, seed); };
  auto q = some({3, 2, 1, 2}, 1), k = some({3, 2, 2}, 2), v = some({3, 2, 2}, 3);
  auto plain = [&] { return Arrays{q, k, v}; };
  auto with = [&](const Arrays& more) {
    Arrays r{q, k, v};
    r.insert(r.end(), more.begin(), more.end());
    return r;
  };
  const std::uint32_t words[] = {7, 9};
  return {{{.scale = 0.7},
           {some({2, 3, 1, 2, 2}, 4), some({2, 4, 1, 2}, 5), some({2, 4, 1, 3}, 6)}},  // a batch; shared heads; T and E
          {{.scale = 1, .left = 1, .right = 0, .soft_cap = 0.8}, plain()},
          {{.scale = 1, .mask = true}, with({random_values({1, 1, 3, 3}, 0, 2, 7, boolean)})},
          {{.scale = 1, .right = 0, .soft_cap = 1.5, .bias = true}, with({some({2, 1, 1, 3}, 8)})},
          {{.scale = 1, .bias = true},  // a bias shared by batch and queries
           {some({2, 3, 1, 2, 2}, 4), some({2, 4, 1, 2}, 5), some({2, 4, 1, 3}, 6), some({1, 1, 2, 1, 4}, 9)}},
          {{.scale = 1, .segments = true}, with({values({3}, {0, 0, 1}, i32), values({3}, {0, 1, 1}, i32)})},
          {{.scale = 1, .keep = 0.7f}, with({from_bytes({{}, Dtype::key}, words), values({2, 1}, {0, 1}, i64)})},
          {{.scale = 1, .right = 0, .window = true},
           {some({2, 3, 1, 2, 2}, 4), some({2, 4, 1, 2}, 5), some({2, 4, 1, 3}, 6), values({2}, {2, 1}, i32)}}};
}
}  // namespace

SamplesOf<Attention> Attention::samples() {
  SamplesOf<Attention> r;
  for (auto& c : cases()) r.push_back({c.p, c.in});
  return r;
}
SamplesOf<AttentionGrad> AttentionGrad::samples() {
  SamplesOf<AttentionGrad> r;
  for (auto& c : cases()) {
    auto out = c.p.infer(types_of(c.in));
    Arrays in{c.in[0],
              c.in[1],
              c.in[2],
              random_values(out[0].shape, -1, 1, 11),
              random_values(out[1].shape, 0.5, 1.5, 12),
              random_values(out[1].shape, -1, 1, 13)};
    in.insert(in.end(), c.in.begin() + 3, c.in.end());
    r.push_back({{c.p, c.p.bias}, in});
  }
  return r;
}
}  // namespace bora::ops

namespace bora {
template PrimitivePtr primitive<ops::Attention>(ops::Attention);
template PrimitivePtr primitive<ops::AttentionGrad>(ops::AttentionGrad);
}  // namespace bora
