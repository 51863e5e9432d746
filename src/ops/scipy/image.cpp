// Images of other sizes: a matrix of weights for each dimension that changes.
#include "bora/ops/contractions.h"
#include "bora/ops/ndimage.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/reductions.h"

namespace bora::image {
using namespace ops;
namespace {
/// Keys 1981 for a = -1/2. x >= 0.
Array cubic(const Array& x, double a) {
  auto inner = ((a + 2) * x - (a + 3)) * x * x + 1, outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return where(x >= 2, 0, where(x >= 1, outer, inner));
}
Array lanczos(const Array& x, double radius) {
  auto middle = x <= 1e-3;
  auto v = where(middle, 1, x);
  auto y = radius * sin(kPi * v) * sin(kPi / radius * v) / (kPi * kPi * square(v));
  return where(x > radius, 0, where(middle, 1, y));
}
/// The weight at a distance x.
Array kernel(ResizeMethod method, const Array& x) {
  switch (method) {
    case ResizeMethod::cubic: return cubic(x, -0.5);
    case ResizeMethod::cubic_pytorch: return cubic(x, -0.75);
    case ResizeMethod::lanczos3: return lanczos(x, 3);
    case ResizeMethod::lanczos5: return lanczos(x, 5);
    default: return maximum(1 - x, 0);
  }
}
/// Rows of weights of pixels outside are added to those of the first and the last one: [around + m + around, n] to
/// [m, n].
Array edges_go_on(const Array& w, Index m, Index around) {
  auto size = w.shape(0);
  if (m == 1) return sum(w, 0, kKeep);
  return concatenate({sum(part(w, 0, 0, around + 1), 0, kKeep), part(w, 0, around + 1, around + m - 1),
                      sum(part(w, 0, around + m - 1, size), 0, kKeep)});
}
/// How much each of m pixels counts for each of n new ones: [m, n]; scale and translation are scalars.
Array weights(Index m, Index n, const Array& scale, const Array& translation, ResizeMethod method, bool antialias) {
  auto d = scale.dtype();
  auto back = 1 / scale, i = iota({n}, 0, d);
  auto place = (i + 0.5) * back - translation * back - 0.5;
  auto edges = method == ResizeMethod::cubic_pytorch;
  Index around = edges ? 2 : 0;
  auto pixel = expand_dims(iota({m + 2 * around}, 0, d) - around, 1);
  Array w;
  if (method == ResizeMethod::area) {
    auto low = (i - translation) * back;
    w = maximum(minimum(low + back, pixel + 1) - maximum(low, pixel), 0);
  } else {
    auto distance = abs(place - pixel);
    w = kernel(method, antialias ? distance / maximum(back, 1) : distance);
  }
  if (edges) w = edges_go_on(w, m, around);
  auto total = sum(w, 0, kKeep);
  w = where(abs(total) <= 1000 * 0x1p-23, 0, w / where(total == 0, 1, total));  // NaN of a scale stays
  return edges ? w : where(place < -0.5 || place > static_cast<double>(m) - 0.5, 0, w);
}
Array weighed(const Array& x, const Array& w, Index d) {
  return moveaxis(dot_general(x, w.astype(x.dtype()), {.contract_a = {d}, .contract_b = {0}}), -1, d);
}
ResizeMethod chosen(ResizeMethod method, const ResizeOptions& o) {
  return method == ResizeMethod::cubic_pytorch && o.antialias ? ResizeMethod::cubic : method;
}
void check_shape(std::string_view what, const Array& x, const Shape& shape) {
  check<ShapeError>(static_cast<Index>(shape.size()) == x.ndim(), what, ": the shape ", shape,
                    " has a size for each dimension, also for those that stay, and x is ", x.type());
  for (auto n : shape) check<ValueError>(n >= 0, what, ": sizes must not be negative, got ", shape);
}
/// Its middle lies in pixel floor((i + 1/2) m / n).
Array nearest(const Array& x, Index n, Index d) {
  auto i = 2 * iota({n}, 0, i64) + 1;
  return take(x, floor_divide(i * x.shape(d), 2 * n).astype(i32), d);
}
}  // namespace

Array resize(const Array& x, const Shape& shape, ResizeMethod method, const ResizeOptions& o) {
  check_shape("resize", x, shape);
  auto along_each = [&](Array y, auto one) {
    for (Index d = 0; d < y.ndim(); ++d) {
      auto m = y.shape(d), n = shape[at(d)];
      check<ShapeError>(m > 0 || n == 0, "resize: dimension ", d, " of x ", x.type(), " is empty and has no pixel for ",
                        shape);
      if (m != n) y = one(y, m, n, d);
    }
    return y;
  };
  if (method == ResizeMethod::nearest)
    return along_each(x, [](const Array& y, Index, Index n, Index d) { return nearest(y, n, d); });
  return in_f32(x, [&](const Array& v) {
    return along_each(v, [&](const Array& y, Index m, Index n, Index d) {
      auto scale = n == 0 ? 1 : static_cast<double>(n) / static_cast<double>(m);
      return weighed(y, weights(m, n, constant(scale, f64), constant(0, f64), chosen(method, o), o.antialias), d);
    });
  });
}
Array scale_and_translate(const Array& x, const Shape& shape, const Dims& spatial_dims, const Array& scale,
                          const Array& translation, ResizeMethod method, const ResizeOptions& o) {
  auto what = "scale_and_translate";
  check_shape(what, x, shape);
  check<ValueError>(method != ResizeMethod::nearest, what, ": nearest has no weights; use another method, or resize");
  Shape each{static_cast<Index>(spatial_dims.size())};
  check<ShapeError>(scale.shape() == each && translation.shape() == each, what, ": scale ", scale.type(),
                    " and translation ", translation.type(), " must be vectors with a number for each of dimensions ",
                    spatial_dims);
  Dims dims;
  for (auto d : spatial_dims) {
    dims.push_back(normalize_axis(what, d, x.ndim()));
    check<ValueError>(std::count(dims.begin(), dims.end(), dims.back()) == 1, what, ": dimension ", dims.back(),
                      " is given twice");
  }
  for (Index d = 0; d < x.ndim(); ++d)
    check<ShapeError>(contains(dims, d) || shape[at(d)] == x.shape(d), what, ": dimension ", d, " of x ", x.type(),
                      " is none of ", spatial_dims, " and cannot become ", shape);
  auto dtype = promote(promote(scale.dtype(), translation.dtype()), f32);
  return in_f32(x, [&](const Array& v) {
    auto y = v;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      auto of = [&](const Array& a) { return index_in_dim(a, 0, static_cast<Index>(k)).astype(dtype); };
      auto d = dims[k];
      y = weighed(y, weights(y.shape(d), shape[at(d)], of(scale), of(translation), chosen(method, o), o.antialias), d);
    }
    return y;
  });
}
}  // namespace bora::image
