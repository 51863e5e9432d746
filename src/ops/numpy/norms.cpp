// Norms of vectors and matrices.
#include <algorithm>
#include <cmath>
#include <sstream>
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/complex.h"
#include "ops/numpy/support.h"
#include "ops/linalg/algorithms/checks.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora::linalg {
using namespace ops;
namespace {
/// As a word of a message.
std::string word_of(const Order& order) {
  std::ostringstream s;
  order.word.empty() ? s << order.p : s << order.word;
  return s.str();
}
/// A power of 2 for each row: times it, the squares of its numbers, and their sum, stay within f64.
Array scale_of(const Array& x, const Dims& dims) {
  auto largest = amax(stop_gradient(abs(x)), dims, kKeep), one = ones_like(largest);
  return where(largest > 0x1p480, 0x1p-600 * one, where(largest < 0x1p-400, 0x1p600 * one, one));
}
/// The root of the sum of squares. Those of f32 and smaller formats are summed in f64, which holds them all.
Array root_of_squares(const Array& x, const Dims& dims, const ReduceOptions& o) {
  if (x.dtype() != f64) return root_of_squares(x.astype(f64), dims, o).astype(x.dtype());
  if (std::any_of(dims.begin(), dims.end(), [&](auto d) { return x.shape(d) == 0; }))
    return sqrt(sum(square(x), dims, o));
  auto scale = scale_of(x, dims);
  return sqrt(sum(square(x * scale), dims, o)) / (o.keepdims ? scale : squeeze(scale, dims));
}
/// Powers of quotients by the number that counts most.
Array root_of_powers(const Array& x, double p, const Dims& dims, const ReduceOptions& o) {
  auto size = abs(x);
  if (std::any_of(dims.begin(), dims.end(), [&](auto d) { return x.shape(d) == 0; }))
    return power(sum(power(size, p), dims, o), 1 / p);
  auto most = stop_gradient(p > 0 ? amax(size, dims, kKeep) : amin(size, dims, kKeep));
  auto unit = where(most > 0 && isfinite(most), most, 1);
  return power(sum(power(size / unit, p), dims, o), 1 / p) * (o.keepdims ? unit : squeeze(unit, dims));
}
Array vector_norm_of(const Array& x, double p, const Dims& dims, const ReduceOptions& o) {
  for (auto d : dims)
    check<ShapeError>(x.shape(d) > 0 || !std::isinf(p), "norm: dimension ", d, " of ", x.shape(),
                      " is empty, and the extreme of nothing does not exist");
  if (p == kInf) return amax(abs(x), dims, o);
  if (p == -kInf) return amin(abs(x), dims, o);
  if (p == 0) return sum((x != 0.0).astype(x.dtype()), dims, o);
  if (p == 1) return sum(abs(x), dims, o);
  return p == 2 ? root_of_squares(x, dims, o) : root_of_powers(x, p, dims, o);
}
/// The sizes of the elements, of which norms of vectors, and norms of matrices that are sums, are made.
Array sizes(const Array& x) { return is_complex(x.dtype()) ? abs(x) : inexact(x); }
}  // namespace

Array vector_norm(const Array& x, double p, const Dimensions& axes, bool keepdims) {
  return vector_norm_of(sizes(x), p, axes.resolve("vector_norm", x.ndim()), {.keepdims = keepdims});
}
Array matrix_norm(const Array& a, Order order, bool keepdims) {
  check<ShapeError>(a.ndim() >= 2, "matrix_norm: needs matrices [.., m, n], got ", a.type());
  auto x = sizes(a);
  auto result = [&](const Array& r) { return keepdims ? expand_dims(expand_dims(r, -1), -1) : r; };
  auto [p, word] = order;
  if (word == "fro") return result(root_of_squares(x, {x.ndim() - 2, x.ndim() - 1}, {}));
  if (word == "nuc") return result(sum(svdvals(inexact(a)), -1));
  auto size = word.empty() ? std::abs(p) : kNan;
  check<ValueError>(size == 1 || size == 2 || std::isinf(size), "matrix_norm: there is no order ", word_of(order),
                    "; there are fro, nuc, 1, -1, 2, -2, inf, -inf");
  check<ShapeError>(x.shape(-1) > 0 && x.shape(-2) > 0, "matrix_norm: ", a.type(),
                    " is empty, and the extreme of nothing does not exist");
  auto values = size == 2 ? svdvals(inexact(a)) : sum(abs(x), size == 1 ? -2 : -1);
  return result(p > 0 ? amax(values, -1) : amin(values, -1));
}
Array norm(const Array& x, std::optional<Order> order, const Dimensions& axes, bool keepdims) {
  auto dims = axes.resolve("norm", x.ndim());
  if (!order) return vector_norm_of(sizes(x), 2, dims, {.keepdims = keepdims});
  if (dims.size() == 1) {
    check<ValueError>(order->word.empty(), "norm: the order ", word_of(*order), " is one of matrices, and ",
                      dims.size(), " axis was given");
    return vector_norm_of(sizes(x), order->p, dims, {.keepdims = keepdims});
  }
  check<ShapeError>(dims.size() == 2, "norm: with an order one axis or two are needed, not ", dims.size());
  auto last = moveaxis(moveaxis(x, dims[1], -1), dims[0], -2);
  if (axes.in_order("norm", x.ndim()) != dims) last = swapaxes(last, -1, -2);  // columns before rows
  auto r = matrix_norm(last, *order);
  return keepdims ? expand_dims(expand_dims(r, dims[0]), dims[1]) : r;
}
Array cond(const Array& a, std::optional<Order> order) {
  check_numbers("cond", a.type());
  bool by_values = !order || (order->word.empty() && std::abs(order->p) == 2);
  if (!by_values) {
    check_square("cond", a.type());
    return matrix_norm(a, *order) * matrix_norm(inv(a), *order);
  }
  auto s = svdvals(a);
  check<ShapeError>(s.shape(-1) > 0, "cond: ", a.type(), " is empty");
  auto largest = amax(s, -1), smallest = amin(s, -1);
  return order && order->p < 0 ? smallest / largest : largest / smallest;
}
}  // namespace bora::linalg
