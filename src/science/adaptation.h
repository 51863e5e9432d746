// adaptation.h -- what warm-up learns: step sizes and scales. Private.
#pragma once
#include <vector>
#include "science/paths.h"

namespace bora::mcmc::core {
/// Nesterov's dual averaging of the step size's logarithm (Hoffman & Gelman 2014, section 3.2).
struct DualAveraging {
  Array log_pace, average, gap, centre, count;
  static DualAveraging at(const Array& log_pace);
  DualAveraging next(const Array& acceptance, double target) const;
};
/// Sums of Welford's (1962): mean [n], squares [n] or [n, n].
struct Moments {
  Array mean, squares, count;
  static Moments none_of(const Array& x, bool dense);
  Moments with(const Array& x) const;
  /// The variances or the covariance, shrunk towards 1e-3 by the weight of 5 draws, as Stan does.
  Scales scales() const;
};
Scales unit_scales(const Array& x, bool dense);
/// Of each draw of warm-up: whether it counts for the scales, and whether a window ends with it.
struct Windows {
  std::vector<bool> counts, ends;
};
/// Stan's: 75 draws, windows of 25, 50, 100, .., and 50 draws; of fewer than 150 draws 15 %, 75 % and 10 %.
Windows windows(std::int64_t warmup);
}  // namespace bora::mcmc::core
