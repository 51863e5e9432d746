#include "nn/core/samples.h"
#include <cmath>
#include "bora/ops/creation.h"
#include "bora/named/operations.h"

namespace bora::nn {
std::vector<LayerRow>& layer_rows() {
  static std::vector<LayerRow> rows;
  return rows;
}
bool add_layer(LayerRow row) {
  layer_rows().push_back(std::move(row));
  return true;
}
NamedArray example(const Axes& axes) {
  auto shape = shape_of(axes.list());
  std::vector<double> v(static_cast<std::size_t>(volume(shape)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(1 + 0.7 * static_cast<double>(i));
  return named(asarray(v, shape).astype(f32), axes);
}
}  // namespace bora::nn
