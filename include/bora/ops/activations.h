// activations.h -- the functions of jax.nn that elementwise.h and functions.h do not have, as nn::mish(x). bf16 is
// computed in f32 and rounded once.
#pragma once
#include "bora/ops/creation.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/functions.h"

namespace bora::nn {
Array celu(const Array& x, double alpha = 1);  // x, for negative x alpha (exp(x / alpha) - 1)
Array elu(const Array& x, double alpha = 1);   // x, for negative x alpha (exp(x) - 1)
Array selu(const Array& x);                    // Klambauer et al. 2017
/// The first half of x along axis times the sigmoid of the second. Throws ShapeError for an odd size.
Array glu(const Array& x, std::int64_t axis = -1);
Array relu6(const Array& x);         // min(max(x, 0), 6), derivative 0 at both
Array hard_sigmoid(const Array& x);  // relu6(x + 3) / 6
Array hard_silu(const Array& x);     // x hard_sigmoid(x)
Array hard_swish(const Array& x);    // hard_silu
Array hard_tanh(const Array& x);     // min(max(x, -1), 1)
Array leaky_relu(const Array& x, double negative_slope = 0.01);
Array log_sigmoid(const Array& x);
Array mish(const Array& x);                      // x tanh(softplus(x))
Array swish(const Array& x);                     // silu
Array soft_sign(const Array& x);                 // x / (|x| + 1)
Array sparse_plus(const Array& x);               // 0, (x + 1)^2 / 4 on (-1, 1), x
Array sparse_sigmoid(const Array& x);            // min(max((x + 1) / 2, 0), 1)
Array squareplus(const Array& x, double b = 4);  // (x + sqrt(x^2 + b)) / 2
Array log1mexp(const Array& x);                  // log(1 - exp(-x)), x > 0
/// log(mean(exp(x))), without overflow.
Array logmeanexp(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
struct StandardizeOptions {
  Array mean = {}, variance = {};  // default: x's own over axes
  double epsilon = 1e-5;
};
/// (x - mean) / sqrt(variance + epsilon) over axes.
Array standardize(const Array& x, const Dimensions& axes = -1, const StandardizeOptions& options = {});
// jax.nn's names that stand in bora.
using bora::gelu, bora::log_softmax, bora::logsumexp, bora::one_hot, bora::relu, bora::sigmoid, bora::silu,
    bora::softmax, bora::softplus, bora::tanh;
/// softmax of the elements where a boolean array that broadcasts to x holds, 0 elsewhere; log_softmax -inf elsewhere.
Array softmax(const Array& x, const Dimensions& axes, const Array& where);
Array log_softmax(const Array& x, const Dimensions& axes, const Array& where);
}  // namespace bora::nn
