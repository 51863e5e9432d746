// Orders by several keys, partial orders, searches in sorted vectors.
#include "bora/ops/complex.h"
#include "bora/ops/indexing.h"
#include "bora/ops/sets.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "ops/primitives/dtype_checks.h"
#include "ops/primitives/searchsorted.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;

Array lexsort(const Arrays& keys, std::int64_t axis) {
  check<ValueError>(!keys.empty(), "lexsort: there are no keys");
  axis = normalize_axis("lexsort", axis, keys[0].ndim());
  auto order = argsort(stop_gradient(keys[0]), axis);
  for (std::size_t k = 1; k < keys.size(); ++k) {
    check<ShapeError>(keys[k].shape() == keys[0].shape(), "lexsort: keys of shapes ", keys[0].shape(), " and ",
                      keys[k].shape(), " differ");
    auto sorted = take_along_axis(stop_gradient(keys[k]), order, axis);
    order = take_along_axis(order, argsort(sorted, axis), axis);
  }
  return order;
}
namespace {
void check_kth(std::string_view what, const Array& x, std::int64_t kth, std::int64_t axis) {
  auto n = x.shape(normalize_axis(what, axis, x.ndim()));
  check<IndexError>(kth >= -n && kth < n, what, ": kth = ", kth, " does not lie in [", -n, ", ", n, ")");
}
}  // namespace

Array partition(const Array& x, std::int64_t kth, std::int64_t axis) {
  check_kth("partition", x, kth, axis);
  return sort(x, axis);
}
Array argpartition(const Array& x, std::int64_t kth, std::int64_t axis) {
  check_kth("argpartition", x, kth, axis);
  return argsort(x, axis);
}
Array sort_complex(const Array& x) {
  check<ShapeError>(x.ndim() > 0, "sort_complex: a scalar has no order");
  auto z = is_complex(x.dtype()) ? x : complex(inexact(x), 0);
  auto order = lexsort({imag(z), real(z)}, -1);
  return take_along_axis(z, order, -1);
}
Array searchsorted(const Array& a, const Array& v, Side side) {
  check_vector("searchsorted", "the sorted array", a);
  auto d = promote(a.dtype(), v.dtype());
  takes_ordered("searchsorted", d);
  return elements_before(stop_gradient(a.astype(d)), stop_gradient(v.astype(d)), side == Side::right);
}
}  // namespace bora
