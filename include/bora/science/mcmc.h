// mcmc.h -- draws from a density by Hamiltonian Monte Carlo, and what tells whether they are good: with the definitions
// of Stan (warm-up) and of ArviZ (rhat, ess).
#pragma once
#include <cstdint>
#include <string>
#include "bora/fx/tree_call.h"

namespace bora::mcmc {
/// nuts: the No-U-Turn Sampler (Hoffman & Gelman 2014, with Betancourt's multinomial choice, 2017); hmc: paths of a
/// fixed number of steps (Neal 2011).
enum class Sampler : std::uint8_t { nuts, hmc };
/// The mass matrix's inverse that warm-up finds: variances, or the whole covariance.
enum class Metric : std::uint8_t { diagonal, dense };
struct SampleOptions {                    // of sample
  Sampler sampler = Sampler::nuts;        // hmc for densities whose paths all need one length
  Metric metric = Metric::diagonal;       // dense for few parameters that depend on each other
  std::int64_t chains = 4;                // drawn side by side, each from its own key
  std::int64_t warmup = 1000;             // draws that are thrown away: they adapt step size and metric
  std::int64_t samples = 1000;            // draws of each chain that are kept
  double target_accept = 0.8;             // mean acceptance that step sizes are adapted to
  double jitter = 1;                      // starts lie uniformly in q0 +- jitter
  std::int64_t max_depth = 10;            // nuts: a path has at most 2^max_depth steps
  std::int64_t leaps = 16;                // hmc: steps of a path
  std::string over = {};                  // the mesh axis that chains are split over; empty: every rank has all
};
/// q: leaves [chains, samples, ..]. Of each draw, [chains, samples]: log_density, the mean acceptance along its path,
/// the steps of that path (i32), and whether it diverged (its energy rose by 1000). step_size [chains]; inverse_mass
/// [chains, n] or [chains, n, n], of the parameters one behind the other.
template <class Q> struct Chains {
  Q q;
  Array log_density, acceptance, steps, diverging, step_size, inverse_mass;
};
/// Draws with a density exp(log_density(q)), of which a factor is free; q0: a tree of f32 or f64 near which it is not
/// 0. Warm-up is Stan's: windows of 75, 25, 50, 100, .. and 50 draws, dual averaging of step sizes (0.05, 10, 0.75),
/// and (co)variances shrunk towards 1e-3. A parameter with bounds is drawn as one without (science/distributions.h).
/// Chain i depends on (key, i) alone: on no number of ranks, nor on other chains. No derivative. Throws ShapeError
/// unless log_density gives a scalar, DtypeError for other leaves, ValueError for options out of range, ShardError
/// unless a mesh with the axis .over is in force.
template <class F, class Q>
Chains<Q> sample(const Array& key, const F& log_density, const Q& q0, const SampleOptions& options = {});

/// The factor by which the draws x [chains, draws, ..] could still shrink: [..]; below 1.01 where chains agree. The
/// larger one of rank-normalised split chains and of their distances to the median (Vehtari et al. 2021); NaN for fewer
/// than 4 draws.
Array rhat(const Array& x);
/// bulk: for means, of ranks; tail: the smaller one of the 5 % and 95 % quantiles; mean: of the numbers themselves, for
/// standard errors std(x) / sqrt(ess(x, Ess::mean)).
enum class Ess : std::uint8_t { bulk, tail, mean };
/// The number of independent draws that x [chains, draws, ..] are worth: [..] (Vehtari et al. 2021; Geyer 1992). NaN
/// for fewer than 4 draws. Throws ShapeError for fewer than two dimensions.
Array ess(const Array& x, Ess of = Ess::bulk);
}  // namespace bora::mcmc

namespace bora::fx {
/// The leaves of q, then the seven fields of Chains behind it.
struct ChainsFlat {
  Arrays q;
  Array log_density, acceptance, steps, diverging, step_size, inverse_mass;
};
ChainsFlat sample_flat(const Array& key, const FlatFn& log_density, const Arrays& q0,
                       const mcmc::SampleOptions& options);
}  // namespace bora::fx

namespace bora::mcmc {
template <class F, class Q>
Chains<Q> sample(const Array& key, const F& log_density, const Q& q0, const SampleOptions& options) {
  static_assert(fx::Callable<F, Q> && std::is_same_v<fx::result_t<F, Q>, Array>,
                "sample: log_density is called with a value like q0 and returns a scalar Array");
  std::optional<Array> out;
  auto r = fx::sample_flat(key, fx::flat_fn<Array>(log_density, out, q0), fx::pack(q0), options);
  return {tree::unflatten(q0, r.q), r.log_density, r.acceptance, r.steps, r.diverging, r.step_size, r.inverse_mass};
}
}  // namespace bora::mcmc
