// head_loss.h -- losses of what models predict besides tokens and classes, and their predictions. Private.
#pragma once
#include "bora/train/example.h"

namespace bora::models {
/// The sum of weights * (score - value)^2 over positions, of the one score that there is along vocab.
NamedArray squared_error(const NamedArray& scores, const NamedArray& values, const NamedArray& weights);
/// The sum of weights * cross entropy of rows' spans. scores [batch, position, vocab 2]: of a span's first place and of
/// its last one, each compared with those of all positions of the row. At the places 0 and 1 of targets and weights
/// stand those of the first and of the last one.
NamedArray span_loss(const NamedArray& scores, const NamedArray& targets, const NamedArray& weights);
/// The likeliest span of each row, f32 [batch, position]: its first place at 0, its last one at all others. It lies in
/// the second text (token_types 1), or is the first token alone: no answer.
NamedArray likeliest_spans(const NamedArray& scores, const training::Example&);
}  // namespace bora::models
