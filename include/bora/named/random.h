// random.h -- the samplers of random/random.h for named axes. On a mesh the current mapping splits a draw: each rank
// draws its own block, and the numbers are those of the unsplit draw.
#pragma once
#include "bora/named/operations.h"
#include "bora/random/random.h"
#include "bora/named/index.h"

namespace bora::random {
// The sampler of the same name of random/random.h over these axes.
NamedArray bits(const Array& key, const Axes& axes, Dtype dtype = u32);
NamedArray uniform(const Array& key, const Axes& axes, Dtype dtype = default_float(), Scalar minval = 0.0,
                   Scalar maxval = 1.0);
NamedArray normal(const Array& key, const Axes& axes, Dtype dtype = default_float());
NamedArray truncated_normal(const Array& key, double lower, double upper, const Axes& axes,
                            Dtype dtype = default_float());
NamedArray bernoulli(const Array& key, double p, const Axes& axes);
NamedArray randint(const Array& key, const Axes& axes, std::int64_t minval, std::int64_t maxval, Dtype dtype = i32);
NamedArray gumbel(const Array& key, const Axes& axes, Dtype dtype = default_float());
NamedArray exponential(const Array& key, const Axes& axes, Dtype dtype = default_float());
/// i32 position along `axis`, with probability softmax(logits).
NamedArray categorical(const Array& key, const NamedArray& logits, const AxisNames::One& axis);
/// The same over these axes: those of logits but `axis`, and more, for which draws are independent.
NamedArray categorical(const Array& key, const NamedArray& logits, const AxisNames::One& axis, const Axes& axes);

// ---- distributions with parameters: numbers, or NamedArrays over some of the axes ----
// The sampler of the same name of random/random.h; parameters are matched by name.
NamedArray uniform(const Array& key, const Axes& axes, const NamedOperand& minval, const NamedOperand& maxval,
                   Dtype dtype = default_float());
NamedArray randint(const Array& key, const Axes& axes, const NamedOperand& minval, const NamedOperand& maxval,
                   Dtype dtype = i32);
NamedArray bernoulli(const Array& key, const NamedArray& p, const Axes& axes);
NamedArray truncated_normal(const Array& key, const NamedOperand& lower, const NamedOperand& upper, const Axes& axes,
                            Dtype dtype = default_float());
NamedArray laplace(const Array& key, const Axes& axes, Dtype dtype = default_float());
NamedArray logistic(const Array& key, const Axes& axes, Dtype dtype = default_float());
NamedArray cauchy(const Array& key, const Axes& axes, Dtype dtype = default_float());
NamedArray maxwell(const Array& key, const Axes& axes, Dtype dtype = default_float());
NamedArray rademacher(const Array& key, const Axes& axes, Dtype dtype = i32);
NamedArray gamma(const Array& key, const Axes& axes, const NamedOperand& a, Dtype dtype = default_float());
NamedArray loggamma(const Array& key, const Axes& axes, const NamedOperand& a, Dtype dtype = default_float());
NamedArray beta(const Array& key, const Axes& axes, const NamedOperand& a, const NamedOperand& b,
                Dtype dtype = default_float());
NamedArray chisquare(const Array& key, const Axes& axes, const NamedOperand& df, Dtype dtype = default_float());
NamedArray t(const Array& key, const Axes& axes, const NamedOperand& df, Dtype dtype = default_float());
NamedArray pareto(const Array& key, const Axes& axes, const NamedOperand& b, Dtype dtype = default_float());
NamedArray lognormal(const Array& key, const Axes& axes, const NamedOperand& sigma = 1, Dtype dtype = default_float());
NamedArray rayleigh(const Array& key, const Axes& axes, const NamedOperand& scale, Dtype dtype = default_float());
NamedArray weibull_min(const Array& key, const Axes& axes, const NamedOperand& scale, const NamedOperand& concentration,
                       Dtype dtype = default_float());
NamedArray poisson(const Array& key, const Axes& axes, const NamedOperand& lam, Dtype dtype = i32);
NamedArray geometric(const Array& key, const Axes& axes, const NamedOperand& p, Dtype dtype = i32);
NamedArray binomial(const Array& key, const Axes& axes, const NamedOperand& n, const NamedOperand& p,
                    Dtype dtype = default_float());
/// Uniform in the unit ball of the p-norm: over `axes`, and along `vector`, which comes last.
NamedArray ball(const Array& key, const Axes& axes, const Axis& vector, const NamedOperand& p = 2,
                Dtype dtype = default_float());

// ---- orders and choices ---------------------------------------------------------------------------------------------
/// x with its slices along an axis in random order; independent: each line along it on its own.
NamedArray permutation(const Array& key, const NamedArray& x, const AxisNames::One& axis, bool independent = false);
struct NamedChoice {    // of choice
  bool replace = true;  // an element may be drawn again
  NamedArray p = {};    // probabilities, over the axis; default: uniform
};
/// Random elements of x along an axis, which `axes` replace.
NamedArray choice(const Array& key, const Axes& axes, const NamedArray& x, const AxisNames::One& axis,
                  const NamedChoice& options = {});
/// n keys; n times none for none.
std::vector<std::optional<Array>> maybe_rng_split(const std::optional<Array>& key, std::int64_t n);
}  // namespace bora::random
namespace bora {
/// x / (1 - rate) where random::bernoulli keeps the element, else 0. ValueError unless 0 <= rate <= 1.
NamedArray dropout(const Array& key, const NamedArray& x, double rate);
}  // namespace bora
