#include "bora/ops/elementwise.h"
#include "bora/optim/optim.h"

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
  for (std::size_t i = 0; i < params.size(); ++i) r.push_back(params[i] + updates.at(i).astype(params[i].dtype()));
  return r;
}
}  // namespace bora::optim
