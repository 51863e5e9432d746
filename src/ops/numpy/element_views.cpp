// Views by strides, at listed elements, and under masks.
#include "bora/ops/element_views.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include <limits>
#include "bora/ops/creation.h"

namespace bora {
namespace {
Array elements_at(std::string_view what, const Array& x, const Array& positions) {
  check<IndexError>(x.size() <= std::numeric_limits<std::int32_t>::max(), what, ": an array of ", x.size(),
                    " elements, more than 32-bit positions reach");
  return take(ravel(x), positions, 0, IndexMode::clamp);
}
}  // namespace

Array strided_view(const Array& x, const DimSlices& slices) { return view_of(x, slices); }
Array strided_view(const Array& x, const Shape& shape, const Dims& strides, std::int64_t offset) {
  check<ShapeError>(shape.size() == strides.size(), "strided_view: a shape of ", shape.size(), " dimensions and ",
                    strides.size(), " strides");
  auto least = offset, last = offset;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    check<ShapeError>(shape[d] >= 0, "strided_view: the shape ", shape, " has a negative size");
    (strides[d] < 0 ? least : last) += (shape[d] - 1) * strides[d];
  }
  if (volume(shape) == 0) return zeros(shape, x.dtype());
  check<IndexError>(least >= 0 && last < x.size(), "strided_view: the shape ", shape, " with strides ", strides,
                    " from element ", offset, " reads elements ", least, " to ", last, " of an array that has ",
                    x.size());
  auto positions = full(shape, offset, i32);
  for (std::size_t d = 0; d < shape.size(); ++d)
    positions = positions + iota(shape, static_cast<std::int64_t>(d)) * strides[d];
  return elements_at("strided_view", x, positions);
}
Array index_view(const Array& x, const std::vector<Dims>& positions) {
  std::vector<std::int32_t> linear;
  for (auto& p : positions) {
    check<IndexError>(static_cast<std::int64_t>(p.size()) == x.ndim(), "index_view: a position of ", p.size(),
                      " dimensions in an array of shape ", x.shape());
    std::int64_t at = 0;
    for (std::size_t d = 0; d < p.size(); ++d) {
      auto n = x.shape(static_cast<std::int64_t>(d)), i = p[d] < 0 ? p[d] + n : p[d];
      check<IndexError>(i >= 0 && i < n, "index_view: position ", p[d], " is outside of dimension ", d,
                        " of an array of shape ", x.shape());
      at = at * n + i;
    }
    linear.push_back(static_cast<std::int32_t>(at));
  }
  return elements_at("index_view", x, asarray(linear));
}
Array index_view(const Array& x, std::initializer_list<Dims> positions) {
  return index_view(x, std::vector<Dims>(positions));
}
Array index_view(const Array& x, const Array& positions) {
  check<ShapeError>(positions.ndim() == 2 && positions.shape(1) == x.ndim(), "index_view: positions of shape ",
                    positions.shape(), " in an array of shape ", x.shape(), "; they are [n, ", x.ndim(), "]");
  if (x.ndim() == 0) return broadcast_to(x, {positions.shape(0)});
  return elements_at("index_view", x, ravel_multi_index(unstack(positions, 1), x.shape()));
}
Array filter(const Array& x, const Array& condition, const SizeOptions& options) {
  check<ShapeError>(x.shape() == condition.shape(), "filter: a condition of shape ", condition.shape(),
                    " for an array of shape ", x.shape());
  return extract(condition, x, options);
}

MaskedView::MaskedView(const Array& x, const Array& mask) : At(x, DimSlices()) {
  check<DtypeError>(mask.dtype() == boolean, "masked_view: the mask is boolean, not ", mask.dtype());
  mask_ = broadcast_to(mask, x.shape());
}
Array MaskedView::filled(Scalar other) const { return where(mask_, x_, constant(other, x_.dtype())); }
MaskedView masked_view(const Array& x, const Array& mask) { return {x, mask}; }
MaskedView filtration(const Array& x, const Array& condition) { return {x, condition}; }
}  // namespace bora
