#include "bora/ops/ufuncs.h"
#include "bora/optim/transforms.h"

namespace bora::optim {
namespace {
struct Scale {
  double factor;
  static constexpr std::string_view name = "scale";
  Arrays update(const Arrays& u, const Leaves&) const {
    Arrays r;
    for (auto& g : u) r.push_back(g * factor);
    return r;
  }
  static std::vector<Scale> samples() { return {{-0.25}}; }
};
}  // namespace
Transform scale(double factor) { return Transform(Scale{factor}); }

Arrays apply_updates_flat(const Arrays& params, const Arrays& updates) {
  Arrays r;
  for (std::size_t i = 0; i < params.size(); ++i) {
    auto narrow = is_narrow(params[i].dtype());  // rounded once, behind the sum
    auto u = updates.at(i).astype(narrow ? f32 : params[i].dtype());
    r.push_back(narrow ? (params[i].astype(f32) + u).astype(params[i].dtype()) : params[i] + u);
  }
  return r;
}
}  // namespace bora::optim
