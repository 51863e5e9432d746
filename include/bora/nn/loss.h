// loss.h -- losses.
#pragma once
#include "bora/named/named.h"

namespace bora::nn {
/// bora::cross_entropy by name: -log softmax(scores)[target] for each row. scores [..., vocab], targets i32 [...] ->
/// f32 [...] (f64 for f64 scores). An index outside of the vocabulary gives NaN.
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets);
}  // namespace bora::nn
