// ndimage.h -- values of an array between its elements, with the names of scipy.ndimage and jax.scipy.ndimage.
#pragma once
#include "bora/ops/axes.h"

namespace bora::ndimage {
/// What stands outside of the array: a number; the nearest element; the array again and again; mirrored about the
/// middle of the last element, or about its edge. (SciPy calls the first and the third grid-constant and grid-wrap.)
enum class Outside : std::uint8_t { constant, nearest, wrap, mirror, reflect };
struct MapOptions {
  int order = 1;  // 0: the nearest element (halves away from 0); 1: linear between neighbours
  Outside mode = Outside::constant;
  double cval = 0;  // the number outside
};
/// x at coordinates [x.ndim, ..], one position for each dimension of x: [..] in x's dtype (integers are rounded, halves
/// away from 0). Order 1 has derivatives by x and by coordinates; order 0 by x. A coordinate NaN gives NaN. Throws
/// ShapeError for another number of coordinates and for an empty x, ValueError for another order and a cval that x's
/// dtype cannot hold. Source: jax.scipy.ndimage.map_coordinates.
Array map_coordinates(const Array& x, const Array& coordinates, const MapOptions& options = {});
}  // namespace bora::ndimage
