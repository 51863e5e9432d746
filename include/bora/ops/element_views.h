// element_views.h -- xtensor's views of single elements: by strides, by a mask, by positions. Results are values; what
// xtensor assigns through a view is a method that gives the changed array. Not in bora.h, where the name `filter` would
// meet those of programs.
#pragma once
#include "bora/ops/indexing.h"

namespace bora {
/// view_of(x, slices): xt::strided_view(x, {xt::ellipsis(), 3}).
Array strided_view(const Array& x, const DimSlices& slices);
/// The elements offset + sum over d of i_d strides_d of ravel(x), of this shape; strides count elements, and may be 0
/// or negative. Elements that are read twice get the sum of their gradients. Throws ShapeError for another number of
/// strides, IndexError where the view leaves x.
Array strided_view(const Array& x, const Shape& shape, const Dims& strides, std::int64_t offset = 0);
/// The elements at positions, one for each dimension of x, negative ones from the end: index_view(x, {{0, 1}, {2, -1}})
/// is a vector of two. Throws IndexError for a position outside, or with another number of dimensions.
Array index_view(const Array& x, const std::vector<Dims>& positions);
Array index_view(const Array& x, std::initializer_list<Dims> positions);
/// The same for positions as data, integers [n, ndim]: those outside are moved to the nearest element.
Array index_view(const Array& x, const Array& positions);
/// The elements where a boolean array of x's shape holds, a vector: extract with xtensor's name. Their number is read
/// from the values, which throws TraceError inside transforms; there give {.size = n}.
Array filter(const Array& x, const Array& condition, const SizeOptions& options = {});

/// x where a mask holds, and x with only those elements changed, by an At's set, add, multiply, min and max. Their v is
/// broadcast to x.
class [[nodiscard]] MaskedView : public At {
 public:
  MaskedView(const Array& x, const Array& mask);
  /// x where the mask holds, `other` elsewhere.
  Array filled(Scalar other) const;
};
/// mask: boolean, broadcast to x. Throws ShapeError, DtypeError.
MaskedView masked_view(const Array& x, const Array& mask);
/// masked_view with the name that xtensor has for assignments: filtration(x, x > 5).set(0).
MaskedView filtration(const Array& x, const Array& condition);
}  // namespace bora
