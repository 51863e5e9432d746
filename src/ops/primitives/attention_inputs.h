// attention_inputs.h -- where attention's optional inputs are, and its sizes. Private to attention*.cpp.
#pragma once
#include "ops/api/primitives.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
/// Positions of the optional inputs, after the first `n`; 0: absent.
struct Extras {
  std::size_t mask = 0, bias = 0, query_segments = 0, key_segments = 0, key = 0, row = 0, window = 0, end;
  Extras(const Attention& p, std::size_t n) : end(n) {
    if (p.mask) mask = end++;
    if (p.bias) bias = end++;
    if (p.segments) query_segments = end++, key_segments = end++;
    if (p.keep < 1) key = end++, row = end++;
    if (p.window) window = end++;
  }
};
/// Sizes of q [B.., S, K, G, D] with k [B.., T, K, D] and v [B.., T, K, E].
struct AttentionSizes {
  std::int64_t lead, S, T, K, G, D, E;
  Shape batch;
  AttentionSizes(const Type& q, const Type& k, const Type& v) {
    check<ShapeError>(q.ndim() >= 4 && k.ndim() == q.ndim() - 1 && v.ndim() == k.ndim(),
                      "attention: needs q [B.., S, K, G, D], k [B.., T, K, D] and v [B.., T, K, E], got ", q, ", ", k,
                      ", ", v);
    lead = q.ndim() - 4;
    batch = pick(q.shape, range_of(lead));
    S = q.shape[at(lead)], K = q.shape[at(lead + 1)], G = q.shape[at(lead + 2)], D = q.shape[at(lead + 3)];
    T = k.shape[at(lead)], E = v.shape[at(lead + 2)];
    check<ShapeError>(k.shape == with(batch, {T, K, D}) && v.shape == with(batch, {T, K, E}), "attention: k must be ",
                      with(batch, {T, K, D}), " and v ", with(batch, {T, K, E}), " beside q ", q.shape, ", got ", k,
                      " and ", v);
    check<DtypeError>(is_float(q.dtype) && k.dtype == q.dtype && v.dtype == q.dtype,
                      "attention: needs floating-point operands of one dtype, got ", q.dtype, ", ", k.dtype, ", ",
                      v.dtype);
  }
  static Shape with(Shape s, const Dims& more) {
    s.append(Shape(more));
    return s;
  }
};
}  // namespace bora::ops
