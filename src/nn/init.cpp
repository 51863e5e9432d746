#include "bora/nn/init.h"
#include <cmath>

namespace bora::nn {
NamedArray Init::operator()(const Array& key, const Axes& axes, std::int64_t fan_in) const {
  auto truncated = [&](double stddev) { return random::truncated_normal(key, -3, 3, axes) * stddev; };
  switch (kind) {
    case Kind::constant: return full(axes, scale, f32);
    case Kind::normal: return random::normal(key, axes) * scale;
    case Kind::truncated_normal: return truncated(scale);
    case Kind::fan_in: break;
  }
  return truncated(scale / std::sqrt(static_cast<double>(fan_in)));
}
}  // namespace bora::nn
