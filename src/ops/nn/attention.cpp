// The public function of attention: checks, and where its inputs stand.
#include "kernels/api/attention.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "ops/api/support.h"

namespace bora {
using namespace ops;
Array attention(const Array& q, const Array& k, const Array& v, const AttentionOptions& options) {
  check<ShapeError>(q.ndim() >= 3 && k.ndim() == q.ndim() && v.ndim() == q.ndim(),
                    "attention: q, k, v are [B.., S, H, D] and [B.., T, H, D], got ", q.shape(), ", ", k.shape(), ", ",
                    v.shape());
  auto lead = q.ndim() - 3;
  auto S = q.shape(-3), T = k.shape(-3), H = q.shape(-2), D = q.shape(-1), K = k.shape(-2);
  for (std::int64_t d = 0; d < lead; ++d)
    check<ShapeError>(q.shape(d) == k.shape(d) && q.shape(d) == v.shape(d), "attention: batch dimension ", d,
                      " differs: ", q.shape(), ", ", k.shape(), ", ", v.shape());
  check<ShapeError>(v.shape(-3) == T, "attention: ", T, " keys and ", v.shape(-3), " values");
  check<ShapeError>(k.shape(-1) == D, "attention: head size ", D, " of q and ", k.shape(-1), " of k");
  check<ShapeError>(K == v.shape(-2) && K > 0 && H % K == 0, "attention: ", H, " heads of q do not share ", K,
                    " of k and ", v.shape(-2), " of v evenly");
  check<DtypeError>(is_float(q.dtype()), "attention: needs floating-point operands, got ", q.type());
  auto dtype = q.dtype(), computed = real_accumulator(dtype);
  auto G = H / K;
  auto batch = Shape(Dims(q.type().shape.begin(), q.type().shape.begin() + lead));
  /// x as `batch` (ones where x has fewer dimensions), then `tail`; the dimension of heads is split in two.
  auto shaped = [&](const Array& x, std::string_view what, const Dims& tail, bool heads) {
    auto full = batch;
    full.append(Shape(tail));
    auto missing = static_cast<std::int64_t>(full.size()) - x.ndim();
    bool fits = missing >= 0;
    for (std::int64_t d = 0; fits && d < x.ndim(); ++d)
      fits = x.shape(d) == 1 || x.shape(d) == full[ops::at(missing + d)];
    check<ShapeError>(fits, "attention: ", what, " ", x.shape(), " does not broadcast to ", full);
    auto s = Shape(Dims(ops::at(missing), 1));
    s.append(x.shape());
    if (heads)
      s.insert(ops::at(lead) + 1, s[ops::at(lead)] == 1 ? 1 : G), s[ops::at(lead)] = s[ops::at(lead)] == 1 ? 1 : K;
    return reshape(x, s);
  };
  ops::Attention p{.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(D))),
                   .left = options.left,
                   .right = options.right};
  if (options.causal) p.right = std::min<std::int64_t>(0, p.right.value_or(0));
  if (options.soft_cap) {
    check<ValueError>(*options.soft_cap > 0, "attention: .soft_cap must be positive, got ", *options.soft_cap);
    p.soft_cap = *options.soft_cap;
  }
  auto grouped = batch;
  grouped.append(Shape{S, K, G, D});
  Arrays in{reshape(q, grouped), k.astype(dtype), v.astype(dtype)};
  if (options.mask.defined()) {
    check<DtypeError>(options.mask.dtype() == boolean, "attention: a mask is boolean, got ", options.mask.type(),
                      "; numbers to add go into .bias");
    p.mask = true;
    in.push_back(shaped(options.mask, "the mask", {H, S, T}, true));
  }
  if (options.bias.defined()) {
    p.bias = true;
    in.push_back(shaped(options.bias, "the bias", {H, S, T}, true).astype(computed));
  }
  check<ValueError>(options.query_segments.defined() == options.key_segments.defined(),
                    "attention: .query_segments and .key_segments are given together, .",
                    options.key_segments.defined() ? "query" : "key", "_segments is missing");
  if (options.query_segments.defined()) {
    for (auto* s : {&options.query_segments, &options.key_segments})
      check<DtypeError>(s->dtype() == i32 || s->dtype() == u8, "attention: segments are of i32 or u8, got ", s->type(),
                        "; .astype(i32) where their values fit");
    p.segments = true;
    in.push_back(shaped(options.query_segments, "query_segments", {S}, false).astype(i32));
    in.push_back(shaped(options.key_segments, "key_segments", {T}, false).astype(i32));
  }
  if (options.dropout != 0) {
    check<ValueError>(0 <= options.dropout && options.dropout < 1, "attention: .dropout must be in [0, 1), got ",
                      options.dropout);
    check<ValueError>(options.key.defined() && options.key.dtype() == Dtype::key && options.key.ndim() == 0,
                      "attention: .dropout needs one random key in .key, got ",
                      options.key.defined() ? to_string(options.key.type()) : "none");
    p.keep = static_cast<float>(1 - options.dropout);
  }
  if (p.keep < 1) {  // less than 1 / 2^25 drops nothing
    auto row = batch;
    row.append(Shape{K, G});
    in.push_back(reshape(options.key, Shape(Dims(batch.size(), 1))));
    in.push_back(reshape(iota({volume(row)}, 0, i64), row));
  }
  if (options.window.defined()) {
    check<DtypeError>(options.window.dtype() == i32, "attention: .window is of i32, got ", options.window.type());
    p.window = true;
    in.push_back(shaped(options.window, "the window", {}, false));
  }
  auto parts = call(p, in);
  auto out = parts[0];
  if (options.sinks.defined()) {
    check<ShapeError>(options.sinks.shape() == Shape{H}, "attention: .sinks are [", H, "], a score for each head, got ",
                      options.sinks.type());
    check<DtypeError>(is_float(options.sinks.dtype()), "attention: .sinks are floating, got ", options.sinks.type());
    // The other keys' weights add up to e^lse / (e^lse + e^sink).
    auto share = sigmoid(parts[1] - reshape(options.sinks.astype(computed), {K, G, 1}));
    out = (out.astype(computed) * expand_dims(moveaxis(share, -1, lead), -1)).astype(dtype);
  }
  auto flat = batch;
  flat.append(Shape{S, H, v.shape(-1)});
  return reshape(out, flat);
}
}  // namespace bora
