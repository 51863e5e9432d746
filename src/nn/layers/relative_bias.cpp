#include "bora/nn/relative_bias.h"
#include <algorithm>
#include <cmath>
#include "bora/ops/creation.h"
#include "nn/core/support.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"
#include "bora/named/operations.h"
#include "bora/named/random.h"

namespace bora::nn {
std::int64_t relative_bucket(std::int64_t distance, const RelativeBiasOptions& o) {
  auto buckets = o.bidirectional ? o.buckets / 2 : o.buckets, first = std::int64_t{0};
  if (o.bidirectional && distance > 0) first = buckets;
  auto n = o.bidirectional ? std::abs(distance) : std::max<std::int64_t>(0, -distance);
  auto exact = buckets / 2;
  if (n < exact) return first + n;
  // A bucket begins at a power; the sum keeps the quotient of equal powers from falling below a whole number.
  double far = std::log(static_cast<double>(n) / static_cast<double>(exact)) /
                   std::log(static_cast<double>(o.max_distance) / static_cast<double>(exact)) +
               1e-9;
  return first + std::min(buckets - 1, exact + static_cast<std::int64_t>(far * static_cast<double>(buckets - exact)));
}
RelativeBias RelativeBias::init(const Axis& heads, const Array& key, const RelativeBiasOptions& o) {
  auto side = o.bidirectional ? o.buckets / 2 : o.buckets;
  check<ValueError>(side >= 2 && (!o.bidirectional || o.buckets % 2 == 0), "RelativeBias: ", o.buckets,
                    " buckets; there must be ", o.bidirectional ? "4, 6, 8, .." : "2 or more");
  check<ValueError>(o.max_distance > side / 2, "RelativeBias: max_distance is ", o.max_distance, ", but ", side / 2,
                    " short distances have a bucket each");
  auto limit = std::sqrt(6.0 / static_cast<double>(heads.size + o.buckets));
  Axes axes{heads, Axis{kBucket, o.buckets}};
  return {random::uniform(key, axes, f32, -limit, limit), o.max_distance, o.bidirectional};
}
namespace {
/// [heads, distance]: the numbers of sign * n for n in [first, last].
NamedArray at_distances(const RelativeBias& b, std::int64_t first, std::int64_t last, std::int64_t sign) {
  std::vector<std::int32_t> buckets;
  RelativeBiasOptions o{b.weight.axis(kBucket).size, b.max_distance, b.bidirectional};
  for (auto n = first; n <= last; ++n) buckets.push_back(static_cast<std::int32_t>(relative_bucket(sign * n, o)));
  Axis distance{kDistance, last - first + 1};
  return take(in_real_accumulator(auto_sharded(b.weight)), kBucket, named(asarray(buckets, {distance.size}), distance));
}
}  // namespace
NamedArray RelativeBias::operator()(const NamedArray& queries, const NamedArray& keys) const {
  check<AxisError>(queries.ndim() == 1 && keys.ndim() == 1, "RelativeBias: positions have one axis, got ",
                   queries.axes(), " and ", keys.axes());
  // From the table to a number for each distance, which is short, and from there to all pairs.
  auto by_distance = at_distances(*this, -max_distance, max_distance, 1);
  std::vector<Axis> pairs{queries.axes()[0], keys.axes()[0]};
  auto apart = broadcast_to(keys, pairs) - broadcast_to(queries, pairs);
  return auto_sharded(take(by_distance, kDistance, clip(apart, -max_distance, max_distance) + max_distance));
}
NamedArray RelativeBias::before() const { return auto_sharded(at_distances(*this, 0, max_distance, -1)); }

template <> std::vector<LayerSample> samples<"RelativeBias">() {
  Axis heads{kHeads, 4}, position{kPosition, 6};
  auto make = [=](const RelativeBiasOptions& o) {
    return [=](const Array& k) { return RelativeBias::init(heads, k, o); };
  };
  auto call = [=](const RelativeBias& l, const NamedArray& x) {
    auto y = l(arange(position) + 1, arange(x.axis(kKeyPosition))) * x;
    return y.astype(x.dtype());
  };
  auto x = example({heads, position, Axis{kKeyPosition, 9}});
  return {sample("of an encoder", make({.buckets = 8, .max_distance = 6}), x, call),
          sample("of a decoder", make({.buckets = 4, .max_distance = 5, .bidirectional = false}), x, call)};
}
template const bool added<"RelativeBias">;
}  // namespace bora::nn
