// ulp_table.h -- the special functions whose errors ulp_test.cpp measures, where, and the bounds that it enforces.
#pragma once
#include "bora/ops/special.h"
#include "laws/laws.h"

namespace bora::laws {
/// `name` is that of tests/golden/make_special_ulp.py, which also says which numbers the domain is sampled with.
/// `bound`: units in the last place of the true value, f32 and f64; 99.9 % of the points are within `usual`. `least`:
/// where the true value is smaller, of that value: there the function crosses 0.
struct Ulp {
  const char *name, *domain;
  std::function<Array(const Arrays&)> f;
  double bound[2], usual[2];
  double least = 0;
};
namespace ulp_table_test { const std::vector<Ulp>& ulp_table(); }
namespace ulp_stats_test { const std::vector<Ulp>& ulp_of_distributions(); }
}  // namespace bora::laws
