// loss.h -- losses.
#pragma once
#include "bora/nn/head.h"

namespace bora::nn {
/// bora::cross_entropy by name: -log softmax(scores)[target] for each row. scores [..., vocab], targets i32 [...] ->
/// f32 [...] (f64 for f64 scores). An index outside of the vocabulary gives NaN.
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets);

struct LinearCrossEntropyOptions {
  Dtype scores = f32;                    // to which scores are rounded
  std::int64_t block_bytes = 128 << 20;  // of f32 scores on a rank
};
/// The sum of weights * cross_entropy(head(x), vocab, targets), an f32 scalar. x [..., position, embed], targets i32
/// and weights f32 [..., position]. The scores [..., position, vocab] are never whole where they exceed
/// `block_bytes`: they are made for a block of positions at a time, and in a gradient the backward pass of a block
/// follows at once, so that no product is computed twice (Hsu et al. 2024, Liger Kernel). In blocks the sum's order
/// differs, and forward-mode derivatives throw.
NamedArray linear_cross_entropy(const Head& head, const NamedArray& x, const NamedArray& targets,
                                const NamedArray& weights, const LinearCrossEntropyOptions& options = {});
}  // namespace bora::nn
