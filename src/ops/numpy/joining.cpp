// Arrays joined, split, lengthened and shortened.
#include <algorithm>
#include <numeric>
#include <set>
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"

namespace bora {
using namespace ops;
Array atleast_1d(const Array& x) { return x.ndim() >= 1 ? x : reshape(x, {1}); }
Array atleast_2d(const Array& x) { return x.ndim() >= 2 ? x : reshape(x, {1, x.size()}); }
Array atleast_3d(const Array& x) { return x.ndim() >= 3 ? x : expand_dims(atleast_2d(x), 2); }
namespace {
template <class F> Arrays each(std::string_view what, const Arrays& xs, F&& f) {
  check<ValueError>(!xs.empty(), what, ": there are no Arrays");
  Arrays r;
  auto d = xs[0].dtype();
  for (auto& x : xs) d = promote(d, x.dtype());
  for (auto& x : xs) r.push_back(f(x.astype(d)));
  return r;
}
}  // namespace

Array hstack(const Arrays& xs) {
  auto r = each("hstack", xs, atleast_1d);
  return concatenate(r, r[0].ndim() == 1 ? 0 : 1);
}
Array vstack(const Arrays& xs) { return concatenate(each("vstack", xs, atleast_2d), 0); }
Array dstack(const Arrays& xs) { return concatenate(each("dstack", xs, atleast_3d), 2); }
Array column_stack(const Arrays& xs) {
  return concatenate(
      each("column_stack", xs, [](const Array& x) { return x.ndim() < 2 ? reshape(x, {x.size(), 1}) : x; }), 1);
}
Array block(const std::vector<Arrays>& rows) {
  check<ValueError>(!rows.empty(), "block: there are no rows");
  std::int64_t n = 2;
  for (auto& row : rows)
    for (auto& x : row) n = std::max(n, x.ndim());
  Arrays joined_rows;
  for (auto& row : rows)
    joined_rows.push_back(concatenate(each("block", row,
                                           [n](Array x) {
                                             while (x.ndim() < n) x = expand_dims(x, 0);
                                             return x;
                                           }),
                                      n - 1));
  return concatenate(each("block", joined_rows, [](const Array& x) { return x; }), n - 2);
}
Arrays array_split(const Array& x, DimSize parts, std::int64_t axis) {
  axis = normalize_axis("array_split", axis, x.ndim());
  check<ValueError>(parts.n > 0, "array_split: parts = ", parts.n, " must be positive");
  auto size = x.shape(axis) / parts.n, larger = x.shape(axis) % parts.n;
  Arrays r;
  for (std::int64_t i = 0, from = 0; i < parts.n; ++i) {
    auto to = from + size + (i < larger ? 1 : 0);
    r.push_back(part(x, axis, from, to));
    from = to;
  }
  return r;
}
Arrays array_split(const Array& x, const Dims& positions, std::int64_t axis) {
  axis = normalize_axis("array_split", axis, x.ndim());
  auto n = x.shape(axis);
  Arrays r;
  std::int64_t from = 0;
  auto cut = [&](std::int64_t to) { r.push_back(part(x, axis, from, std::max(from, to))); };
  for (auto p : positions) {
    auto to = std::clamp<std::int64_t>(p < 0 ? p + n : p, 0, n);
    cut(to);
    from = to;
  }
  cut(n);
  return r;
}
namespace {
Arrays equal_parts(std::string_view what, const Array& x, DimSize parts, std::int64_t axis) {
  check<ShapeError>(axis < x.ndim(), what, ": ", x.type(), " has no dimension ", axis);
  check<ShapeError>(parts.n > 0 && x.shape(axis) % parts.n == 0, what, ": dimension ", axis, " of ", x.shape(),
                    " does not split into ", parts.n, " equal parts; array_split makes unequal ones");
  return array_split(x, parts, axis);
}
}  // namespace

Arrays hsplit(const Array& x, DimSize parts) { return equal_parts("hsplit", x, parts, x.ndim() == 1 ? 0 : 1); }
Arrays vsplit(const Array& x, DimSize parts) {
  check<ShapeError>(x.ndim() >= 2, "vsplit: needs at least two dimensions, got ", x.type());
  return equal_parts("vsplit", x, parts, 0);
}
Arrays dsplit(const Array& x, DimSize parts) { return equal_parts("dsplit", x, parts, 2); }
Arrays unstack(const Array& x, std::int64_t axis) {
  axis = normalize_axis("unstack", axis, x.ndim());
  Arrays r;
  for (std::int64_t i = 0; i < x.shape(axis); ++i) r.push_back(index_in_dim(x, axis, i));
  return r;
}
Array append(const Array& x, const Array& values, std::optional<std::int64_t> axis) {
  auto both = each("append", {x, values}, [&](const Array& v) { return axis ? v : ravel(v); });
  return concatenate(both, normalize_axis("append", axis.value_or(0), both[0].ndim()));
}
namespace {
/// Elements of values before those of x at list[i], values [.., list.size(), ..].
Array inserted(const Array& x, const Dims& list, const Array& values, std::int64_t axis) {
  auto n = x.shape(axis), m = static_cast<std::int64_t>(list.size());
  Dims order(list.size()), from;
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return list[at(a)] < list[at(b)]; });
  std::int64_t next = 0;
  for (auto k : order) {
    for (; next < list[at(k)]; ++next) from.push_back(next);
    from.push_back(n + k);
  }
  for (; next < n; ++next) from.push_back(next);
  auto s = x.shape();
  s[at(axis)] = m;
  return take(concatenate({x, broadcast_to(values, s)}, axis), asarray(from).astype(i32), axis);
}
}  // namespace
Array insert(const Array& x, const PositionList& positions, const Array& values, std::int64_t axis) {
  axis = normalize_axis("insert", axis, x.ndim());
  auto n = x.shape(axis);
  auto list = positions.list;
  for (auto& i : list) {
    check<IndexError>(i >= -n && i <= n, "insert: position ", i, " does not lie in [", -n, ", ", n, "] of dimension ",
                      axis, " of ", x.shape());
    if (i < 0) i += n;
  }
  check<ShapeError>(values.ndim() <= x.ndim(), "insert: values ", values.type(), " have more dimensions than x, ",
                    x.type());
  auto v = values;
  while (v.ndim() < x.ndim()) v = expand_dims(v, 0);
  if (list.size() != 1) {
    auto m = static_cast<std::int64_t>(list.size());
    check<ShapeError>(v.shape(axis) == 1 || v.shape(axis) == m, "insert: values ", values.type(), " have ",
                      v.shape(axis), " elements along axis ", axis, ", and there are ", m, " positions");
    return list.empty() ? x : inserted(x, list, v.astype(x.dtype()), axis);
  }
  auto i = list[0];
  if (positions.one) v = moveaxis(v, 0, axis);
  auto s = x.shape();
  s[at(axis)] = v.shape(axis);
  return concatenate({part(x, axis, 0, i), broadcast_to(v.astype(x.dtype()), s), part(x, axis, i, n)}, axis);
}
Array delete_(const Array& x, const PositionList& positions, std::int64_t axis) {
  axis = normalize_axis("delete_", axis, x.ndim());
  auto n = x.shape(axis);
  std::set<std::int64_t> gone;
  for (auto p : positions.list) {
    check<IndexError>(p >= -n && p < n, "delete_: position ", p, " does not lie in [", -n, ", ", n, ") of dimension ",
                      axis, " of ", x.shape());
    gone.insert(p < 0 ? p + n : p);
  }
  if (gone.empty()) return x;
  Arrays kept;
  std::int64_t from = 0;
  for (auto p : gone) {
    kept.push_back(part(x, axis, from, p));
    from = p + 1;
  }
  kept.push_back(part(x, axis, from, n));
  return concatenate(kept, axis);
}
Array resize(const Array& x, const Shape& shape) {
  auto n = volume(shape);
  check<ShapeError>(x.size() > 0 || n == 0, "resize: ", x.shape(), " has no elements to fill ", shape);
  if (n == 0) return full_of({shape, x.dtype()}, 0);
  auto copies = (n + x.size() - 1) / x.size();
  auto all = copies == 1 ? ravel(x) : tile(ravel(x), {copies});
  return reshape(part(all, 0, 0, n), shape);
}
}  // namespace bora
