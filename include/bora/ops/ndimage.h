// ndimage.h -- values of an array between its elements, and images of other sizes: with the names of scipy.ndimage,
// jax.scipy.ndimage and jax.image.
#pragma once
#include "bora/ops/arguments.h"

namespace bora::ndimage {
/// The elements outside of the array: a number; the nearest element; the array again and again; mirrored about the
/// middle of the last element, or about its edge. (SciPy calls the first and the third grid-constant and grid-wrap.)
enum class Outside : std::uint8_t { constant, nearest, wrap, mirror, reflect };
struct MapOptions {                  // of map_coordinates
  int order = 1;                     // 0: the nearest element (halves away from 0); 1: linear between neighbours
  Outside mode = Outside::constant;  // the elements that x does not have
  double cval = 0;                   // the number outside
};
/// x at coordinates [x.ndim, ..], one position for each dimension of x: [..] in x's dtype (integers are rounded, halves
/// away from 0). Order 1 has derivatives by x and by coordinates; order 0 by x. A coordinate NaN gives NaN. Throws
/// ShapeError for another number of coordinates and for an empty x, ValueError for another order and a cval that x's
/// dtype cannot hold. Source: jax.scipy.ndimage.map_coordinates.
Array map_coordinates(const Array& x, const Array& coordinates, const MapOptions& options = {});
}  // namespace bora::ndimage

namespace bora::image {
/// The pixels that make a new one: the nearest one; those around it, with weights that fall linearly, by Keys' cubic
/// (cubic_pytorch without antialias: by OpenCV's, with edges that go on), or by Lanczos' window of radius 3 or 5; all
/// that its area covers.
enum class ResizeMethod : std::uint8_t { nearest, linear, cubic, cubic_pytorch, lanczos3, lanczos5, area };
struct ResizeOptions {    // of resize
  bool antialias = true;  // where the result is smaller, the weights reach so far that every pixel counts
};
/// x with other sizes; a dimension whose size is equal (batch, channels) stays. In x's dtype, of integers f32 (nearest:
/// integers). Pixels are areas: the middle of pixel i lies at i + 1/2. Throws ShapeError for another number of
/// dimensions and where an empty dimension would have to grow. Source: jax.image.resize.
Array resize(const Array& x, const Shape& shape, ResizeMethod method, const ResizeOptions& options = {});
/// x stretched and moved into `shape`: along spatial_dims[k] the point p goes to p scale[k] + translation[k], both
/// vectors [K] that may be differentiated; the other sizes are equal. 0 where x does not reach. Throws ShapeError,
/// ValueError for `nearest`. Source: jax.image.scale_and_translate.
Array scale_and_translate(const Array& x, const Shape& shape, const Dims& spatial_dims, const Array& scale,
                          const Array& translation, ResizeMethod method, const ResizeOptions& options = {});
}  // namespace bora::image
