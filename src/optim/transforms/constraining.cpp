// Transformations that keep parameters where they are, or where they may be.
#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct ZeroNans {
  static constexpr std::string_view name = "zero_nans";
  Arrays update(const Arrays& u, const Leaves&) const {
    Arrays r;
    for (auto& x : u) r.push_back(where(isnan(x), 0, x));
    return r;
  }
  static std::vector<ZeroNans> samples() { return {{}}; }
};
struct SetToZero {
  static constexpr std::string_view name = "set_to_zero";
  Arrays update(const Arrays&, const Leaves& p) const { return zeros_beside(p); }
  static std::vector<SetToZero> samples() { return {{}}; }
};
struct KeepNonnegative {
  static constexpr std::string_view name = "keep_params_nonnegative";
  Arrays update(const Arrays& u, const Leaves& p) const {
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) r.push_back(where(p.arrays[i] + u[i] < 0, -p.arrays[i], u[i]));
    return r;
  }
  static std::vector<KeepNonnegative> samples() { return {{}}; }
};
}  // namespace
Transform zero_nans() { return Transform(ZeroNans{}); }
Transform set_to_zero() { return Transform(SetToZero{}); }
Transform keep_params_nonnegative() { return Transform(KeepNonnegative{}); }
}  // namespace bora::optim
