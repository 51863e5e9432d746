#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
/// Each element of the first dimension by itself, where these are large: so a layer's part needs no other layer's
/// gradient.
Array sum_of_squares(const Array& a) {
  constexpr std::int64_t large = 4096;
  auto squares = is_complex(a.dtype()) ? absolute_square(a).astype(f32) : square(a.astype(f32));
  if (a.ndim() < 2 || a.size() < large * a.shape()[0]) return sum(squares);
  Dims others;
  for (int d = 1; d < a.ndim(); ++d) others.push_back(d);
  return sum(sum(squares, others));
}
}  // namespace
Array global_norm_of(const Arrays& arrays) {
  Array total = constant(0.0, f32);
  for (auto& a : arrays) total = total + sum_of_squares(a);
  return sqrt(total);
}
Array norms_of(const Arrays& arrays) {
  Arrays squares;
  for (auto& a : arrays) squares.push_back(sum_of_squares(a));
  return sqrt(stack(squares));
}
namespace {
struct Clip {
  double max_norm;
  static constexpr std::string_view name = "clip";
  Arrays update(const Arrays& u, const Leaves&) const {
    auto norm = global_norm_of(u);
    auto small = norm < max_norm;
    Arrays r;
    for (auto& g : u) r.push_back(where(small, g, (g / norm.astype(g.dtype())) * max_norm));
    return r;
  }
  static std::vector<Clip> samples() { return {{0.5}, {100}}; }
};
struct ClipValue {
  double max_delta;
  static constexpr std::string_view name = "clip_value";
  Arrays update(const Arrays& u, const Leaves&) const {
    Arrays r;
    for (auto& g : u) r.push_back(bora::clip(g, -max_delta, max_delta));
    return r;
  }
  static std::vector<ClipValue> samples() { return {{0.1}}; }
};
}  // namespace
Transform clip(double max_delta) {
  check<ValueError>(max_delta > 0, "clip: max_delta must be positive, got ", max_delta);
  return Transform(ClipValue{max_delta});
}
Transform clip_by_global_norm(double max_norm) {
  check<ValueError>(max_norm > 0, "clip_by_global_norm: max_norm must be positive, got ", max_norm);
  return Transform(Clip{max_norm});
}
}  // namespace bora::optim
