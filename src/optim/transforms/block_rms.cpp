#include "bora/ops/accumulator.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
/// Root of the mean of squares of parameter i, or of an array like it; one for each stacked layer.
Array block_rms(const Array& x, const Leaves& p, std::size_t i, const FactorRules& rules) {
  auto squares = is_complex(x.dtype()) ? absolute_square(x) : square(in_real_accumulator(x));
  return sqrt(mean(squares, factor_dims(p, i, rules).averaged, {.keepdims = true}));
}
struct BlockRmsClip {
  double threshold;
  FactorRules rules = {};
  static constexpr std::string_view name = "block_rms_clip";
  Arrays update(const Arrays& u, const Leaves& p) const {
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i)
      r.push_back(u[i] / maximum(block_rms(u[i], p, i, rules) / threshold, 1).astype(u[i].dtype()));
    return r;
  }
  static std::vector<BlockRmsClip> samples() { return {{0.2}, {0.2, standard_factor_rules()}}; }
};
struct ParamBlockRms {
  ScaleByParamBlockRms o;
  static constexpr std::string_view name = "param_block_rms";
  Arrays update(const Arrays& u, const Leaves& p) const {
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto scale = maximum(block_rms(p.arrays[i], p, i, o.rules), o.min_scale);
      if (o.max_scale) scale = minimum(scale, *o.max_scale);
      r.push_back(u[i] * scale.astype(u[i].dtype()));
    }
    return r;
  }
  static std::vector<ParamBlockRms> samples() { return {{{}}, {{.min_scale = 2}}, {{.max_scale = 0.25}}}; }
};
}  // namespace
Transform clip_by_block_rms(double threshold, FactorRules rules) {
  check<ValueError>(threshold > 0, "clip_by_block_rms: threshold must be positive, got ", threshold);
  return Transform(BlockRmsClip{threshold, std::move(rules)});
}
Transform scale_by_param_block_rms(ScaleByParamBlockRms o) { return Transform(ParamBlockRms{std::move(o)}); }
}  // namespace bora::optim
