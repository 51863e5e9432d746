// Distributions, the domains over which they are measured, and their bounds.
#include "bora/ops/stats.h"
#include "laws/ulp_table.h"

namespace bora::laws::ulp_stats_test {
using namespace stats;
#define BORA_ULP(...) [](const Arrays& x) { return __VA_ARGS__; }
const std::vector<Ulp>& ulp_of_distributions() {
  static const std::vector<Ulp> r{
      {"norm::pdf", "-6 .. 6", BORA_ULP(norm::pdf(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"norm::logpdf", "-6 .. 6", BORA_ULP(norm::logpdf(x[0])), {1.25, 1.25}, {1.25, 1.25}, 1},
      {"norm::cdf", "-6 .. 6", BORA_ULP(norm::cdf(x[0])), {3, 4}, {3, 3}},
      {"norm::logcdf", "-6 .. 6", BORA_ULP(norm::logcdf(x[0])), {1.75, 1.5}, {1.5, 1.5}, 1},
      {"norm::sf", "-6 .. 6", BORA_ULP(norm::sf(x[0])), {3, 3}, {3, 3}},
      {"norm::logsf", "-6 .. 6", BORA_ULP(norm::logsf(x[0])), {1.5, 1.75}, {1.5, 1.5}, 1},
      {"norm::ppf", "0.001 .. 0.999", BORA_ULP(norm::ppf(x[0])), {0.51, 1.75}, {0.51, 1.5}, 1},
      {"expon::logpdf", "1e-3 .. 60", BORA_ULP(expon::logpdf(x[0])), {0.51, 0.51}, {0.51, 0.51}, 1},
      {"expon::cdf", "1e-3 .. 60", BORA_ULP(expon::cdf(x[0])), {0.75, 0.75}, {0.75, 0.6}},
      {"laplace::cdf", "-6 .. 6", BORA_ULP(laplace::cdf(x[0])), {1, 1}, {0.75, 1}},
      {"logistic::logpdf", "-6 .. 6", BORA_ULP(logistic::logpdf(x[0])), {1.25, 1}, {1.25, 1}, 1},
      {"logistic::cdf", "-6 .. 6", BORA_ULP(logistic::cdf(x[0])), {2, 2}, {2, 2}},
      {"logistic::ppf", "0 .. 1", BORA_ULP(logistic::ppf(x[0])), {0.51, 0.51}, {0.51, 0.51}, 1},
      {"cauchy::logpdf", "-6 .. 6", BORA_ULP(cauchy::logpdf(x[0])), {1.25, 1.25}, {1, 1.25}, 1},
      {"cauchy::cdf", "-1e6 .. 1e6", BORA_ULP(cauchy::cdf(x[0])), {0.51, 0.51}, {0.51, 0.51}},
      {"cauchy::ppf", "0 .. 1", BORA_ULP(cauchy::ppf(x[0])), {3.5, 3}, {3, 3}, 1},
      {"gumbel_r::logpdf", "-3 .. 20", BORA_ULP(gumbel_r::logpdf(x[0])), {2, 1.75}, {1.75, 1.5}, 1},
      {"gumbel_r::cdf", "-3 .. 20", BORA_ULP(gumbel_r::cdf(x[0])), {15, 12}, {12, 12}},
      {"t::logpdf", "-6 .. 6, df: 0.2 .. 30", BORA_ULP(t::logpdf(x[0], x[1])), {2, 2}, {2, 1.75}, 1},
      {"gamma::logpdf", "1e-3 .. 60, a: 0.2 .. 30", BORA_ULP(stats::gamma::logpdf(x[0], x[1])), {25, 20}, {20, 15}, 1},
      {"gamma::cdf", "1e-3 .. 60, a: 0.2 .. 30", BORA_ULP(stats::gamma::cdf(x[0], x[1])), {0.51, 0.6}, {0.51, 0.6}},
      {"chi2::sf", "1e-3 .. 60, df: 0.2 .. 30", BORA_ULP(chi2::sf(x[0], x[1])), {0.51, 0.51}, {0.51, 0.51}},
      {"beta::logpdf", "0.01 .. 0.99, a, b: 0.2 .. 30",
       BORA_ULP(stats::beta::logpdf(x[0], x[1], x[2])), {25, 20}, {20, 15}, 1},
      {"beta::cdf", "0.01 .. 0.99, a, b: 0.2 .. 30",
       BORA_ULP(stats::beta::cdf(x[0], x[1], x[2])), {0.51, 0.55}, {0.51, 0.51}},
      {"pareto::logpdf", "1.01 .. 1e3, b: 0.2 .. 30", BORA_ULP(pareto::logpdf(x[0], x[1])), {2.25, 3}, {2.25, 2.25}, 1},
      {"poisson::logpmf", "0 .. 60, mu: 0.1 .. 60", BORA_ULP(poisson::logpmf(x[0], x[1])), {50, 60}, {40, 60}, 1},
      {"binom::logpmf", "0 .. 20, n: 20 .. 60, p: 0.01 .. 0.99",
       BORA_ULP(binom::logpmf(x[0], x[1], x[2])), {20, 20}, {15, 15}, 1},
      {"nbinom::logpmf", "0 .. 40, n: 0.5 .. 30, p: 0.01 .. 0.99",
       BORA_ULP(nbinom::logpmf(x[0], x[1], x[2])), {15, 15}, {12, 10}, 1},
      {"vonmises::logpdf", "-3.1 .. 3.1, kappa: 0.1 .. 30",
       BORA_ULP(vonmises::logpdf(x[0], x[1])), {10, 7}, {10, 6}, 1},
  };
  return r;
}
#undef BORA_ULP
}  // namespace bora::laws::ulp_stats_test
