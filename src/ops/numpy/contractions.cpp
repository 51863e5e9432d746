// Products of vectors and matrices, made of dot_general.
#include "bora/ops/arguments.h"
#include "bora/ops/calculus.h"
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "ops/api/product.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
Array matmul(const Array& a, const Array& b) {
  auto na = a.ndim(), nb = b.ndim();
  check<ShapeError>(na > 0 && nb > 0, "matmul: a scalar cannot be multiplied as a matrix: ", a.shape(), " @ ",
                    b.shape(), "; use *");
  auto inner_a = na - 1, inner_b = std::max<std::int64_t>(0, nb - 2);
  if (na <= 2 || nb <= 2) {
    // One side has no batch: the other's batch dimensions are free ones. The sizes are checked in dot_general, whose
    // errors name the parameters.
    auto y = dot_general(a, b, {{}, {}, {inner_a}, {inner_b}});
    return nb > 2 ? moveaxis(y, 0, na == 1 ? 0 : -2) : y;
  }
  check<ShapeError>(a.shape(inner_a) == b.shape(inner_b), "matmul: inner sizes differ: ", a.shape(), " @ ", b.shape(),
                    [&] { return other_order(a.shape(), b.shape()); });
  auto batch_a = Shape(Dims(a.type().shape.begin(), a.type().shape.end() - 2)),
       batch_b = Shape(Dims(b.type().shape.begin(), b.type().shape.end() - 2));
  Array x = a, y = b;
  if (batch_a != batch_b) {
    auto wide = broadcast_shapes("matmul", batch_a, batch_b);
    auto stretched = [&](const Array& m) {
      auto s = wide;
      s.push_back(m.shape(-2));
      s.push_back(m.shape(-1));
      return broadcast_to(m, s);
    };
    x = stretched(a);
    y = stretched(b);
  }
  auto batch = range_of(x.ndim() - 2);
  return dot_general(x, y, {batch, batch, {x.ndim() - 1}, {x.ndim() - 2}});
}
Array dot(const Array& a, const Array& b) {
  if (a.ndim() == 0 || b.ndim() == 0) return a * b;
  auto inner_b = std::max<std::int64_t>(0, b.ndim() - 2);
  check<ShapeError>(a.shape(-1) == b.shape(inner_b), "dot: inner sizes differ: ", a.shape(), " @ ", b.shape(),
                    [&] { return other_order(a.shape(), b.shape()); });
  return dot_general(a, b, {{}, {}, {a.ndim() - 1}, {inner_b}});
}
Array outer(const Array& a, const Array& b) { return dot_general(ravel(a), ravel(b), {}); }
Array tensordot(const Array& a, const Array& b, std::int64_t axes) {
  check<ValueError>(axes >= 0 && axes <= a.ndim() && axes <= b.ndim(), "tensordot: cannot contract ", axes,
                    " dimensions of ", a.shape(), " and ", b.shape());
  auto inner_a = range_of(axes, a.ndim() - axes), inner_b = range_of(axes);
  for (std::int64_t i = 0; i < axes; ++i)
    check<ShapeError>(a.shape(inner_a[at(i)]) == b.shape(i), "tensordot: the last ", axes, " sizes of ", a.shape(),
                      " differ from the first ", axes, " of ", b.shape());
  return dot_general(a, b, {{}, {}, inner_a, inner_b});
}
Array tensordot(const Array& a, const Array& b, const TensordotAxes& axes) {
  check_lengths("tensordot", "the axes of a", axes.a, "those of b", axes.b);
  auto of_a = distinct_axes("tensordot", axes.a, a.ndim()), of_b = distinct_axes("tensordot", axes.b, b.ndim());
  for (std::size_t i = 0; i < of_a.size(); ++i)
    check<ShapeError>(a.shape(of_a[i]) == b.shape(of_b[i]), "tensordot: axis ", of_a[i], " of ", a.shape(), " has ",
                      a.shape(of_a[i]), " elements and axis ", of_b[i], " of ", b.shape(), " has ", b.shape(of_b[i]));
  return dot_general(a, b, {{}, {}, of_a, of_b});
}
Array cross(const Array& a, const Array& b, const CrossAxes& axes) {
  auto i = normalize_axis("cross", axes.a, a.ndim()), j = normalize_axis("cross", axes.b, b.ndim());
  auto m = a.shape(i), n = b.shape(j);
  auto fits = [](std::int64_t size) { return size == 2 || size == 3; };
  check<ShapeError>(fits(m) && fits(n), "cross: needs vectors of two or three numbers, got ", m, " along axis ", i,
                    " of ", a.shape(), " and ", n, " along axis ", j, " of ", b.shape());
  auto x = moveaxis(a, i, -1), y = moveaxis(b, j, -1);
  if (m == 2 && n == 2) {
    auto number = [](const Array& v, std::int64_t k) { return index_in_dim(v, v.ndim() - 1, k); };
    return number(x, 0) * number(y, 1) - number(x, 1) * number(y, 0);
  }
  auto in_space = [](const Array& v) {
    Dims none_before(at(v.ndim()), 0), behind = none_before;
    behind.back() = 3 - v.shape(-1);
    return behind.back() == 0 ? v : pad(v, none_before, behind);
  };
  auto [p, q] = promoted_pair("cross", in_space(x), in_space(y));
  auto next = [](const Array& v, std::int64_t by) { return roll(v, -by, -1); };
  auto r = next(p, 1) * next(q, 2) - next(p, 2) * next(q, 1);
  return moveaxis(r, -1, normalize_axis("cross", axes.result, r.ndim()));
}
Array cross(const Array& a, const Array& b, std::int64_t axis) { return cross(a, b, CrossAxes{axis, axis, axis}); }
Array kron(const Array& a, const Array& b) {
  auto n = std::max(a.ndim(), b.ndim());
  Shape sa, sb, result;
  auto size = [n](const Array& x, std::int64_t d) { return d < n - x.ndim() ? 1 : x.shape(d - (n - x.ndim())); };
  for (std::int64_t d = 0; d < n; ++d) {
    sa.push_back(size(a, d)), sa.push_back(1);
    sb.push_back(1), sb.push_back(size(b, d));
    result.push_back(size(a, d) * size(b, d));
  }
  return reshape(reshape(a, sa) * reshape(b, sb), result);
}
Array inner(const Array& a, const Array& b) {
  if (a.ndim() == 0 || b.ndim() == 0) return a * b;
  check<ShapeError>(a.shape(-1) == b.shape(-1), "inner: the last dimensions of ", a.shape(), " and ", b.shape(),
                    " differ");
  return dot_general(a, b, {.contract_a = {a.ndim() - 1}, .contract_b = {b.ndim() - 1}});
}
Array vdot(const Array& a, const Array& b) {
  check<ShapeError>(a.size() == b.size(), "vdot: ", a.shape(), " and ", b.shape(),
                    " have different numbers of elements");
  return inner(conj(ravel(a)), ravel(b));
}
Array vecdot(const Array& a, const Array& b, std::int64_t axis) {
  auto i = normalize_axis("vecdot", axis, a.ndim()), j = normalize_axis("vecdot", axis, b.ndim());
  check<ShapeError>(a.shape(i) == b.shape(j), "vecdot: ", a.shape(), " and ", b.shape(), " differ along axis ", axis);
  return squeeze(matmul(expand_dims(moveaxis(conj(a), i, -1), -2), expand_dims(moveaxis(b, j, -1), -1)), {-2, -1});
}
Array matvec(const Array& a, const Array& x) {
  check<ShapeError>(a.ndim() >= 2 && x.ndim() >= 1, "matvec: needs a matrix and a vector, got ", a.type(), " and ",
                    x.type());
  return squeeze(matmul(a, expand_dims(x, -1)), -1);
}
Array vecmat(const Array& x, const Array& a) {
  check<ShapeError>(a.ndim() >= 2 && x.ndim() >= 1, "vecmat: needs a vector and a matrix, got ", x.type(), " and ",
                    a.type());
  return squeeze(matmul(expand_dims(conj(x), -2), a), -2);
}
namespace {
void check_signals(std::string_view what, const Array& a, const Array& v) {
  check_vector(what, "a", a);
  check_vector(what, "v", v);
  check<ShapeError>(a.size() > 0 && v.size() > 0, what, ": vectors must not be empty, got ", a.shape(), " and ",
                    v.shape());
}
/// sum over n of a[n + k] v[n] with v no longer than a, for k from -before to size(a) - size(v) + behind.
Array correlated(const Array& a, const Array& v, std::int64_t before, std::int64_t behind) {
  auto m = v.size();
  auto padded = pad(a, {before}, {behind});
  auto n = padded.size() - m + 1;
  return matmul(take(padded, iota({n, m}, 0) + iota({n, m}, 1)), v);
}
}  // namespace

Array convolve(const Array& a, const Array& v, Overlap mode) {
  check_signals("convolve", a, v);
  if (a.size() < v.size()) return convolve(v, a, mode);
  auto m = v.size() - 1;
  switch (mode) {
    case Overlap::full: return correlated(a, flip(v), m, m);
    case Overlap::same: return correlated(a, flip(v), m - m / 2, m / 2);
    case Overlap::valid: break;
  }
  return correlated(a, flip(v), 0, 0);
}
Array correlate(const Array& a, const Array& v, Overlap mode) {
  check_signals("correlate", a, v);
  if (a.size() < v.size()) return flip(conj(correlate(v, a, mode)));
  return convolve(a, conj(flip(v)), mode);
}
}  // namespace bora
