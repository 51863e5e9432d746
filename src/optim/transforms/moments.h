// moments.h -- the parts that transformations with state share, with Optax's names.
#pragma once
#include <limits>
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/ufuncs.h"
#include "bora/optim/transforms.h"

namespace bora::optim {
/// Zeros laid out as the parameters.
inline Arrays zeros_beside(const Leaves& params) {
  Arrays r;
  for (auto& p : params.arrays) r.push_back(reshard_like(zeros_like(p), p));
  return r;
}
inline Arrays full_beside(const Leaves& params, double value) {
  Arrays r;
  for (auto& p : params.arrays) r.push_back(reshard_like(full_like(p, value), p));
  return r;
}
/// The exponential moving average of x, one step further.
inline Array update_moment(const Array& x, const Array& moment, double decay) {
  return (1 - decay) * x + decay * moment;
}
/// |x|^2, also of complex numbers.
inline Array absolute_square(const Array& x) { return is_complex(x.dtype()) ? real(x * conj(x)) : x * x; }
/// The sum of the weights of a moment after `count` steps, f32: divided by it, a moment that began with 0 is a mean.
inline Array bias_correction(double decay, const Array& count) {
  return 1 - pow(constant(decay, f32), count.astype(f32));
}
/// A moment that began with 0, as a mean.
inline Array corrected(const Array& moment, double decay, const Array& count) {
  return moment / bias_correction(decay, count).astype(moment.dtype());
}
/// count + 1, but the largest count stays: it never wraps to a negative one.
inline Array safe_increment(const Array& count) {
  return minimum(count, std::numeric_limits<std::int32_t>::max() - 1) + 1;
}
/// Whether all numbers are finite, bool scalar.
inline Array all_finite(const Arrays& xs) {
  auto finite = constant(true, boolean);
  for (auto& x : xs) finite = logical_and(finite, all(isfinite(x)));
  return finite;
}
/// `yes` where the scalar `which` holds, else `no`.
inline Arrays chosen(const Array& which, const Arrays& yes, const Arrays& no) {
  Arrays r;
  for (std::size_t i = 0; i < yes.size(); ++i) r.push_back(where(which, yes[i], no[i]));
  return r;
}
inline State chosen(const Array& which, const State& yes, const State& no) {
  auto r = yes;
  for (auto& [name, a] : r.entries) a = where(which, a, no.entries.at(name));
  return r;
}
inline Array zero_count() { return zeros({}, i32); }
/// The mean gradient of Adam's kin, with Nesterov's look ahead: Dozat 2016.
inline Array mean_gradient(const Array& mu, const Array& u, double b1, const Array& count, bool nesterov) {
  if (!nesterov) return corrected(mu, b1, count);
  return b1 * corrected(mu, b1, safe_increment(count)) + (1 - b1) * corrected(u, b1, count);
}
/// The state of Adam and its kin: steps, means of gradients and of squares.
using AdamMoments = ScaleByAdam::State;
inline AdamMoments zero_moments(const Leaves& p) { return {zero_count(), zeros_beside(p), zeros_beside(p)}; }
}  // namespace bora::optim
