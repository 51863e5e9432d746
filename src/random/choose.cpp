// Samplers that choose among given elements: categorical, permutation, choice.
#include <cmath>
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/sorting.h"
#include "random/draw.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/array/primitive_base.h"
#include "ops/api/primitives.h"

namespace bora::random {
namespace {
constexpr auto positions_of = [](const Array& x, const Array& positions, std::int64_t axis) {
  return call_one(ops::Take{axis, true}, {x, positions});
};
}  // namespace
Array categorical(const Array& k, const Array& logits, std::int64_t axis, const std::optional<Shape>& shape,
                  const DrawOptions& draw) {
  return categorical(k, logits, {.axis = axis, .shape = shape}, draw);
}
Array categorical(const Array& k, const Array& logits, const CategoricalOptions& options, const DrawOptions& draw) {
  one_key("categorical", k);
  floating("categorical", logits.dtype());
  auto axis = normalize_axis("categorical", options.axis, logits.ndim());
  auto batch = logits.shape();
  batch.erase(static_cast<std::size_t>(axis));
  auto result = options.shape.value_or(batch);
  auto extra = static_cast<std::int64_t>(result.size()) - static_cast<std::int64_t>(batch.size());
  check<ShapeError>(extra >= 0 && broadcast_shapes("categorical", result, batch) == result, "categorical: the shape ",
                    result, " does not end in the batch dimensions ", batch, " of logits ", logits.shape());
  auto weights = draw.exact ? logits.astype(f64) : logits;  // equal scores would favour the first
  if (!options.replace) {
    Shape prefix(Dims(result.begin(), result.begin() + extra));
    auto whole = prefix;
    whole.append(batch);
    check<ShapeError>(result == whole, "categorical: without replacement the shape ", result,
                      " must end in the batch dimensions ", batch, " of logits ", logits.shape(), " as they are");
    auto draws = volume(prefix);
    check<ValueError>(draws <= logits.shape(axis), "categorical: cannot take ", draws, " of ", logits.shape(axis),
                      " categories without replacement");
    auto scores = weights + gumbel(k, options.mode, logits.shape(), weights.dtype(), draw);
    return reshape(moveaxis(top_k(moveaxis(scores, axis, -1), draws).indices, -1, 0), result);
  }
  auto noise = result;
  noise.insert(static_cast<std::size_t>(extra + axis), logits.shape(axis));
  return argmax(gumbel(k, options.mode, noise, weights.dtype(), draw) + weights, extra + axis);
}

namespace {
/// Stable sorts by fresh random bits: enough rounds that ties among the bits do not matter (JAX's rule).
int shuffle_rounds(std::int64_t size) {
  return static_cast<int>(
      std::ceil(3 * std::log(static_cast<double>(std::max<std::int64_t>(1, size))) / std::log(4294967295.0)));
}
Array shuffled(const Array& key, Array x, std::int64_t axis) {
  auto k = key;
  for (int round = shuffle_rounds(x.size()); round > 0; --round) {
    auto [next, sub] = split<2>(k);
    k = next;
    // Split as x is, so that ranks sort and exchange parts where x is split.
    auto order = argsort(reshard_like(draw_bits(sub, x.shape(), u32, {}), x), axis);
    x = x.ndim() == 1 ? positions_of(x, order, 0) : take_along_axis(x, order, axis);
  }
  return x;
}
}  // namespace
Array permutation(const Array& k, std::int64_t n) {
  one_key("permutation", k);
  check<ValueError>(n >= 0, "permutation: n must not be negative, got ", n);
  return shuffled(k, iota({n}, 0), 0);
}
Array permutation(const Array& k, const Array& x, const PermutationOptions& options) {
  one_key("permutation", k);
  check<ShapeError>(x.ndim() > 0, "permutation: needs at least one dimension, got ", x.type(),
                    "; permutation(key, n) orders 0, 1, .., n - 1");
  auto axis = normalize_axis("permutation", options.axis, x.ndim());
  if (x.ndim() == 1 || options.independent) return shuffled(k, x, axis);
  return positions_of(x, shuffled(k, iota({x.shape(axis)}, 0), 0), axis);
}

namespace {
/// First position i with sorted[i] >= x, for each x: a binary search in steps of powers of two.
Array search_left(const Array& sorted, const Array& x) {
  auto n = sorted.shape(0);
  std::int64_t step = 1;
  while (step * 2 <= n) step *= 2;
  auto at = zeros_like(x).astype(i32);
  for (; step > 0; step /= 2) {
    auto next = at + step;
    auto below = call_one(ops::Take{0, false}, {sorted, next - 1}) < x;
    at = select(next <= n && below, next, at);
  }
  return at;
}
Array chosen_positions(const Array& k, std::int64_t n, const Shape& shape, const ChoiceOptions& options) {
  auto draws = volume(shape);
  check<ValueError>(n > 0 || draws == 0, "choice: there is nothing to choose from");
  check<ValueError>(options.replace || draws <= n, "choice: cannot take ", draws, " of ", n, " without replacement");
  if (!options.p.defined()) {
    if (options.replace) return randint(k, shape, 0, n);
    return reshape(slice_in_dim(permutation(k, n), 0, 0, draws), shape);
  }
  check<ShapeError>(options.p.shape() == Shape{n}, "choice: p must have one probability for each of the ", n,
                    " elements, got ", options.p.shape());
  floating("choice", options.p.dtype());
  const DrawOptions draw{.exact = options.exact};
  auto p = options.exact ? options.p.astype(f64) : options.p;
  if (!options.replace) return reshape(top_k(gumbel(k, {n}, p.dtype(), draw) + log(p), draws).indices, shape);
  auto cumulative = cumsum(p);
  auto r = index_in_dim(cumulative, 0, -1) * (1 - uniform(k, shape, p.dtype(), 0.0, 1.0, draw));
  return search_left(cumulative, r);
}
}  // namespace
Array choice(const Array& k, std::int64_t n, const Shape& shape, const ChoiceOptions& options) {
  one_key("choice", k);
  return chosen_positions(k, n, shape, options);
}
Array choice(const Array& k, const Array& x, const Shape& shape, const ChoiceOptions& options) {
  one_key("choice", k);
  check<ShapeError>(x.ndim() > 0, "choice: needs at least one dimension to choose from, got ", x.type());
  auto axis = normalize_axis("choice", options.axis, x.ndim());
  return positions_of(x, chosen_positions(k, x.shape(axis), shape, options), axis);
}
}  // namespace bora::random
