// stages.h -- layers for stages, and meshes with an axis of stages.
#pragma once
#include "bora/nn/linear.h"
#include "bora/nn/pipeline.h"
#include "laws/laws.h"

namespace bora::laws {
inline const Axis kEmbed{nn::kEmbed, 6}, kLayers{nn::kLayers, 4};
struct Block {
  nn::Linear up;
  static Block init(const Array& key) { return {nn::Linear::init(kEmbed, kEmbed.alias("out"), key)}; }
  static nn::Stacked<Block> layers() {
    return nn::Stacked<Block>::init(kLayers, nn::per_layer(random::split(random::key(3), kLayers.size)));
  }
  /// shift [batch]: of a row, scale: of a layer, key: for draws, gain [embed]: of all layers.
  NamedArray operator()(const NamedArray& x, const NamedArray& shift, const std::optional<Array>& scale,
                        const std::optional<Array>& key, const std::optional<NamedArray>& gain = none) const {
    auto y = rename(tanh(up(auto_sharded(x))), {{"out", nn::kEmbed}});
    if (gain) y = y * *gain;
    if (scale) y = y * NamedArray(*scale, {});
    if (key) y = y * NamedArray(random::uniform(*key, shape_of(y.axes())).astype(y.dtype()), y.axes());
    return auto_sharded(x + y + shift);
  }
};
struct StageLayout {
  std::vector<MeshAxis> mesh;
  AxisMapping storage, compute;
};
inline std::vector<StageLayout> stage_layouts() {
  Rule layers{nn::kLayers, "stage"}, rows{nn::kBatch, "data"}, both{nn::kBatch, {"data", "stage"}};
  return {{{{"stage", 1}}, {layers}, {layers}},
          {{{"stage", 2}}, {layers}, {layers}},
          {{{"stage", 4}}, {layers}, {layers, both}},
          {{{"stage", 2}}, {}, {layers, both}},
          {{{"stage", 2}, {"data", 2}}, {layers, {nn::kEmbed, "data"}}, {layers, both}},
          {{{"stage", 2}, {"data", 2}}, {layers}, {layers, rows}},
          {{{"stage", 2}, {"model", 2}}, {layers, {nn::kEmbed, "model"}}, {layers, {"out", "model"}, both}}};
}
/// f(in), staged or not, gives what is wanted where `in` is stored as the layout says.
template <class F, class In>
void holds_on(const StageLayout& layout, const F& f, const In& in, bool staged, const Arrays& want,
              const std::string& what) {
  local_mesh(layout.mesh, [&](const Mesh&) {
    UseMapping split(layout.compute);
    auto mine = sharded(in, layout.storage);
    close(gathered(staged ? jit(f)(mine) : f(mine)), want, 1e-12,
          name(layout.mesh) + ", " + what + (staged ? ", staged" : ""));
  });
}
}  // namespace bora::laws
