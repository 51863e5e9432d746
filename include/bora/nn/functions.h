// functions.h -- functions of neural networks by name: activations, softmax under a mask, losses, attention and its
// masks.
#pragma once
#include "bora/named/random.h"
#include "bora/named/index.h"
#include "bora/named/elementwise.h"
#include "bora/named/reduce.h"
#include "bora/ops/nn.h"

namespace bora::nn {
// ---- activations: ops/nn.h by name ----
// The function of the same name of ops/nn.h, element by element; x's axes stay.
NamedArray celu(const NamedArray& x, double alpha = 1);
NamedArray elu(const NamedArray& x, double alpha = 1);
NamedArray leaky_relu(const NamedArray& x, double negative_slope = 0.01);
NamedArray squareplus(const NamedArray& x, double b = 4);
NamedArray selu(const NamedArray& x);
NamedArray relu6(const NamedArray& x);
NamedArray relu_squared(const NamedArray& x);  // square(relu(x))
NamedArray quick_gelu(const NamedArray& x);    // x sigmoid(1.702 x)
NamedArray hard_sigmoid(const NamedArray& x);
NamedArray hard_silu(const NamedArray& x);
NamedArray hard_swish(const NamedArray& x);
NamedArray hard_tanh(const NamedArray& x);
NamedArray log_sigmoid(const NamedArray& x);
NamedArray mish(const NamedArray& x);
NamedArray swish(const NamedArray& x);
NamedArray soft_sign(const NamedArray& x);
NamedArray sparse_plus(const NamedArray& x);
NamedArray sparse_sigmoid(const NamedArray& x);
NamedArray log1mexp(const NamedArray& x);
/// The first half of x along an axis times the sigmoid of the second.
NamedArray glu(const NamedArray& x, const AxisNames::One& axis);
using bora::gelu, bora::log_softmax, bora::logsumexp, bora::one_hot, bora::relu, bora::sigmoid, bora::silu,
    bora::softmax, bora::softplus, bora::tanh;  // of NamedArrays too
// softmax (log_softmax) of the elements where a mask over some of x's axes holds; 0 (-inf) elsewhere.
NamedArray softmax(const NamedArray& x, const AxisNames& axes, const NamedArray& where);
NamedArray log_softmax(const NamedArray& x, const AxisNames& axes, const NamedArray& where);
struct NamedStandardize {               // of standardize
  double epsilon = 1e-5;                // added to the variance
  NamedArray where = {};                // only these elements count for mean and variance
  NamedArray mean = {}, variance = {};  // default: x's own over the axes
};
/// (x - mean) / sqrt(variance + epsilon) over axes.
NamedArray standardize(const NamedArray& x, const AxisNames& axes, const NamedStandardize& options = {});

// ---- losses ---------------------------------------------------------------------------------------------------------
enum class Reduction : std::uint8_t { mean, sum, none };  // what becomes of the losses of all rows
struct LossOptions {                                      // of losses
  Reduction reduction = Reduction::mean;                  // a mean, a sum, or each loss by itself
  NamedArray where = {};                                  // only these elements count; without a reduction others are 0
  ReduceAxes axes = bora::none;                           // of the reduction
};
/// The mean or the sum of the losses, or each of them, as the options say.
NamedArray reduce_loss(const NamedArray& losses, const LossOptions& options = {});
/// -sum of targets * log softmax(logits) along `label`; targets are floating probabilities. f32 (f64 for f64 logits).
NamedArray cross_entropy_loss(const NamedArray& logits, const AxisNames::One& label, const NamedArray& targets,
                              const LossOptions& options = {});
// The losses of each row and logsumexp(logits), as for a z-loss.
struct LossAndNormalizer {
  NamedArray loss, log_normalizer;
};
LossAndNormalizer cross_entropy_loss_and_log_normalizers(const NamedArray& logits, const AxisNames::One& label,
                                                         const NamedArray& targets);
/// -targets log(sigmoid(logits)) - (1 - targets) log(1 - sigmoid(logits)).
NamedArray binary_cross_entropy_loss(const NamedArray& logits, const NamedArray& targets,
                                     const LossOptions& options = {});

// ---- attention ------------------------------------------------------------------------------------------------------
struct NamedAttentionOptions {         // of attention by names
  NamedArray mask = {};                // boolean over axes of the scores; true attends
  NamedArray bias = {};                // added to the scores
  std::optional<double> scale = none;  // default 1 / sqrt(size of `head`)
};
/// softmax over `keys` (axes of k) of scale * dot(q, k, head) + bias, where the mask holds: the axes of q and k but
/// `head`. f32, rounded to q's dtype. A row that may attend to nothing gives 0. Throws AxisError if q has an axis of
/// `keys`, which could not be told apart: rename it.
NamedArray dot_product_attention_weights(const AxisNames::One& head, const AxisNames& keys, const NamedArray& q,
                                         const NamedArray& k, const NamedAttentionOptions& options = {});
/// dot(weights, v, keys) of these weights, which are never whole in memory (bora::attention): q's axes but `head`, in
/// their order, then those that only v has.
NamedArray dot_product_attention(const AxisNames& keys, const AxisNames::One& head, const NamedArray& q,
                                 const NamedArray& k, const NamedArray& v, const NamedAttentionOptions& options = {});
/// true where position query_start + i of a query is at or behind key_start + j. Starts may be NamedArrays: their axes
/// come first.
NamedArray causal_mask(const Axis& query, const Axis& key, const NamedOperand& query_start = 0,
                       const NamedOperand& key_start = 0);
/// causal_mask, or a key among the first `prefix`.
NamedArray prefix_lm_mask(const Axis& query, const Axis& key, const NamedOperand& prefix,
                          const NamedOperand& query_start = 0, const NamedOperand& key_start = 0);
// true where both hold (and), or where one does (or); the other mask if one is absent.
std::optional<NamedArray> combine_masks_and(const std::optional<NamedArray>& a, const std::optional<NamedArray>& b);
std::optional<NamedArray> combine_masks_or(const std::optional<NamedArray>& a, const std::optional<NamedArray>& b);
/// true with probability 1 - rate.
NamedArray dropout_mask(const Axes& axes, double rate, const Array& key);
/// Keys that are forgotten with probability `rate`, or with one drawn from [0, rate) (Liu et al. 2022); never the
/// first.
NamedArray forgetful_causal_mask(const Axis& key, double rate, const Array& random_key, bool sample_rate = true);
/// 0 where the mask holds, `value` elsewhere.
NamedArray mask_to_bias(const NamedArray& mask, double value = -1e9, Dtype dtype = f32);
/// slope(head) * key position (Press et al. 2022).
NamedArray alibi_attention_bias(const Axis& heads, const Axis& key, double bias_max = 8, Dtype dtype = f32);
}  // namespace bora::nn
