// random.h -- the samplers of random/random.h for named axes. On a mesh the current mapping splits a draw: each rank
// draws its own block, and the numbers are those of the unsplit draw.
#pragma once
#include "bora/named/named.h"
#include "bora/random/random.h"

namespace bora::random {
NamedArray bits(const Array& key, const Axes& axes, Dtype dtype = u32);
NamedArray uniform(const Array& key, const Axes& axes, Dtype dtype = f32, Scalar minval = 0.0, Scalar maxval = 1.0);
NamedArray normal(const Array& key, const Axes& axes, Dtype dtype = f32);
NamedArray truncated_normal(const Array& key, double lower, double upper, const Axes& axes, Dtype dtype = f32);
NamedArray bernoulli(const Array& key, double p, const Axes& axes);
NamedArray randint(const Array& key, const Axes& axes, std::int64_t minval, std::int64_t maxval, Dtype dtype = i32);
NamedArray gumbel(const Array& key, const Axes& axes, Dtype dtype = f32);
NamedArray exponential(const Array& key, const Axes& axes, Dtype dtype = f32);
/// i32 position along `axis`, with probability softmax(logits).
NamedArray categorical(const Array& key, const NamedArray& logits, const AxisNames::One& axis);
}  // namespace bora::random
namespace bora {
/// x / (1 - rate) where random::bernoulli keeps the element, else 0. ValueError unless 0 <= rate <= 1.
NamedArray dropout(const Array& key, const NamedArray& x, double rate);
}  // namespace bora
