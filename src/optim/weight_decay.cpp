#include "bora/ops/elementwise.h"
#include "bora/optim/optim.h"

namespace bora::optim {
namespace {
struct WeightDecay {
  double weight_decay;
  Mask mask = {};
  static constexpr std::string_view name = "weight_decay";
  Arrays update(const Arrays& u, const Leaves& p) const {
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) r.push_back(mask(p, i) ? u[i] + weight_decay * p.arrays[i] : u[i]);
    return r;
  }
  static std::vector<WeightDecay> samples() { return {{0.1}, {0.1, by_layer}}; }
};
}  // namespace
Transform add_decayed_weights(double weight_decay, Mask mask) {
  return Transform(WeightDecay{weight_decay, std::move(mask)});
}
}  // namespace bora::optim
