// random.h -- keys and samplers: JAX's partitionable threefry2x32 stream. Salmon et al. 2011;
// jax_threefry_partitionable.
// A number depends only on its key and its row-major position in the shape drawn: not on mesh, threads or instruction
// set. Keys are values: use each once, then split() or fold_in(). Samplers take one key; vmap over many.
// Bits, keys, uniform, randint, bernoulli and permutation equal JAX's exactly; normal and similar samplers within 1e-6
// (f64: 1e-14), relative.
#pragma once
#include <array>
#include <optional>
#include "bora/array/rules.h"
#include "bora/ops/axes.h"

namespace bora::random {
/// The layout of a draw: with a Spec each rank draws only its own block. The numbers are the same.
struct DrawOptions {
  Spec spec = {};
};

// ---- keys -----------------------------------------------------------------------------------------------------------
/// The key of a seed: its upper and lower 32 bits.
Array key(std::int64_t seed);
/// The key that JAX makes with 64-bit types off: the lower 32 bits of the seed only.
Array key_x32(std::int64_t seed);
/// n keys, [n]: key i is fold_in(k, i).
Array split(const Array& k, std::int64_t n);
__attribute__((unavailable("write auto [a, b] = random::split<2>(k), or random::split(k, n) for an Array of n"))) Array
split(const Array& k);
/// `auto [a, b] = split<2>(k)`.
template <std::size_t N> std::array<Array, N> split(const Array& k);
/// A new key for this number (an integer Array: a scalar, taken modulo 2^32). Throws ValueError outside [0, 2^32).
Array fold_in(const Array& k, std::int64_t data);
Array fold_in(const Array& k, const Array& data);
/// The two words of each key: u32 [.., 2]; and back.
Array key_data(const Array& keys);
Array wrap_key_data(const Array& words);

// ---- samplers: shape and dtype of the result, f32 unless said otherwise ---------------------------------------------
/// Random bits: u8, u32, or i64 for 64 bits.
Array bits(const Array& k, const Shape& shape = {}, Dtype dtype = u32, const DrawOptions& draw = {});
/// Uniform in [minval, maxval). Rounding can give maxval itself. The bounds may be arrays that broadcast to shape.
Array uniform(const Array& k, const Shape& shape = {}, Dtype dtype = f32, Scalar minval = 0.0, Scalar maxval = 1.0,
              const DrawOptions& draw = {});
Array uniform(const Array& k, const Shape& shape, Dtype dtype, const Array& minval, const Array& maxval,
              const DrawOptions& draw = {});
/// Standard normal. bf16 draws 8 bits per element, as JAX does: 128 different values.
Array normal(const Array& k, const Shape& shape = {}, Dtype dtype = f32, const DrawOptions& draw = {});
/// Standard normal, truncated to (lower, upper).
Array truncated_normal(const Array& k, double lower, double upper, const Shape& shape = {}, Dtype dtype = f32,
                       const DrawOptions& draw = {});
/// boolean: true with probability p.
Array bernoulli(const Array& k, double p = 0.5, const Shape& shape = {}, const DrawOptions& draw = {});
Array bernoulli(const Array& k, const Array& p, const std::optional<Shape>& shape = none, const DrawOptions& draw = {});
/// Integers in [minval, maxval), both first clipped to the range of the dtype; minval if the interval is empty. JAX's
/// algorithm, with its bias of at most span / 2^32 (2^64 for i64).
Array randint(const Array& k, const Shape& shape, std::int64_t minval, std::int64_t maxval, Dtype dtype = i32,
              const DrawOptions& draw = {});
/// i32 position along `axis`, with probability softmax(logits). shape: of the result, must end in the batch dimensions.
Array categorical(const Array& k, const Array& logits, std::int64_t axis = -1, const std::optional<Shape>& shape = none,
                  const DrawOptions& draw = {});
Array gumbel(const Array& k, const Shape& shape = {}, Dtype dtype = f32, const DrawOptions& draw = {});
Array exponential(const Array& k, const Shape& shape = {}, Dtype dtype = f32, const DrawOptions& draw = {});
Array laplace(const Array& k, const Shape& shape = {}, Dtype dtype = f32, const DrawOptions& draw = {});
Array logistic(const Array& k, const Shape& shape = {}, Dtype dtype = f32, const DrawOptions& draw = {});
/// -1 or 1, i32 unless said otherwise.
Array rademacher(const Array& k, const Shape& shape = {}, Dtype dtype = i32, const DrawOptions& draw = {});
/// Gamma(a, 1) by Marsaglia and Tsang's rejection (2000), one key per element; f32 or f64.
Array gamma(const Array& k, const Array& a, const std::optional<Shape>& shape = none, Dtype dtype = f32,
            const DrawOptions& draw = {});
/// log(gamma), which does not underflow for small a.
Array loggamma(const Array& k, const Array& a, const std::optional<Shape>& shape = none, Dtype dtype = f32,
               const DrawOptions& draw = {});
/// alpha [.., n] -> shape + [n]; the last dimension sums to 1.
Array dirichlet(const Array& k, const Array& alpha, const std::optional<Shape>& shape = none, Dtype dtype = f32,
                const DrawOptions& draw = {});

/// 0, 1, .., n - 1 in random order, i32 [n].
Array permutation(const Array& k, std::int64_t n);
struct PermutationOptions {
  std::int64_t axis = 0;
  bool independent = false;  // permutes each line along the axis on its own
};
/// x with its slices along an axis in random order.
Array permutation(const Array& k, const Array& x, const PermutationOptions& options = {});
struct ChoiceOptions {
  bool replace = true;
  Array p = {};  // probabilities [n]; empty: uniform
  std::int64_t axis = 0;
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
