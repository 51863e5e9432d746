// loss.h -- losses.
#pragma once
#include "bora/nn/head.h"

namespace bora::nn {
/// bora::cross_entropy by name: -log softmax(scores)[target] for each row. scores [..., vocab], targets i32 [...] ->
/// f32 [...] (f64 for f64 scores). An index outside of the vocabulary gives NaN.
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets);

/// The terms that T5X's loss (Roberts et al. 2022) adds to a cross-entropy.
struct CrossEntropyOptions {
  double z_loss = 0;           // z_loss * logsumexp(scores)^2, which keeps the scores' normaliser near 1
  double label_smoothing = 0;  // of the target's probability, shared equally by the other tokens
  bool operator==(const CrossEntropyOptions&) const = default;
};
/// The cross-entropy of targets so smoothed, minus their entropy: a model that gives these probabilities has loss 0;
/// plus the z-loss. ValueError unless 0 <= z_loss and 0 <= label_smoothing < 1, and for a vocabulary of 1 to smooth.
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets,
                         const CrossEntropyOptions& options);
/// -sum of targets * log softmax(scores), plus z_loss * logsumexp(scores)^2. scores [..., vocab], targets: a floating
/// probability for each token, [..., vocab], which sum to 1 -> f32 [...] (f64 for f64 scores).
NamedArray soft_cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets,
                              double z_loss = 0);

struct LinearCrossEntropyOptions {       // of linear_cross_entropy
  Dtype scores = f32;                    // to which scores are rounded
  std::int64_t block_bytes = 128 << 20;  // of f32 scores on a rank
  CrossEntropyOptions loss = {};         // of the loss of a position
};
/// The sum of weights * cross_entropy(head(x), vocab, targets, options.loss), f32. x [..., position, embed], targets
/// i32 and weights f32 [..., position]; with a weight of 0 x and target may be anything. The scores [..., position,
/// vocab] are never whole where they exceed `block_bytes`: they are made for a block of positions at a time, and in a
/// gradient the backward pass of a block follows at once, so that no product is computed twice (Hsu et al. 2024, Liger
/// Kernel). In blocks the sum's order differs, and forward-mode derivatives throw.
NamedArray linear_cross_entropy(const Head& head, const NamedArray& x, const NamedArray& targets,
                                const NamedArray& weights, const LinearCrossEntropyOptions& options = {});
/// log softmax(head(x))[target] of each position, f32 [..., position]: for losses of whole texts (preferences). x [...,
/// position, embed], targets i32 [..., position]; options.loss is not read. Where the scores exceed `block_bytes` they
/// are made for a block of positions at a time, and again in a gradient.
NamedArray linear_log_probabilities(const Head& head, const NamedArray& x, const NamedArray& targets,
                                    const LinearCrossEntropyOptions& options = {});
}  // namespace bora::nn
