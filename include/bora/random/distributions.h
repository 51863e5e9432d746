// distributions.h -- samplers of jax.random beside those of random.h, with JAX's algorithms and streams (jax 0.10.2).
// A parameter is an array or a number. The shape of a draw with parameters defaults to their broadcast shape; a shape
// that is given must be one that they broadcast to (ShapeError otherwise). Dtypes are f32 unless said otherwise, and
// may be bf16 where no gamma draw is involved. Parameters outside their range give NaN where JAX gives NaN; a dtype
// that is not floating is a DtypeError. Derivatives reach the parameters through the draw (reparametrisation), those of
// gamma draws implicitly (Figurnov, Mohamed and Mnih 2018); those of counts are 0.
#pragma once
#include "bora/random/random.h"

namespace bora::random {
/// A parameter of a distribution. A number takes the dtype of the draw.
struct Parameter {
  Array array = {};
  Scalar number = {};
  bool is_number = false;
  Parameter(const Array& a) : array(a) {}
  template <Number T> Parameter(T x) : number(x), is_number(true) {}
};
/// The resolution of a uniform draw near 0 and 1: low is 2^-23 of f32; high joins two draws, to 2^-46; highest (gumbel
/// of f32, else high) uses 64 bits.
enum class Mode : std::uint8_t { low, high, highest };

// ---- keys and bits --------------------------------------------------------------------------------------------------
/// Keys of this shape: key i, counted row-major, is fold_in(k, i).
Array split(const Array& k, const Shape& shape);
/// The same keys: says that they are meant to be used twice.
Array clone(const Array& keys);
/// Integers in [minval, maxval): integer arrays that broadcast to shape, or numbers. As randint with numbers.
Array randint(const Array& k, const Shape& shape, const Parameter& minval, const Parameter& maxval, Dtype dtype = i32,
              const DrawOptions& draw = {});
Array bernoulli(const Array& k, Mode mode, const Parameter& p, const std::optional<Shape>& shape = none,
                const DrawOptions& draw = {});
Array gumbel(const Array& k, Mode mode, const Shape& shape = {}, Dtype dtype = f32, const DrawOptions& draw = {});
struct CategoricalOptions {
  std::int64_t axis = -1;
  std::optional<Shape> shape = none;  // the shape of the result, which must end in the batch dimensions
  bool replace = true;                // false: the draws of one row differ (Kool et al. 2019)
  Mode mode = Mode::low;
};
/// i32 position along an axis of logits, with probability softmax(logits). Without replacement, throws ValueError for
/// more draws than there are categories.
Array categorical(const Array& k, const Array& logits, const CategoricalOptions& options, const DrawOptions& draw = {});

// ---- one draw of uniform or normal numbers an element ---------------------------------------------------------------
/// Standard normal, truncated to (lower, upper), arrays or numbers.
Array truncated_normal(const Array& k, const Parameter& lower, const Parameter& upper,
                       const std::optional<Shape>& shape = none, Dtype dtype = f32, const DrawOptions& draw = {});
Array cauchy(const Array& k, const Shape& shape = {}, Dtype dtype = f32, const DrawOptions& draw = {});
/// exp(sigma * normal).
Array lognormal(const Array& k, const Parameter& sigma = 1, const std::optional<Shape>& shape = none, Dtype dtype = f32,
                const DrawOptions& draw = {});
/// The length of a vector of three standard normals.
Array maxwell(const Array& k, const Shape& shape = {}, Dtype dtype = f32, const DrawOptions& draw = {});
/// loc + scale * (maxwell with a random sign). The result is shape (default: that of the parameters) followed by the
/// broadcast shape of the parameters.
Array double_sided_maxwell(const Array& k, const Parameter& loc, const Parameter& scale, const Shape& shape = {},
                           Dtype dtype = f32, const DrawOptions& draw = {});
/// Density b / x^(b + 1) for x > 1.
Array pareto(const Array& k, const Parameter& b, const std::optional<Shape>& shape = none, Dtype dtype = f32,
             const DrawOptions& draw = {});
Array rayleigh(const Array& k, const Parameter& scale, const std::optional<Shape>& shape = none, Dtype dtype = f32,
               const DrawOptions& draw = {});
Array triangular(const Array& k, const Parameter& left, const Parameter& mode, const Parameter& right,
                 const std::optional<Shape>& shape = none, Dtype dtype = f32, const DrawOptions& draw = {});
/// Inverse Gaussian with this mean and scale 1.
Array wald(const Array& k, const Parameter& mean, const std::optional<Shape>& shape = none, Dtype dtype = f32,
           const DrawOptions& draw = {});
/// One draw for each element of `shape`, broadcast with the parameters.
Array weibull_min(const Array& k, const Parameter& scale, const Parameter& concentration, const Shape& shape = {},
                  Dtype dtype = f32, const DrawOptions& draw = {});
/// Trials up to the first success, 1, 2, ..; i32 unless said otherwise. The uniform draw has p's dtype (a number: f32).
Array geometric(const Array& k, const Parameter& p, const std::optional<Shape>& shape = none, Dtype dtype = i32,
                const DrawOptions& draw = {});

// ---- made of gamma draws: f32 or f64 --------------------------------------------------------------------------------
Array beta(const Array& k, const Parameter& a, const Parameter& b, const std::optional<Shape>& shape = none,
           Dtype dtype = f32, const DrawOptions& draw = {});
Array chisquare(const Array& k, const Parameter& df, const std::optional<Shape>& shape = none, Dtype dtype = f32,
                const DrawOptions& draw = {});
/// The quotient of two chi-square draws, each divided by its degrees of freedom.
Array f(const Array& k, const Parameter& dfnum, const Parameter& dfden, const std::optional<Shape>& shape = none,
        Dtype dtype = f32, const DrawOptions& draw = {});
/// Student's t.
Array t(const Array& k, const Parameter& df, const std::optional<Shape>& shape = none, Dtype dtype = f32,
        const DrawOptions& draw = {});
/// Density proportional to exp(-|x|^p).
Array generalized_normal(const Array& k, const Parameter& p, const Shape& shape = {}, Dtype dtype = f32,
                         const DrawOptions& draw = {});
/// Uniform in the unit ball of the p-norm in d dimensions: shape + [d] (Barthe et al. 2005).
Array ball(const Array& k, std::int64_t d, const Parameter& p = 2, const Shape& shape = {}, Dtype dtype = f32,
           const DrawOptions& draw = {});

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
               Dtype dtype = f32, const DrawOptions& draw = {});
/// Counts of n trials over the categories of p [.., c]: shape (default: p's), in which the last dimension is c.
Array multinomial(const Array& k, const Parameter& n, const Array& p, const std::optional<Shape>& shape = none,
                  Dtype dtype = f32, const DrawOptions& draw = {});

// ---- vectors and matrices -------------------------------------------------------------------------------------------
/// The factor of a covariance. The signs of eigenvectors are those of linalg::eigh and svd, so only cholesky draws
/// JAX's numbers.
enum class Factor : std::uint8_t { cholesky, eigh, svd };
/// Normal with mean [.., n] and covariance cov [.., n, n]: shape (default: the broadcast batch dimensions) + [n]; f32
/// or f64. NaN where cov is not positive definite.
Array multivariate_normal(const Array& k, const Array& mean, const Array& cov, const std::optional<Shape>& shape = none,
                          Dtype dtype = f32, const DrawOptions& draw = {}, Factor factor = Factor::cholesky);
/// Uniform among matrices [n, m] (default: m = n) with orthonormal rows (n < m) or columns: shape + [n, m], f32 or f64
/// (Mezzadri 2007). No derivative.
Array orthogonal(const Array& k, std::int64_t n, const Shape& shape = {}, Dtype dtype = f32,
                 std::optional<std::int64_t> m = none, const DrawOptions& draw = {});
}  // namespace bora::random
