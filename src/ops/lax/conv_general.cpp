// Convolutions with named dimensions.
#include "bora/ops/contractions.h"
#include "bora/ops/lax.h"
#include "ops/lax/convolved.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"

namespace bora::lax {
using namespace ops;
namespace {
/// The places of N and C (or O and I), and of the spatial dimensions.
struct Places {
  std::int64_t first, second;  // batch and channels; outputs and inputs
  Dims spatial;
};
Places places(std::string_view what, const std::string& given, std::int64_t ndim, const char* two,
              const std::string& spatial) {
  if (given.empty()) return {0, 1, range_of(ndim - 2, 2)};
  check<ValueError>(static_cast<std::int64_t>(given.size()) == ndim, what, ": \"", given, "\" names ", given.size(),
                    " dimensions of an array with ", ndim);
  Places p{-1, -1, {}};
  auto where_is = [&](char c) {
    auto i = given.find(c);
    check<ValueError>(i != std::string::npos && given.find(c, i + 1) == std::string::npos, what, ": \"", given,
                      "\" must name dimension ", std::string(1, c), " once");
    return static_cast<std::int64_t>(i);
  };
  p.first = where_is(two[0]);
  p.second = where_is(two[1]);
  for (auto c : spatial) p.spatial.push_back(where_is(c));
  return p;
}
struct Layout {
  Places x, w, out;
};
/// Spatial dimensions are in w's order.
Layout layout(std::string_view what, const ConvDims& d, std::int64_t ndim) {
  check<ShapeError>(ndim >= 2, what, ": needs batch, channels and spatial dimensions, got ", ndim, " dimensions");
  check<ValueError>(d.x.empty() == d.w.empty() && d.x.empty() == d.out.empty(), what,
                    ": name the dimensions of x, w and out, or none");
  std::string spatial;
  for (auto c : d.w)
    if (c != 'O' && c != 'I') spatial += c;
  return {places(what, d.x, ndim, "NC", spatial), places(what, d.w, ndim, "OI", spatial),
          places(what, d.out, ndim, "NC", spatial)};
}
Dims batch_first(const Places& p) { return joined(prepend(p.first, p.spatial), {p.second}); }
ConvOptions options_of(const Dims& strides, const GeneralConvOptions& o) {
  return {.stride = strides,
          .padding = o.padding,
          .dilation = o.rhs_dilation,
          .input_dilation = o.lhs_dilation,
          .groups = o.feature_group_count};
}
ConvWords words_of(std::string_view what, const Array& x, const Type& w) {
  return {what, x.type(), w, "window_strides", "rhs_dilation", "lhs_dilation", "feature_group_count"};
}
/// The windows' elements, [batch, spatial.., elements], of x that is [batch, spatial.., channels].
Array patches_of(std::string_view what, const Array& x, const Array& in, const Dims& filter_shape, const Dims& strides,
                 const GeneralConvOptions& o) {
  check<ValueError>(static_cast<std::int64_t>(filter_shape.size()) == x.ndim() - 2, what, ": filter_shape has ",
                    filter_shape.size(), " sizes for the ", x.ndim() - 2, " spatial dimensions of x ", x.type());
  check<ValueError>(o.feature_group_count == 1 && o.batch_group_count == 1, what, ": takes no groups");
  for (auto n : filter_shape)
    check<ValueError>(n > 0, what, ": filter_shape has ", n, "; its sizes must be positive");
  auto channels = in.shape(-1), elements = product(filter_shape, 0, x.ndim() - 2);
  auto one_each = reshape(eye(elements, in.dtype()), Shape(joined(filter_shape, {1, elements})));
  auto how = options_of(strides, o);
  how.groups = channels;
  auto w = tile(one_each, joined(Dims(filter_shape.size() + 1, 1), {channels}));
  return convolved(words_of(what, x, w.type()), in, w, how);
}
}  // namespace

Array conv_general_dilated(const Array& x, const Array& w, const Dims& strides, const GeneralConvOptions& o) {
  auto what = "conv_general_dilated";
  check<ShapeError>(x.ndim() == w.ndim(), what, ": x ", x.type(), " and w ", w.type(),
                    " must have equally many dimensions");
  auto l = layout(what, o.dimension_numbers, x.ndim());
  auto in = transpose(x, batch_first(l.x));
  auto weights = transpose(w, joined(l.w.spatial, {l.w.second, l.w.first}));
  auto how = options_of(strides, o);
  auto words = words_of(what, x, w.type());
  Array y;
  if (o.batch_group_count == 1) y = convolved(words, in, weights, how);
  else {
    auto g = o.batch_group_count;
    check<ValueError>(g > 0 && o.feature_group_count == 1, what, ": batch_group_count = ", g,
                      " and feature_group_count = ", o.feature_group_count,
                      "; the first must be positive, and one of them 1");
    check<ShapeError>(in.shape(0) % g == 0 && weights.shape(-1) % g == 0, what, ": the batch ", in.shape(0), " of x ",
                      x.type(), " and the ", weights.shape(-1), " output channels of w ", w.type(),
                      " must be multiples of batch_group_count = ", g);
    auto rows = split(in, g, 0), columns = split(weights, g, -1);
    Arrays parts;
    for (std::int64_t k = 0; k < g; ++k) parts.push_back(convolved(words, rows[at(k)], columns[at(k)], how));
    y = concatenate(parts, -1);
  }
  return transpose(y, inverse(batch_first(l.out)));
}
Array conv_general_dilated_patches(const Array& x, const Dims& filter_shape, const Dims& strides,
                                   const GeneralConvOptions& o) {
  auto what = "conv_general_dilated_patches";
  auto l = layout(what, o.dimension_numbers, x.ndim());
  auto in = transpose(x, batch_first(l.x));
  return transpose(patches_of(what, x, in, filter_shape, strides, o), inverse(batch_first(l.out)));
}
Array conv_general_dilated_local(const Array& x, const Array& w, const Dims& strides, const Dims& filter_shape,
                                 const GeneralConvOptions& o) {
  auto what = "conv_general_dilated_local";
  check<ShapeError>(x.ndim() == w.ndim(), what, ": x ", x.type(), " and w ", w.type(),
                    " must have equally many dimensions");
  auto l = layout(what, o.dimension_numbers, x.ndim());
  auto patches = patches_of(what, x, transpose(x, batch_first(l.x)), filter_shape, strides, o);
  auto weights = transpose(w, joined(l.w.spatial, {l.w.second, l.w.first}));  // [spatial.., elements, out]
  auto n = x.ndim() - 2;
  for (std::int64_t d = 0; d <= n; ++d)
    check<ShapeError>(patches.shape(d + 1) == weights.shape(d), what, ": w ", w.type(), " has ", weights.shape(d),
                      d == n ? " numbers for each window, and those of x " : " places along a dimension in which x ",
                      x.type(), " has ", patches.shape(d + 1), d == n ? "" : " windows");
  auto y = dot_general(patches, weights,
                       {.batch_a = range_of(n, 1), .batch_b = range_of(n), .contract_a = {n + 1}, .contract_b = {n}});
  return transpose(moveaxis(y, n, 0), inverse(batch_first(l.out)));  // y is [spatial.., batch, out]
}
Array batch_matmul(const Array& a, const Array& b) {
  auto n = a.ndim();
  check<ShapeError>(n >= 2 && b.ndim() == n, "batch_matmul: ", a.type(), " and ", b.type(),
                    " must have equally many dimensions, two or more");
  auto batch = range_of(n - 2);
  return dot_general(a, b, {.batch_a = batch, .batch_b = batch, .contract_a = {n - 1}, .contract_b = {n - 2}});
}
}  // namespace bora::lax
