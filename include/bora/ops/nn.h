// nn.h -- functions of neural networks. All but attention are composites: fusion makes one pass over memory of them.
// bf16 is computed in f32 and rounded once, at the end.
//   Shape letters: B batch, S queries, T keys, H heads, D head size, V classes
#pragma once
#include "bora/ops/arguments.h"
#include "bora/ops/ufuncs.h"

namespace bora {
// ---- activations ----------------------------------------------------------------------------------------------------
Array sigmoid(const Array& x);   // 1 / (1 + exp(-x))
Array relu(const Array& x);      // max(x, 0); derivative 0 at 0
Array silu(const Array& x);      // x * sigmoid(x)
Array softplus(const Array& x);  // log(1 + exp(x))
struct GeluOptions {             // the form of gelu
  bool approximate = true;       // the tanh form (GPT-2); false: with erf
};
Array gelu(const Array& x, const GeluOptions& options = {});  // x times the normal distribution function of x

// ---- softmax, norms, losses -----------------------------------------------------------------------------------------
/// exp(x) / sum of exp(x) over axes, without overflow. A row of -inf gives NaN.
Array softmax(const Array& x, const Dimensions& axes = -1);
/// log(softmax(x)).
Array log_softmax(const Array& x, const Dimensions& axes = -1);
/// log(sum(exp(x))), without overflow. A row of -inf gives -inf.
Array logsumexp(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});

struct NormOptions {     // of layer_norm and rms_norm
  Dimensions axes = -1;  // that are normalised together
  double eps = 1e-5;     // added under the root
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

/// [indices.., n]: 1 at position indices, else 0; an index outside [0, n) gives a row of zeros.
Array one_hot(const Array& indices, std::int64_t n, Dtype dtype = default_float());

// ---- attention ------------------------------------------------------------------------------------------------------
struct AttentionOptions {                                 // of attention
  bool causal = false;                                    // query s attends to keys t <= s
  Array mask = {};                                        // boolean, broadcastable to [B.., H, S, T]; true attends
  Array bias = {};                                        // added to the scores, broadcastable to [B.., H, S, T]
  std::optional<double> scale = none;                     // default 1 / sqrt(D)
  std::optional<std::int64_t> left = none, right = none;  // a window: s - left <= t <= s + right
  Array query_segments = {}, key_segments = {};           // i32 or u8 [B.., S] and [B.., T]: only equal ones meet
  std::optional<double> soft_cap = none;                  // scores become cap * tanh(score / cap), before the bias
  double dropout = 0;                                     // of the weights; needs a key
  Array key = {};                                         // of the dropout
  Array window = {};  // i32, broadcastable to [B..]: t > s - window, a value where `left` is a number
  Array sinks = {};   // [H]: the score of one more key without a value, which takes a share of the weights
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

// ---- attention to keys and values in pages --------------------------------------------------------------------------
inline constexpr std::int64_t kPagePositions = 32;  // tokens of a page
/// Tokens of many sequences, each with the pages of its sequence: i32.
struct PagedTokens {
  Array first;      // [T]: where the sequence's pages begin in `table`, in the order of its positions
  Array positions;  // [T]: in its sequence; below 0: it attends to none and gives 0
  Array table;      // [L]: pages
};
struct PagedAttentionOptions {                          // of paged_attention
  std::optional<double> scale = none, soft_cap = none;  // as attention has them
  Array window = {};  // i32 [T] or []: a token attends to so many positions at most, its own included
  Array bias = {};    // [H, distances]: added to the scores of keys so many positions before the token, the last one to
                      // those of all keys farther away
  Array sinks = {};   // as attention has them
  Array key_scales = {}, value_scales = {};  // f32 [P, K, 32, 1]: keys and values are u8, bytes of i8 (bitcast), which
                                             // stand for i8 * scale; write_value_pages writes scales
};
/// Causal attention of tokens to the keys and values of their sequences, which lie in pages (Kwon et al. 2023).
///   q [T, H, D], keys [P, K, D, 32], values [P, K, 32, E], of f32, f64 or bf16 (with scales u8); K divides H. Returns
///   [T, H, E].
///   A token attends to the positions up to its own. Its result has the same bits whatever other tokens there are and
///   on any number of threads. Pages that no token sees are not looked at. It has no derivative.
///   Throws ShapeError, DtypeError and ValueError as attention does, IndexError for a page that there is not.
Array paged_attention(const Array& q, const Array& keys, const Array& values, const PagedTokens& tokens,
                      const PagedAttentionOptions& options = {});
/// The pages [P, K, D, 32] with keys [T, K, D] at slots i32 [T]: page * 32 + place. Keys whose slot is outside are
/// dropped; of two with one slot the later one stays. In place where the pages are donated. It has no derivative.
Array write_key_pages(const Array& pages, const Array& keys, const Array& slots);
/// The same of values [T, K, E] in pages [P, K, 32, E].
Array write_value_pages(const Array& pages, const Array& values, const Array& slots);
}  // namespace bora

// jax.nn's functions; those that bora has are its own.
namespace bora::nn {
using bora::gelu, bora::log_softmax, bora::logsumexp, bora::one_hot, bora::relu, bora::sigmoid, bora::silu,
    bora::softmax, bora::softplus, bora::tanh;
Array celu(const Array& x, double alpha = 1);  // x, for negative x alpha (exp(x / alpha) - 1)
Array elu(const Array& x, double alpha = 1);   // x, for negative x alpha (exp(x) - 1)
Array selu(const Array& x);                    // the scaled elu of Klambauer et al. 2017
/// The first half of x along axis times the sigmoid of the second. Throws ShapeError for an odd size.
Array glu(const Array& x, std::int64_t axis = -1);
Array relu6(const Array& x);                                     // min(max(x, 0), 6), derivative 0 at both
Array hard_sigmoid(const Array& x);                              // relu6(x + 3) / 6
Array hard_silu(const Array& x);                                 // x hard_sigmoid(x)
Array hard_swish(const Array& x);                                // hard_silu
Array hard_tanh(const Array& x);                                 // min(max(x, -1), 1)
Array leaky_relu(const Array& x, double negative_slope = 0.01);  // x, for negative x negative_slope x
Array log_sigmoid(const Array& x);                               // log(sigmoid(x)), without overflow
Array mish(const Array& x);                                      // x tanh(softplus(x))
Array swish(const Array& x);                                     // silu
Array soft_sign(const Array& x);                                 // x / (|x| + 1)
Array sparse_plus(const Array& x);                               // 0, (x + 1)^2 / 4 on (-1, 1), x
Array sparse_sigmoid(const Array& x);                            // min(max((x + 1) / 2, 0), 1)
Array squareplus(const Array& x, double b = 4);                  // (x + sqrt(x^2 + b)) / 2
Array log1mexp(const Array& x);                                  // log(1 - exp(-x)), x > 0
/// log(mean(exp(x))), without overflow.
Array logmeanexp(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
struct StandardizeOptions {        // of standardize
  Array mean = {}, variance = {};  // default: x's own over axes
  double epsilon = 1e-5;           // added to the variance
};
/// (x - mean) / sqrt(variance + epsilon) over axes.
Array standardize(const Array& x, const Dimensions& axes = -1, const StandardizeOptions& options = {});
/// softmax of the elements where a boolean array that broadcasts to x holds, 0 elsewhere; log_softmax -inf elsewhere.
Array softmax(const Array& x, const Dimensions& axes, const Array& where);
Array log_softmax(const Array& x, const Dimensions& axes, const Array& where);  // its logarithm; -inf elsewhere
}                                                                               // namespace bora::nn
