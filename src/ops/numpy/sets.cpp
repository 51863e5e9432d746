// Sets of values. Every function is one pass: the elements in question are sorted to the front, and of equal neighbours
// the first is kept.
#include "bora/ops/sets.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/indexing.h"
#include "bora/ops/reductions.h"

namespace bora {
using namespace ops;
namespace {
constexpr std::string_view kAdvice = "give {.size = n}";
/// The wanted size, or the number of elements of x that are not 0.
std::int64_t result_size(std::string_view what, const Array& x, std::optional<std::int64_t> size) {
  if (size) {
    check<ValueError>(*size >= 0, what, ": size = ", *size, " must not be negative");
    return *size;
  }
  auto v = known<bool>(x, what, kAdvice);
  return std::count(v.begin(), v.end(), true);
}
/// The i32 positions of the first n elements of a vector of booleans that hold; `fill` behind them.
Array positions_of(const Array& mask, std::int64_t n, std::int64_t fill) {
  auto place = cumsum(mask.astype(i32)) - 1;
  // No place is written twice. A sum, because ranks make one each of their part of the mask.
  return scatter_add(full_of({{n}, i32}, fill), where(mask, place, n), iota(mask.shape(), 0) - Scalar(fill));
}
Array not_equal_values(const Array& a, const Array& b, bool equal_nan = true) {
  auto differ = a.dtype() == boolean ? a ^ b : a != b;
  return equal_nan && is_inexact(a.dtype()) ? differ && !(isnan(a) && isnan(b)) : differ;
}
struct Distinct {
  Array values;  // [n]
  Array order;   // [N] positions of the elements in ascending order, those of the set first
  Array first;   // [N] in this order: is an element the first of its value?
  Array chosen;  // [n] places in this order, 0 where filled up
  Array filled;  // [n] is this result filled up?
};
/// The distinct elements of the vector x for which mask holds, ascending.
Distinct distinct(std::string_view what, const Array& x, const Array& mask, const SizeOptions& o,
                  bool equal_nan = true) {
  Distinct r;
  r.order = argsort(stop_gradient(x));
  if (mask.defined()) r.order = take(r.order, argsort((!take(mask, r.order)).astype(i32)));
  auto N = x.size();
  auto sorted = take(x, r.order);
  r.first = full_of({{N}, boolean}, true);
  if (N > 1) {
    auto key = stop_gradient(sorted);
    auto differ = not_equal_values(part(key, 0, 1, N), part(key, 0, 0, N - 1), equal_nan);
    r.first = concatenate({part(r.first, 0, 0, 1), differ});
  }
  if (mask.defined()) r.first = r.first && take(mask, r.order);
  auto n = result_size(what, r.first, o.size);
  r.chosen = positions_of(r.first, n, 0);
  r.filled = iota({n}, 0) >= sum(r.first.astype(i32));
  if (N == 0) {
    r.values = full_of({{n}, x.dtype()}, o.fill.value_or(0));
    return r;
  }
  auto none_at_all = !any(r.first);
  r.values = take(sorted, r.chosen);
  if (o.fill) r.values = where(r.filled, *o.fill, r.values);
  else if (mask.defined()) r.values = where(none_at_all, full_of({{n}, x.dtype()}, 0), r.values);
  return r;
}
Array both(const Array& a, const Array& b) {
  auto d = promote(a.dtype(), b.dtype());
  return concatenate({ravel(a.astype(d)), ravel(b.astype(d))});
}
/// Slices of one shape are ordered by the first number in which they differ: the distinct ones of x, ascending.
Distinct distinct_slices(std::string_view what, const Array& x, std::int64_t axis, const UniqueOptions& o) {
  Distinct r;
  auto N = x.shape(axis);
  auto front = moveaxis(x, axis, 0);
  auto m = product(front.shape(), 1, front.ndim());
  auto rows = reshape(front, {N, m});
  Arrays keys;
  for (auto k = m; k-- > 0;) keys.push_back(index_in_dim(rows, 1, k));
  r.order = N > 0 && m > 0 ? lexsort(keys) : iota({N}, 0);
  auto sorted = take(rows, r.order);
  r.first = iota({N}, 0) == 0;
  if (N > 1) {
    auto key = stop_gradient(sorted);
    auto differ = not_equal_values(part(key, 0, 1, N), part(key, 0, 0, N - 1), o.equal_nan);
    r.first = concatenate({part(r.first, 0, 0, 1), any(differ, 1)});
  }
  auto n = result_size(what, r.first, o.size);
  r.chosen = positions_of(r.first, n, 0);
  r.filled = iota({n}, 0) >= sum(r.first.astype(i32));
  auto values = N == 0 ? full_of({{n, m}, x.dtype()}, o.fill.value_or(0)) : take(sorted, r.chosen);
  if (o.fill && N > 0) values = where(expand_dims(r.filled, 1), *o.fill, values);
  auto shape = front.shape();
  shape[0] = n;
  r.values = moveaxis(reshape(values, shape), 0, axis);
  return r;
}
Distinct distinct_parts(std::string_view what, const Array& x, const UniqueOptions& o) {
  if (!o.axis) return distinct(what, ravel(x), {}, {.size = o.size, .fill = o.fill}, o.equal_nan);
  return distinct_slices(what, x, normalize_axis(what, *o.axis, x.ndim()), o);
}
}  // namespace

Array unique(const Array& x, const UniqueOptions& o) { return distinct_parts("unique", x, o).values; }
Unique unique_all(const Array& x, const UniqueOptions& o) {
  auto d = distinct_parts("unique_all", x, o);
  auto N = d.order.size(), n = d.chosen.size();
  auto places = o.axis ? Shape{N} : x.shape();
  if (N == 0) return {d.values, d.chosen, full_of({places, i32}, 0), full_of({{n}, i32}, 0)};
  auto rank = cumsum(d.first.astype(i32)) - 1;  // of each element in order
  auto counts = scatter_add(full_of({{n}, i32}, 0), rank, full_of({{N}, i32}, 1));
  auto inverse = scatter_set(full_of({{N}, i32}, 0), d.order, rank);
  return {d.values, take(d.order, d.chosen), reshape(inverse, places), counts};
}
Array union1d(const Array& a, const Array& b, const SizeOptions& o) {
  return distinct("union1d", both(a, b), {}, o).values;
}
Array isin(const Array& x, const Array& among) {
  auto d = promote(x.dtype(), among.dtype());
  if (among.size() == 0) return full_of({x.shape(), boolean}, false);
  auto y = stop_gradient(x.astype(d)), set = sort(ravel(stop_gradient(among.astype(d))));
  auto found = take(set, searchsorted(set, y), 0, IndexMode::clamp);
  return d == boolean ? !(found ^ y) : found == y;
}
Array intersect1d(const Array& a, const Array& b, const SizeOptions& o) {
  auto d = promote(a.dtype(), b.dtype());
  auto x = ravel(a.astype(d));
  return distinct("intersect1d", x, isin(x, b), o).values;
}
Array setdiff1d(const Array& a, const Array& b, const SizeOptions& o) {
  auto x = ravel(a);
  return distinct("setdiff1d", x, !isin(x, b), o).values;
}
Array setxor1d(const Array& a, const Array& b, const SizeOptions& o) {
  auto x = ravel(a), y = ravel(b);
  return distinct("setxor1d", both(x, y), concatenate({!isin(x, y), !isin(y, x)}), o).values;
}
namespace {
Array holds_for(const Array& x) { return ravel(x).astype(boolean); }
std::int64_t position_fill(std::string_view what, const SizeOptions& o) {
  check<ValueError>(!o.fill || o.fill->integral(), what, ": positions are filled up with an integer, not ",
                    o.fill ? o.fill->value : 0);
  return o.fill ? o.fill->integer : 0;
}
Array places(std::string_view what, const Array& x, const SizeOptions& o, std::int64_t fill) {
  return positions_of(holds_for(x), result_size(what, x, o.size), fill);
}
Arrays nonzero_as(std::string_view what, const Array& x, const SizeOptions& o) {
  auto fill = position_fill(what, o);
  auto i = places(what, x, o, -1);
  Arrays r;
  auto inner = std::max<std::int64_t>(x.size(), 1);
  for (auto n : x.shape()) {
    inner /= std::max<std::int64_t>(n, 1);
    r.push_back(where(i < 0, constant(fill, i32), floor_divide(i, inner) % std::max<std::int64_t>(n, 1)));
  }
  return r;
}
/// The elements of x along axis where the condition, with as many elements or fewer, holds.
Array chosen_of(std::string_view what, const Array& condition, const Array& x, std::int64_t axis,
                const SizeOptions& o) {
  auto n = result_size(what, condition, o.size);
  auto i = positions_of(holds_for(condition), n, -1);
  auto shape = x.shape();
  shape[at(axis)] = n;
  auto filled = broadcast_in_dim(i < 0, shape, {axis});
  auto value = o.fill.value_or(x.dtype() == boolean ? Scalar(false) : Scalar(0));
  if (x.shape(axis) == 0) return full_of({shape, x.dtype()}, value);
  return where(filled, value, take(x, maximum(i, 0), axis));
}
}  // namespace

Array flatnonzero(const Array& x, const SizeOptions& o) {
  return places("flatnonzero", x, o, position_fill("flatnonzero", o));
}
Arrays nonzero(const Array& x, const SizeOptions& o) {
  check<ShapeError>(x.ndim() > 0, "nonzero: a scalar has no positions; use reshape(x, {1})");
  return nonzero_as("nonzero", x, o);
}
Array argwhere(const Array& x, const SizeOptions& o) {
  check<ShapeError>(x.ndim() > 0, "argwhere: a scalar has no positions; use reshape(x, {1})");
  return stack(nonzero_as("argwhere", x, o), 1);
}
Array compress(const Array& condition, const Array& x, std::optional<std::int64_t> axis, const SizeOptions& o) {
  check_vector("compress", "the condition", condition);
  auto y = axis ? x : ravel(x);
  auto a = normalize_axis("compress", axis.value_or(0), y.ndim());
  check<ShapeError>(condition.size() <= y.shape(a), "compress: a condition of ", condition.size(),
                    " elements is longer than dimension ", a, " of ", y.shape());
  return chosen_of("compress", condition, y, a, o);
}
Array extract(const Array& condition, const Array& x, const SizeOptions& o) {
  check<ShapeError>(condition.size() == x.size(), "extract: a condition of shape ", condition.shape(),
                    " and x of shape ", x.shape(), " must have equally many elements");
  return chosen_of("extract", condition, ravel(x), 0, o);
}
}  // namespace bora
