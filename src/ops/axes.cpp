#include "bora/ops/axes.h"
#include <algorithm>
#include "ops/support.h"

namespace bora {
Dims Dimensions::in_order(std::string_view what, std::int64_t ndim) const {
  if (!axes_) return ops::range_of(ndim);
  Dims r;
  for (auto a : *axes_) r.push_back(normalize_axis(what, a, ndim));
  return r;
}
Dims Dimensions::resolve(std::string_view what, std::int64_t ndim) const {
  auto r = in_order(what, ndim);
  std::sort(r.begin(), r.end());
  auto twice = std::adjacent_find(r.begin(), r.end());
  check<ValueError>(twice == r.end(), what, ": axis ", twice == r.end() ? 0 : *twice, " is given twice in ",
                    in_order(what, ndim));
  return r;
}
}  // namespace bora
