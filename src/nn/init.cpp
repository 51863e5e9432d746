#include "bora/nn/init.h"
#include <cmath>

namespace bora::nn {
NamedArray Init::operator()(const Array& key, const Axes& axes, std::int64_t fan_in) const {
  auto truncated = [&](double stddev) { return random::truncated_normal(key, -3, 3, axes) * stddev; };
  switch (kind) {
    case Kind::constant: return full(axes, scale, f32);
    case Kind::normal: return random::normal(key, axes) * scale;
    case Kind::truncated_normal: return truncated(scale);
    case Kind::fan_in: return truncated(scale / std::sqrt(static_cast<double>(fan_in)));
    case Kind::lecun_normal: break;
  }
  constexpr double kCut = 0.87962566103423978;  // the deviation of a normal distribution that is cut off at 2
  return random::truncated_normal(key, -2, 2, axes) * (scale / kCut / std::sqrt(static_cast<double>(fan_in)));
}
}  // namespace bora::nn
