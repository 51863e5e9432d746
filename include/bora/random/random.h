// random.h -- keys and samplers: JAX's partitionable threefry2x32 stream. Salmon et al. 2011;
// jax_threefry_partitionable.
// A number depends only on its key and its row-major position in the shape drawn: not on mesh, threads or instruction
// set. Keys are values: use each once, then split() or fold_in(). Samplers take one key; vmap over many.
// Bits, keys, uniform, randint, bernoulli and permutation equal JAX's exactly; normal and similar samplers within 1e-6
// (f64: 1e-14), relative.
// The samplers are those of jax.random, with JAX's algorithms and streams (jax 0.10.2). A parameter is an array or a
// number. The shape of a draw with parameters defaults to their broadcast shape; a shape that is given must be one that
// they broadcast to (ShapeError otherwise). Dtypes are f32 (UseDtype's) unless said otherwise, and may be bf16 where no
// gamma draw is involved. Parameters outside their range give NaN where JAX gives NaN; a dtype that is not floating is
// a DtypeError. Derivatives reach the parameters through the draw (reparametrisation), those of gamma draws implicitly
// (Figurnov, Mohamed and Mnih 2018); those of counts are 0.
#pragma once
#include <array>
#include <optional>
#include "bora/array/mesh.h"
#include "bora/ops/arguments.h"

namespace bora::random {
struct DrawOptions {  // of all draws
  Spec spec = {};     // the layout: with it each rank draws only its own block, the numbers are the same
  /// Draws whose tails are those of the distribution, with any parameters: from 64 random bits a number (a key, for
  /// gamma's), in f64, rounded once to the dtype. Other numbers than JAX's, whose tails end at 2^-23 or so (f32;
  /// docs/random.md has a table), in 1 to 5 times the time (truncated_normal: 1 us); the same on every mesh.
  bool exact = false;
};

/// A parameter of a distribution. A number takes the dtype of the draw.
struct Parameter {
  Array array = {};
  Scalar number = {};
  bool is_number = false;
  Parameter(const Array& a) : array(a) {}
  template <class A>
  requires detail::becomes_array<A> Parameter(const A& a) : array(a) {}
  template <Number T> Parameter(T x) : number(x), is_number(true) {}
};
/// The resolution of a uniform draw near 0 and 1: low is 2^-23 of f32; high joins two draws, to 2^-46; highest (gumbel
/// of f32, else high) uses 64 bits.
enum class Mode : std::uint8_t { low, high, highest };

// ---- keys -----------------------------------------------------------------------------------------------------------
/// The key of a seed: its upper and lower 32 bits.
Array key(std::int64_t seed);
/// The key that JAX makes with 64-bit types off: the lower 32 bits of the seed only.
Array key_x32(std::int64_t seed);
/// n keys, [n]: key i is fold_in(k, i).
Array split(const Array& k, std::int64_t n);
/// Keys of this shape: key i, counted row-major, is fold_in(k, i).
Array split(const Array& k, const Shape& shape);
__attribute__((unavailable("write auto [a, b] = random::split<2>(k), or random::split(k, n) for an Array of n"))) Array
split(const Array& k);
/// `auto [a, b] = split<2>(k)`.
template <std::size_t N> std::array<Array, N> split(const Array& k);
/// A new key for this number (an integer Array: a scalar, taken modulo 2^32). Throws ValueError outside [0, 2^32).
Array fold_in(const Array& k, std::int64_t data);
Array fold_in(const Array& k, const Array& data);
/// The same keys: says that they are meant to be used twice.
Array clone(const Array& keys);
/// The two words of each key: u32 [.., 2]; and back.
Array key_data(const Array& keys);
Array wrap_key_data(const Array& words);  // keys with these words

// ---- samplers: shape and dtype of the result, f32 unless said otherwise ---------------------------------------------
/// Random bits: u8, u32, or i64 for 64 bits.
Array bits(const Array& k, const Shape& shape = {}, Dtype dtype = u32, const DrawOptions& draw = {});
/// Uniform in [minval, maxval). Rounding can give maxval itself. The bounds may be arrays that broadcast to shape.
Array uniform(const Array& k, const Shape& shape = {}, Dtype dtype = default_float(), Scalar minval = 0.0,
              Scalar maxval = 1.0, const DrawOptions& draw = {});
Array uniform(const Array& k, const Shape& shape, Dtype dtype, const Array& minval, const Array& maxval,
              const DrawOptions& draw = {});
/// Standard normal. bf16 draws 8 bits per element, as JAX does: 128 different values.
Array normal(const Array& k, const Shape& shape = {}, Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Standard normal, truncated to (lower, upper). JAX's draw, by the inverse of the error function: of the distribution
/// while the bound next to 0 lies within 3.5 (f32), 7 (f64), 2 (f16) or 1 (bf16) of it; beyond, draws gather at few
/// numbers or at a bound (f32, (8, 9): all are 9). {.exact = true} draws between any two bounds, infinite ones too;
/// rounding to the dtype may give a bound itself.
Array truncated_normal(const Array& k, double lower, double upper, const Shape& shape = {},
                       Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Standard normal, truncated to (lower, upper), arrays or numbers; exact: NaN unless lower <= upper.
Array truncated_normal(const Array& k, const Parameter& lower, const Parameter& upper,
                       const std::optional<Shape>& shape = none, Dtype dtype = default_float(),
                       const DrawOptions& draw = {});
/// boolean: true with probability p.
Array bernoulli(const Array& k, double p = 0.5, const Shape& shape = {}, const DrawOptions& draw = {});
Array bernoulli(const Array& k, const Array& p, const std::optional<Shape>& shape = none, const DrawOptions& draw = {});
Array bernoulli(const Array& k, Mode mode, const Parameter& p, const std::optional<Shape>& shape = none,
                const DrawOptions& draw = {});
/// Integers in [minval, maxval), both first clipped to the range of the dtype; minval if the interval is empty. JAX's
/// algorithm, with its bias of at most span / 2^32 (2^64 for i64).
Array randint(const Array& k, const Shape& shape, std::int64_t minval, std::int64_t maxval, Dtype dtype = i32,
              const DrawOptions& draw = {});
/// Integers in [minval, maxval): integer arrays that broadcast to shape, or numbers. As randint with numbers.
Array randint(const Array& k, const Shape& shape, const Parameter& minval, const Parameter& maxval, Dtype dtype = i32,
              const DrawOptions& draw = {});
/// i32 position along `axis`, with probability softmax(logits). shape: of the result, must end in the batch dimensions.
Array categorical(const Array& k, const Array& logits, std::int64_t axis = -1, const std::optional<Shape>& shape = none,
                  const DrawOptions& draw = {});
struct CategoricalOptions {           // of categorical
  std::int64_t axis = -1;             // of the categories
  std::optional<Shape> shape = none;  // the shape of the result, which must end in the batch dimensions
  bool replace = true;                // false: the draws of one row differ (Kool et al. 2019)
  Mode mode = Mode::low;              // the resolution of its Gumbel draws
};
/// i32 position along an axis of logits, with probability softmax(logits). Without replacement, throws ValueError for
/// more draws than there are categories.
Array categorical(const Array& k, const Array& logits, const CategoricalOptions& options, const DrawOptions& draw = {});
/// -log(-log(u)) for uniform u: Gumbel's distribution of largest values.
Array gumbel(const Array& k, const Shape& shape = {}, Dtype dtype = default_float(), const DrawOptions& draw = {});
Array gumbel(const Array& k, Mode mode, const Shape& shape = {}, Dtype dtype = default_float(),
             const DrawOptions& draw = {});
/// Density exp(-x) for x >= 0.
Array exponential(const Array& k, const Shape& shape = {}, Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Density exp(-|x|) / 2.
Array laplace(const Array& k, const Shape& shape = {}, Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Distribution function 1 / (1 + exp(-x)).
Array logistic(const Array& k, const Shape& shape = {}, Dtype dtype = default_float(), const DrawOptions& draw = {});
/// -1 or 1, i32 unless said otherwise.
Array rademacher(const Array& k, const Shape& shape = {}, Dtype dtype = i32, const DrawOptions& draw = {});
/// Gamma(a, 1) by Marsaglia and Tsang's rejection (2000), one key per element; f32 or f64.
Array gamma(const Array& k, const Array& a, const std::optional<Shape>& shape = none, Dtype dtype = default_float(),
            const DrawOptions& draw = {});
/// log(gamma), which does not underflow for small a.
Array loggamma(const Array& k, const Array& a, const std::optional<Shape>& shape = none, Dtype dtype = default_float(),
               const DrawOptions& draw = {});
/// alpha [.., n] -> shape + [n]; the last dimension sums to 1.
Array dirichlet(const Array& k, const Array& alpha, const std::optional<Shape>& shape = none,
                Dtype dtype = default_float(), const DrawOptions& draw = {});

// ---- one draw of uniform or normal numbers an element ---------------------------------------------------------------
/// Density 1 / (pi (1 + x^2)).
Array cauchy(const Array& k, const Shape& shape = {}, Dtype dtype = default_float(), const DrawOptions& draw = {});
/// exp(sigma * normal).
Array lognormal(const Array& k, const Parameter& sigma = 1, const std::optional<Shape>& shape = none,
                Dtype dtype = default_float(), const DrawOptions& draw = {});
/// The length of a vector of three standard normals.
Array maxwell(const Array& k, const Shape& shape = {}, Dtype dtype = default_float(), const DrawOptions& draw = {});
/// loc + scale * (maxwell with a random sign). The result is shape (default: that of the parameters) followed by the
/// broadcast shape of the parameters.
Array double_sided_maxwell(const Array& k, const Parameter& loc, const Parameter& scale, const Shape& shape = {},
                           Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Density b / x^(b + 1) for x > 1.
Array pareto(const Array& k, const Parameter& b, const std::optional<Shape>& shape = none,
             Dtype dtype = default_float(), const DrawOptions& draw = {});
/// The length of a vector of two normal numbers with deviation `scale`.
Array rayleigh(const Array& k, const Parameter& scale, const std::optional<Shape>& shape = none,
               Dtype dtype = default_float(), const DrawOptions& draw = {});
/// In [left, right], with a density that is a triangle with its peak at `mode`.
Array triangular(const Array& k, const Parameter& left, const Parameter& mode, const Parameter& right,
                 const std::optional<Shape>& shape = none, Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Inverse Gaussian with this mean and scale 1.
Array wald(const Array& k, const Parameter& mean, const std::optional<Shape>& shape = none,
           Dtype dtype = default_float(), const DrawOptions& draw = {});
/// One draw for each element of `shape`, broadcast with the parameters.
Array weibull_min(const Array& k, const Parameter& scale, const Parameter& concentration, const Shape& shape = {},
                  Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Trials up to the first success, 1, 2, ..; i32 unless said otherwise. The uniform draw has p's dtype (a number: f32).
Array geometric(const Array& k, const Parameter& p, const std::optional<Shape>& shape = none, Dtype dtype = i32,
                const DrawOptions& draw = {});

// ---- made of gamma draws: f32 or f64 --------------------------------------------------------------------------------
/// In [0, 1], with a density proportional to x^(a - 1) (1 - x)^(b - 1).
Array beta(const Array& k, const Parameter& a, const Parameter& b, const std::optional<Shape>& shape = none,
           Dtype dtype = default_float(), const DrawOptions& draw = {});
/// The sum of the squares of df standard normal numbers.
Array chisquare(const Array& k, const Parameter& df, const std::optional<Shape>& shape = none,
                Dtype dtype = default_float(), const DrawOptions& draw = {});
/// The quotient of two chi-square draws, each divided by its degrees of freedom.
Array f(const Array& k, const Parameter& dfnum, const Parameter& dfden, const std::optional<Shape>& shape = none,
        Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Student's t.
Array t(const Array& k, const Parameter& df, const std::optional<Shape>& shape = none, Dtype dtype = default_float(),
        const DrawOptions& draw = {});
/// Density proportional to exp(-|x|^p).
Array generalized_normal(const Array& k, const Parameter& p, const Shape& shape = {}, Dtype dtype = default_float(),
                         const DrawOptions& draw = {});
/// Uniform in the unit ball of the p-norm in d dimensions: shape + [d] (Barthe et al. 2005).
Array ball(const Array& k, std::int64_t d, const Parameter& p = 2, const Shape& shape = {},
           Dtype dtype = default_float(), const DrawOptions& draw = {});

// ---- counts ---------------------------------------------------------------------------------------------------------
/// Poisson counts, i32 unless said otherwise: Knuth's products below 10, else Hörmann's transformed rejection (1993).
/// -1 where lam is negative or NaN, as in JAX. As there, all elements are drawn again until each was accepted once, so
/// an element's value depends on the whole draw (not on its layout).
Array poisson(const Array& k, const Parameter& lam, const std::optional<Shape>& shape = none, Dtype dtype = i32,
              const DrawOptions& draw = {});
/// Successes in n trials, as a floating dtype: sums of geometric draws for few, else Hörmann's BTRS (1993), drawn as
/// poisson's. p, f32 or f64 (a number: f32), gives the dtype of the draw. NaN where n or p is NaN, n negative or p
/// outside [0, 1].
Array binomial(const Array& k, const Parameter& n, const Parameter& p, const std::optional<Shape>& shape = none,
               Dtype dtype = default_float(), const DrawOptions& draw = {});
/// Counts of n trials over the categories of p [.., c]: shape (default: p's), in which the last dimension is c.
Array multinomial(const Array& k, const Parameter& n, const Array& p, const std::optional<Shape>& shape = none,
                  Dtype dtype = default_float(), const DrawOptions& draw = {});

// ---- vectors and matrices -------------------------------------------------------------------------------------------
/// The factor of a covariance. The signs of eigenvectors are those of linalg::eigh and svd, so only cholesky draws
/// JAX's numbers.
enum class Factor : std::uint8_t { cholesky, eigh, svd };
/// Normal with mean [.., n] and covariance cov [.., n, n]: shape (default: the broadcast batch dimensions) + [n]; f32
/// or f64. NaN where cov is not positive definite.
Array multivariate_normal(const Array& k, const Array& mean, const Array& cov, const std::optional<Shape>& shape = none,
                          Dtype dtype = default_float(), const DrawOptions& draw = {},
                          Factor factor = Factor::cholesky);
/// Uniform among matrices [n, m] (default: m = n) with orthonormal rows (n < m) or columns: shape + [n, m], f32 or f64
/// (Mezzadri 2007). No derivative.
Array orthogonal(const Array& k, std::int64_t n, const Shape& shape = {}, Dtype dtype = default_float(),
                 std::optional<std::int64_t> m = none, const DrawOptions& draw = {});

// ---- orders and choices ---------------------------------------------------------------------------------------------
/// 0, 1, .., n - 1 in random order, i32 [n].
Array permutation(const Array& k, std::int64_t n);
struct PermutationOptions {  // of permutation
  std::int64_t axis = 0;     // whose slices change places
  bool independent = false;  // permutes each line along the axis on its own
};
/// x with its slices along an axis in random order.
Array permutation(const Array& k, const Array& x, const PermutationOptions& options = {});
struct ChoiceOptions {    // of choice
  bool replace = true;    // an element may be drawn again
  Array p = {};           // probabilities [n]; empty: uniform
  std::int64_t axis = 0;  // of x
  bool exact = false;     // with p: as DrawOptions
};
/// Random elements of x along an axis (or of 0, 1, .., n - 1); `shape` replaces that axis.
Array choice(const Array& k, std::int64_t n, const Shape& shape = {}, const ChoiceOptions& options = {});
Array choice(const Array& k, const Array& x, const Shape& shape = {}, const ChoiceOptions& options = {});

namespace detail {
Array element(const Array& keys, std::int64_t i);
}
template <std::size_t N> std::array<Array, N> split(const Array& k) {
  auto keys = random::split(k, static_cast<std::int64_t>(N));
  std::array<Array, N> r;
  for (std::size_t i = 0; i < N; ++i) r[i] = detail::element(keys, static_cast<std::int64_t>(i));
  return r;
}
}  // namespace bora::random

namespace bora {
/// x / (1 - rate) where random::bernoulli keeps the element (probability 1 - rate), else 0. ValueError unless 0 <= rate
/// <= 1.
Array dropout(const Array& key, const Array& x, double rate, const random::DrawOptions& draw = {});
}  // namespace bora
