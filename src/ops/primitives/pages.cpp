// Keys and values in pages: writing them, and attention to them (kernels/api/paged_attention.h).
#include "kernels/api/paged_attention.h"
#include <cstring>
#include <type_traits>
#include "bora/array/primitive.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
namespace {
static_assert(kPagePositions == kernels::kPagePositions);
/// Types without their first `lead` dimensions, the batch, which must be those of the first one.
Types without_batch(std::string_view what, const Types& in, std::int64_t lead) {
  Types r;
  for (auto& t : in) {
    bool fits = lead >= 0 && t.ndim() >= lead && pick(t.shape, range_of(lead)) == pick(in[0].shape, range_of(lead));
    check<ShapeError>(fits, what, ": all operands need the same ", lead, " leading dimensions, got ", in[0], " and ",
                      t);
    r.push_back({pick(t.shape, range_of(t.ndim() - lead, lead)), t.dtype});
  }
  return r;
}
Type with_batch(const Types& in, std::int64_t lead, const Type& one) {
  auto shape = pick(in[0].shape, range_of(lead));
  shape.append(one.shape);
  return {shape, one.dtype};
}
/// Labels for a batch of `lead` dimensions, then these; kNone stays.
Dims behind_batch(std::int64_t lead, const Dims& d) {
  auto r = range_of(lead);
  for (auto x : d) r.push_back(x == kNone ? kNone : lead + x);
  return r;
}
/// Where element `b` of a batch begins in an operand.
template <class V> auto* element(const V& view, std::int64_t lead, std::int64_t b) {
  using Byte = std::conditional_t<std::is_same_v<V, InputView>, const char, char>;
  auto size = static_cast<std::int64_t>(dtype_size(view.type.dtype)) * product(view.type.shape, lead, view.type.ndim());
  return static_cast<Byte*>(view.data) + b * size;
}
/// Inputs: pages [B.., P, K, D, 32] (turned) or [B.., P, K, 32, D], rows [B.., T, K, D] of their dtype, slots i32
/// [B.., T] -> the pages.
struct WritePages {
  bool turned;
  static constexpr std::string_view name = "write_pages";
  static constexpr bool any_dtype = true;
  static constexpr int in_place = 0;
  Type infer(const Types& in) const {
    auto one = without_batch(name, in, in.at(0).ndim() - 4);
    const auto &pages = one.at(0), &rows = one.at(1), &slots = one.at(2);
    bool ranks = rows.ndim() == 3 && slots.ndim() == 1;
    auto of_row = [&](std::size_t d) { return rows.shape[d]; };
    check<ShapeError>(ranks && pages.shape[turned ? 3 : 2] == kPagePositions && pages.shape[1] == of_row(1) &&
                          pages.shape[turned ? 2 : 3] == of_row(2) && slots.shape[0] == of_row(0),
                      "write_pages: pages are [P, K, ", turned ? "D, 32]" : "32, D]",
                      ", rows [T, K, D], slots [T], got ", pages, ", ", rows, ", ", slots);
    check<DtypeError>(pages.dtype == rows.dtype && slots.dtype == i32, "write_pages: rows have the pages' dtype and ",
                      "slots are i32, got ", pages, ", ", rows, ", ", slots);
    check<DtypeError>(is_numeric(pages.dtype) && !is_complex(pages.dtype) && pages.dtype != boolean,
                      "write_pages: not defined for ", pages.dtype);
    return in[0];
  }
  void eval(InputViews in, OutputViews out) const {
    auto& pages = out[0].type;
    if (out[0].data != in[0].data) std::memcpy(out[0].data, in[0].data, pages.nbytes());
    const auto& rows = in[1].type.shape;
    auto lead = pages.ndim() - 4;
    for (std::int64_t b = 0, n = product(pages.shape, 0, lead); b < n; ++b)
      kernels::write_pages({.rows = rows[at(lead)],
                            .heads = rows[at(lead + 1)],
                            .dim = rows[at(lead + 2)],
                            .pages = pages.shape[at(lead)],
                            .size = dtype_size(pages.dtype),
                            .turned = turned,
                            .from = element(in[1], lead, b),
                            .slots = reinterpret_cast<const std::int32_t*>(element(in[2], lead, b))},
                           element(out[0], lead, b));
  }
  Cost cost(const Types& in, const Types&) const { return {0, 2 * static_cast<double>(in[1].nbytes())}; }
  DimFactors factors(const Types& in) const {
    auto labels = [lead = in[0].ndim() - 4](const Dims& d) { return behind_batch(lead, d); };
    auto pages = labels({kNone, 0, kNone, kNone});
    return {{pages, labels({kNone, 0, kNone}), labels({kNone})}, {pages}};
  }
  WritePages lift(std::int64_t) const { return *this; }
  static SamplesOf<WritePages> samples() {
    auto rows = random_values({3, 2, 2}, -1, 1, 2);
    auto slots = values({3}, {33, 64, 1}, i32);  // the second one is outside
    return {{{true}, {random_values({2, 2, 2, kPagePositions}, -1, 1, 1), rows, slots}},
            {{false}, {random_values({2, 2, kPagePositions, 2}, -1, 1, 1), rows, slots}}};
  }
};
/// Inputs: q [T, K, G, D], keys [P, K, D, 32], values [P, K, 32, E], of one floating dtype, i32 first [T], positions
/// [T] and table [L], then as the flags say window i32 [T], bias [K, G, M] and sinks [K, G] (f32; f64 for f64), and f32
/// [P, K, 32, 1], the scales of keys and of values, which are u8 then, bytes of i8 -> [T, K, G, E]. All may have the
/// same batch [B..] before.
struct PagedAttention {
  double scale, soft_cap = 0;
  bool window = false, bias = false, sinks = false, scaled = false;
  std::size_t bias_at() const { return at(6 + window); }
  std::size_t sinks_at() const { return bias_at() + bias; }
  std::size_t scales_at() const { return sinks_at() + sinks; }
  static constexpr std::string_view name = "paged_attention";
  Type infer(const Types& all) const {
    auto wanted = scales_at() + 2 * scaled;
    check<ShapeError>(all.size() == wanted, "paged_attention: needs ", wanted, " inputs, got ", all.size());
    auto in = without_batch(name, all, all[0].ndim() - 4);
    const auto &q = in[0], &k = in[1], &v = in[2];
    check<ShapeError>(q.ndim() == 4 && k.ndim() == 4 && v.ndim() == 4, "paged_attention: q is [T, K, G, D], keys are ",
                      "[P, K, D, 32], values [P, K, 32, E], got ", q, ", ", k, ", ", v);
    auto T = q.shape[0], K = q.shape[1], G = q.shape[2], D = q.shape[3], P = k.shape[0], E = v.shape[3];
    check<ShapeError>(k.shape == Shape{P, K, D, kPagePositions} && v.shape == Shape{P, K, kPagePositions, E},
                      "paged_attention: beside q ", q, " keys must be ", Shape{P, K, D, kPagePositions},
                      " and values ", Shape{P, K, kPagePositions, E}, ", got ", k, " and ", v);
    auto fits = q.dtype == f32 || q.dtype == f64 || q.dtype == bf16;
    auto pages = scaled ? u8 : q.dtype;  // i8 has no kernels: it would be widened
    check<DtypeError>(fits && k.dtype == pages && v.dtype == pages, "paged_attention: needs operands of f32, f64 or ",
                      "bf16, all of one dtype; with scales keys and values of u8, got ", q.dtype, ", ", k.dtype, ", ",
                      v.dtype);
    auto of_tokens = [&](std::size_t i, std::string_view what) {
      check<ShapeError>(in[i] == Type{{T}, i32}, "paged_attention: ", what, " must be ", Type{{T}, i32}, ", got ",
                        in[i]);
    };
    of_tokens(3, "first");
    of_tokens(4, "positions");
    check<ShapeError>(in[5].ndim() == 1 && in[5].dtype == i32, "paged_attention: the table is i32 [L], got ", in[5]);
    if (window) of_tokens(6, "the window");
    if (bias) {
      auto& b = in[bias_at()];
      check<ShapeError>(b.ndim() == 3 && b.shape[0] == K && b.shape[1] == G && b.shape[2] > 0 &&
                            b.dtype == real_accumulator(q.dtype),
                        "paged_attention: the bias is ", real_accumulator(q.dtype), " [", K, ", ", G,
                        ", distances], got ", b);
    }
    Type of_heads{{K, G}, real_accumulator(q.dtype)};
    check<ShapeError>(!sinks || in[sinks_at()] == of_heads, "paged_attention: the sinks are ", of_heads, ", got ",
                      in.back());
    const Type scales{{P, K, kPagePositions, 1}, f32};
    for (auto i = scales_at(); i < in.size(); ++i)
      check<ShapeError>(in[i] == scales, "paged_attention: scales must be ", scales, ", got ", in[i]);
    return with_batch(all, all[0].ndim() - 4, {{T, K, G, E}, q.dtype});
  }
  void eval(InputViews in, OutputViews out) const {
    auto lead = in[0].type.ndim() - 4;
    auto q = [&](std::int64_t d) { return in[0].type.shape[at(lead + d)]; };
    for (std::int64_t b = 0, n = product(in[0].type.shape, 0, lead); b < n; ++b) {
      auto data = [&](std::size_t i) { return element(in[i], lead, b); };
      auto numbers = [&](std::size_t i) { return reinterpret_cast<const std::int32_t*>(data(i)); };
      kernels::PagedCall c{.dtype = in[0].type.dtype,
                           .tokens = q(0),
                           .heads = q(1),
                           .group = q(2),
                           .dim = q(3),
                           .value_dim = in[2].type.shape.back(),
                           .pages = in[1].type.shape[at(lead)],
                           .table_size = in[5].type.shape.back(),
                           .scale = scale,
                           .soft_cap = soft_cap,
                           .q = data(0),
                           .keys = data(1),
                           .values = data(2),
                           .first = numbers(3),
                           .positions = numbers(4),
                           .table = numbers(5)};
      if (window) c.window = numbers(6);
      if (bias) c.bias = data(bias_at()), c.distances = in[bias_at()].type.shape.back();
      if (sinks) c.sinks = data(sinks_at());
      auto scales = [&](std::size_t i) { return reinterpret_cast<const float*>(data(scales_at() + i)); };
      if (scaled) c.key_scales = scales(0), c.value_scales = scales(1);
      kernels::paged_attention(c, element(out[0], lead, b));
    }
  }
  /// As if each token saw one page: how many it sees is data.
  Cost cost(const Types& in, const Types& out) const {
    auto lead = in[0].ndim() - 4;
    auto keys = static_cast<double>(product(in[0].shape, 0, lead + 1) * kPagePositions);
    auto heads = static_cast<double>(in[0].shape[at(lead + 1)]), sizes =
        static_cast<double>(in[0].shape.back() + in[2].shape.back());
    return {2 * keys * heads * static_cast<double>(in[0].shape[at(lead + 2)]) * sizes,
            static_cast<double>(in[0].nbytes() + out[0].nbytes()) +
                keys * sizes * heads * static_cast<double>(dtype_size(in[1].dtype))};
  }
  DimFactors factors(const Types& in) const {
    auto labels = [lead = in[0].ndim() - 4](const Dims& d) { return behind_batch(lead, d); };
    auto q = labels({0, 1, 2, kNone}), pages = labels({kNone, 1, kNone, kNone}), token = labels({0});
    DimFactors f{{q, pages, pages, token, token, labels({kNone})}, {q}};
    if (window) f.in.push_back(token);
    if (bias) f.in.push_back(labels({1, 2, kNone}));
    if (sinks) f.in.push_back(labels({1, 2}));
    if (scaled) f.in.insert(f.in.end(), 2, pages);
    return f;
  }
  PagedAttention lift(std::int64_t) const { return *this; }
  static SamplesOf<PagedAttention> samples() {
    auto q = random_values({3, 2, 1, 2}, -1, 1, 1), k = random_values({3, 2, 2, kPagePositions}, -1, 1, 2),
         v = random_values({3, 2, kPagePositions, 3}, -1, 1, 3);
    // Two sequences, of which the first has two tokens and two pages.
    Arrays plain{q, k, v, values({3}, {0, 0, 2}, i32), values({3}, {39, 40, 2}, i32), values({3}, {2, 0, 1}, i32)};
    auto with = [&](const Arrays& more) {
      auto r = plain;
      r.insert(r.end(), more.begin(), more.end());
      return r;
    };
    auto shared = plain;
    shared[0] = random_values({3, 2, 2, 2}, -1, 1, 4);
    auto scales = random_values({3, 2, kPagePositions, 1}, 0.1, 1, 6).astype(f32);
    auto small = with({scales, scales});
    for (auto& x : {&small[1], &small[2]}) *x = bitcast((*x * 100).astype(i8), u8);
    return {{{.scale = 0.7}, plain},
            {{.scale = 1, .soft_cap = 0.8}, shared},
            {{.scale = 1, .window = true}, with({values({3}, {4, 4, 4}, i32)})},
            {{.scale = 1, .bias = true}, with({random_values({2, 1, 5}, -1, 1, 5)})},
            {{.scale = 1, .sinks = true}, with({random_values({2, 1}, -1, 1, 6)})},
            {{.scale = 0.7, .scaled = true}, small}};
  }
};
Array written(const Array& pages, const Array& rows, const Array& slots, bool turned) {
  return call_one(WritePages{turned}, {pages, rows.astype(pages.dtype()), slots.astype(i32)});
}
}  // namespace
}  // namespace bora::ops

namespace bora {
Array write_key_pages(const Array& pages, const Array& keys, const Array& slots) {
  return ops::written(pages, keys, slots, true);
}
Array write_value_pages(const Array& pages, const Array& values, const Array& slots) {
  return ops::written(pages, values, slots, false);
}
Array paged_attention(const Array& q, const Array& keys, const Array& values, const PagedTokens& tokens,
                      const PagedAttentionOptions& o) {
  check<ShapeError>(q.ndim() == 3 && keys.ndim() == 4 && values.ndim() == 4, "paged_attention: q is [T, H, D], keys ",
                    "are [P, K, D, 32], values [P, K, 32, E], got ", q.type(), ", ", keys.type(), ", ", values.type());
  auto T = q.shape(0), H = q.shape(1), K = keys.shape(1);
  check<ShapeError>(K > 0 && H % K == 0, "paged_attention: ", H, " heads of q do not share ", K, " of the keys evenly");
  auto dtype = o.key_scales.defined() ? q.dtype() : keys.dtype();
  ops::PagedAttention p{.scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape(2)))),
                        .soft_cap = o.soft_cap.value_or(0),
                        .window = o.window.defined(),
                        .bias = o.bias.defined(),
                        .sinks = o.sinks.defined(),
                        .scaled = o.key_scales.defined()};
  check<ValueError>(!o.soft_cap || *o.soft_cap > 0, "paged_attention: .soft_cap must be positive, got ", p.soft_cap);
  check<ValueError>(o.key_scales.defined() == o.value_scales.defined(), "paged_attention: .key_scales and ",
                    ".value_scales belong together");
  Arrays in{reshape(q.astype(dtype), {T, K, H / K, q.shape(2)}), keys, values.astype(keys.dtype()),
            tokens.first.astype(i32), tokens.positions.astype(i32), tokens.table.astype(i32)};
  if (p.window) in.push_back(broadcast_to(o.window.astype(i32), {T}));
  if (p.bias) {
    check<ShapeError>(o.bias.ndim() == 2 && o.bias.shape(0) == H, "paged_attention: the bias is [", H,
                      ", distances], got ", o.bias.type());
    in.push_back(reshape(o.bias.astype(real_accumulator(dtype)), {K, H / K, o.bias.shape(1)}));
  }
  if (p.sinks) {
    check<ShapeError>(o.sinks.shape() == Shape{H}, "paged_attention: the sinks are [", H, "], a score for each head, ",
                      "got ", o.sinks.type());
    in.push_back(reshape(o.sinks.astype(real_accumulator(dtype)), {K, H / K}));
  }
  if (p.scaled) in.insert(in.end(), {o.key_scales, o.value_scales});
  return reshape(call_one(p, in), {T, H, values.shape(3)});
}
}  // namespace bora
