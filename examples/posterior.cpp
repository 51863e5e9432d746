// Eight schools (Rubin 1981), the effects of coaching: a hierarchical posterior by the No-U-Turn Sampler, its chains
// split over ranks, compared with the reference draws of posteriordb. The same numbers on any number of ranks.
//   ./posterior                         one rank
//   bora launch -n 2 -- ./posterior     two
#include <bora/bora.h>
#include <bora/science/mcmc.h>
#include <iostream>
using namespace bora;

const Array kEffects = array({28., 8., -3., 7., -1., 1., 18., 12.}, f64),
            kErrors = array({15., 10., 16., 11., 9., 11., 10., 18.}, f64);
struct Schools {
  Array mu, log_tau;  // the mean effect, and the logarithm of how much schools differ
  Array theta;        // [8] each school's, in units of tau from mu
};
Array log_density(const Schools& s) {
  auto tau = exp(s.log_tau);
  auto prior = -0.5 * square(s.mu / 5.) - log1p(square(tau / 5.)) + s.log_tau - 0.5 * sum(square(s.theta));
  return prior - 0.5 * sum(square((kEffects - s.mu - tau * s.theta) / kErrors));
}

int main() {
  auto mesh = Mesh::from_environment({{"chains", -1}});
  UseMesh scope(mesh);
  Schools start{zeros({}, f64), zeros({}, f64), zeros({8}, f64)};
  auto r = mcmc::sample(random::key(1), log_density, start,
                        {.chains = 4, .warmup = 1000, .samples = 1000, .target_accept = 0.95, .over = "chains"});
  auto mu = gather(r.q.mu), tau = exp(gather(r.q.log_tau));  // [chains, samples]
  auto shrinks = maximum(mcmc::rhat(mu), mcmc::rhat(tau)).item<double>();
  auto error = [](const Array& x) { return (stddev(x) / sqrt(mcmc::ess(x, mcmc::Ess::mean))).item<double>(); };
  // eight_schools-eight_schools_noncentered of posteriordb: mu 4.41, tau 3.60; their errors are below 0.05.
  auto off_mu = std::abs(mean(mu).item<double>() - 4.41), off_tau = std::abs(mean(tau).item<double>() - 3.6);
  if (mesh.rank() == 0)
    std::cout << "mu " << mean(mu) << " +- " << error(mu) << ", tau " << mean(tau) << " +- " << error(tau) << ", rhat "
              << shrinks << "\n";
  return off_mu < 4 * error(mu) + 0.05 && off_tau < 4 * error(tau) + 0.05 && shrinks < 1.02 ? 0 : 1;
}
