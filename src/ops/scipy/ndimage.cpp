// Values between the elements of an array.
#include "bora/ops/ndimage.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"

namespace bora::ndimage {
using namespace ops;
namespace {
/// A neighbour of the position along one dimension: which element, with which weight, and whether it is one.
struct Node {
  Array index, weight, inside;  // i32, floating, boolean; empty: 1, true
};
Array away_from_zero(const Array& x) { return sign(x) * floor(abs(x) + 0.5); }
/// The element that stands at position i, a whole number in floating form.
Array element(const Array& i, Index n, Outside mode) {
  auto size = static_cast<double>(n);
  auto mirrored = [](const Array& v, double s) { return s == 0 ? v * 0. : abs((v + s) % (2 * s) - s); };
  Array k = i;
  if (mode == Outside::wrap) k = i % size;
  if (mode == Outside::mirror) k = mirrored(i, size - 1);
  if (mode == Outside::reflect) k = floor((mirrored(2 * i + 1, 2 * size) - 1) * 0.5);
  return clip(where(isnan(k), 0., k), 0., size - 1).astype(i32);
}
std::vector<Node> nodes(const Array& at_x, Index n, const MapOptions& o) {
  auto node = [&](const Array& i, const Array& weight) {
    Array inside;
    if (o.mode == Outside::constant) inside = i >= 0 && i <= static_cast<double>(n - 1);
    return Node{element(stop_gradient(i), n, o.mode), weight, inside};
  };
  if (o.order == 0) return {node(away_from_zero(at_x), where(isnan(at_x), kNan, ones_like(at_x)))};
  auto low = floor(at_x), above = at_x - low;
  return {node(low, 1 - above), node(low + 1, above)};
}
}  // namespace

Array map_coordinates(const Array& x, const Array& coordinates, const MapOptions& o) {
  check<ValueError>(o.order == 0 || o.order == 1, "map_coordinates: order = ", o.order, "; there are 0 and 1");
  check<ShapeError>(x.ndim() > 0 && coordinates.ndim() > 0 && coordinates.shape(0) == x.ndim(),
                    "map_coordinates: coordinates ", coordinates.type(),
                    " do not give a position for each dimension of ", x.type());
  check<ShapeError>(x.size() > 0, "map_coordinates: ", x.type(), " has no elements");
  check<DtypeError>(is_numeric(x.dtype()) && is_numeric(coordinates.dtype()) && !is_complex(coordinates.dtype()),
                    "map_coordinates: takes numbers and real coordinates, got ", x.type(), " and ", coordinates.type());
  check<ValueError>(o.mode != Outside::constant || is_inexact(x.dtype()) || o.cval == std::floor(o.cval),
                    "map_coordinates: cval = ", o.cval, " is no number of ", x.dtype());
  auto d = real_dtype(promote(x.dtype(), coordinates.dtype())) == f64 ? f64 : f32;
  auto values = ravel(is_complex(x.dtype()) ? x : x.astype(d));
  std::vector<std::vector<Node>> along;
  for (Index k = 0; k < x.ndim(); ++k)
    along.push_back(nodes(index_in_dim(coordinates, 0, k).astype(d), x.shape(k), o));
  Array total;
  auto corners = o.order == 0 ? 1 : Index{1} << x.ndim();
  for (Index corner = 0; corner < corners; ++corner) {
    Array place, weight, inside;
    for (Index k = 0; k < x.ndim(); ++k) {
      auto& n = along[at(k)][o.order == 0 ? 0 : at(corner >> k & 1)];
      place = k == 0 ? n.index : place * static_cast<int>(x.shape(k)) + n.index;
      weight = k == 0 ? n.weight : weight * n.weight;
      if (n.inside.defined()) inside = inside.defined() ? inside && n.inside : n.inside;
    }
    auto v = take(values, place, 0, IndexMode::clamp);
    if (inside.defined()) v = where(inside, v, o.cval);
    total = corner == 0 ? v * weight : total + v * weight;
  }
  return is_inexact(x.dtype()) ? total.astype(x.dtype()) : away_from_zero(total).astype(x.dtype());
}
}  // namespace bora::ndimage
