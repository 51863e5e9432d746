// functions.h -- functions of neural networks, and comparisons of whole arrays. All but attention are composites:
// fusion makes one pass over memory of them. bf16 is computed in f32 and rounded once, at the end.
//   Shape letters: B batch, S queries, T keys, H heads, D head size, V classes
#pragma once
#include "bora/ops/axes.h"

namespace bora {
/// exp(x) / sum of exp(x) over axes, without overflow. A row of -inf gives NaN.
Array softmax(const Array& x, const Dimensions& axes = -1);
/// log(softmax(x)).
Array log_softmax(const Array& x, const Dimensions& axes = -1);
/// log(sum(exp(x))), without overflow. A row of -inf gives -inf.
Array logsumexp(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});

struct NormOptions {
  Dimensions axes = -1;
  double eps = 1e-5;
};
/// (x - mean) / sqrt(variance + eps) over axes, times weight plus bias (which broadcast against x). x's dtype.
Array layer_norm(const Array& x, const NormOptions& options = {});
Array layer_norm(const Array& x, const Array& weight, const Array& bias, const NormOptions& options = {});
/// x / sqrt(mean of squares + eps), times weight.
Array rms_norm(const Array& x, const NormOptions& options = {});
Array rms_norm(const Array& x, const Array& weight, const NormOptions& options = {});

/// Negative log likelihood of integer labels [..] under logits [.., V]: logsumexp(logits) - logits[label]. f32 [..]
/// (f64 for f64 logits). A label outside [0, V) gives NaN.
Array cross_entropy(const Array& logits, const Array& labels);

struct AttentionOptions {
  bool causal = false;                              // query s attends to keys t <= s
  Array mask = {};                                  // boolean, broadcastable to [B.., H, S, T]; true attends
  Array bias = {};                                  // added to the scores, broadcastable to [B.., H, S, T]
  std::optional<double> scale = none;               // default 1 / sqrt(D)
  std::optional<std::int64_t> left = none, right = none;  // a window: s - left <= t <= s + right
  Array query_segments = {}, key_segments = {};     // i32 or u8 [B.., S] and [B.., T]: only equal ones meet
  std::optional<double> soft_cap = none;            // scores become cap * tanh(score / cap), before the bias
  double dropout = 0;                               // of the weights; needs a key
  Array key = {};
  Array window = {};  // i32, broadcastable to [B..]: t > s - window, a value where `left` is a number
};
/// Scaled dot-product attention (Vaswani et al. 2017).
///   q [B.., S, H, D], k [B.., T, H, D], v [B.., T, H, E] (or fewer heads, of which q's H is a multiple).
///   Returns [B.., S, H, E] in q's dtype. Softmax in f32 (f64 for f64). A query attends only to positions that all
///   options allow; a query that may attend to none gives 0.
///   Memory grows with S + T: scores and weights exist by tiles, also in the gradient (jvp and derivatives of the
///   gradient hold [B.., H, S, T]). Dropout keeps the weights where random::bernoulli(key, 1 - dropout, {B.., H, S, T})
///   does, sharded or not.
///   Throws ShapeError naming the dimension that differs, DtypeError naming the dtype, ValueError for options out of
///   range.
Array attention(const Array& q, const Array& k, const Array& v, const AttentionOptions& options = {});

/// |a - b| <= atol + rtol * |b| everywhere; NaN is close to nothing, equal infinities are close. Reads values: not
/// inside transforms.
bool allclose(const Array& a, const Array& b, double rtol = 1e-5, double atol = 1e-8);
/// Same shape and equal elements.
bool array_equal(const Array& a, const Array& b);
}  // namespace bora
