#include "bora/named/resize.h"
#include "bora/named/random.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "named/api/support.h"
#include "bora/tree/node.h"
#include "bora/ops/ufuncs.h"

namespace bora {
NamedArray resize_axis(const NamedArray& x, const AxisNames::One& axis, std::int64_t n,
                       const std::optional<Array>& key) {
  auto p = require_axis("resize_axis", x.axes(), axis);
  auto d = static_cast<std::size_t>(p);
  check<ValueError>(n >= 0, "resize_axis: axis '", axis.name, "' cannot have ", n, " elements");
  auto old = x.axes()[d].size;
  auto axes = x.axes();
  axes[d].size = n;
  if (n <= old) return made(slice_in_dim(x.array(), p, 0, n), axes);
  auto fresh = axes;
  fresh[d].size = n - old;
  auto more = zeros(fresh, x.dtype());
  if (key && is_float(x.dtype()) && x.size() > 0) {
    auto wide = in_real_accumulator(x.array());
    auto draw = random::truncated_normal(*key, -3, 3, fresh, wide.dtype()).array();
    more = made((draw * stddev(wide) + mean(wide)).astype(x.dtype()), fresh);
  }
  return made(concatenate({x.array(), more.array()}, p), axes);
}
void named_detail::resize_axes(tree::Node t, const AxisNames::One& axis, std::int64_t n,
                               const std::optional<Array>& key) {
  std::int64_t number = 0;
  for (auto& s : tree::slots(t))
    if (auto* x = s.leaf.as<NamedArray>(); x && x->defined() && x->has_axis(axis.name))
      *x = resize_axis(*x, axis, n, key ? std::optional(random::fold_in(*key, number++)) : none);
}
}  // namespace bora
