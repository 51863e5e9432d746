// Shapes, orders of dimensions, repeats.
#include "bora/ops/complex.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora {
namespace ops {
Dims distinct_axes(std::string_view what, Dims axes, std::int64_t ndim) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = normalize_axis(what, axes[i], ndim);
    check<ValueError>(position(axes, axes[i]) == static_cast<std::int64_t>(i), what, ": axis ", axes[i],
                      " is given twice");
  }
  return axes;
}
void check_lengths(std::string_view what, std::string_view these, const Dims& a, std::string_view those,
                   const Dims& b) {
  check<ValueError>(a.size() == b.size(), what, ": ", these, " ", a, " and ", those, " ", b,
                    " must be equally many");
}
Array known_numbers(const Array& x) {
  return x.defined() && x.get()->primal_value() ? stop_gradient(x).concrete() : x.concrete();
}
Array part(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t limit) {
  return slice_in_dim(x, axis, start, limit);
}
}  // namespace ops
using namespace ops;
Array swapaxes(const Array& x, std::int64_t a, std::int64_t b) {
  auto d = range_of(x.ndim());
  std::swap(d[at(normalize_axis("swapaxes", a, x.ndim()))], d[at(normalize_axis("swapaxes", b, x.ndim()))]);
  return transpose(x, d);
}
Array moveaxis(const Array& x, std::int64_t from, std::int64_t to) {
  from = normalize_axis("moveaxis", from, x.ndim());
  to = normalize_axis("moveaxis", to, x.ndim());
  auto d = range_of(x.ndim());
  d.erase(d.begin() + from);
  d.insert(d.begin() + to, from);
  return transpose(x, d);
}
Array expand_dims(const Array& x, std::int64_t axis) {
  auto s = x.shape();
  s.insert(at(normalize_axis("expand_dims", axis, x.ndim() + 1)), 1);
  return reshape(x, s);
}
Array squeeze(const Array& x) {
  Shape s;
  for (auto n : x.shape())
    if (n != 1) s.push_back(n);
  return reshape(x, s);
}
Array squeeze(const Array& x, const Dimensions& axes) {
  auto all = x.shape();
  auto dims = axes.resolve("squeeze", x.ndim());
  for (auto d : dims)
    check<ShapeError>(all[at(d)] == 1, "squeeze: dimension ", d, " of ", all, " has ", all[at(d)],
                      " elements; only dimensions of size 1 can go");
  return reshape(x, pick(all, others(x.ndim(), dims)));
}
Array ravel(const Array& x) { return reshape(x, {x.size()}); }
Array stack(const Arrays& xs, std::int64_t axis) {
  check<ValueError>(!xs.empty(), "stack: no arrays were given");
  axis = normalize_axis("stack", axis, xs[0].ndim() + 1);
  Arrays rows;
  for (auto& x : xs) {
    check<ShapeError>(x.type().shape == xs[0].type().shape, "stack: shapes differ: ", xs[0].shape(), " and ",
                      x.shape());
    rows.push_back(expand_dims(x, axis));
  }
  return concatenate(rows, axis);
}
Arrays split(const Array& x, DimSize number, std::int64_t axis) {
  auto parts = number.n;
  axis = normalize_axis("split", axis, x.ndim());
  auto n = x.shape(axis);
  check<ShapeError>(parts > 0 && n % parts == 0, "split: dimension ", axis, " of ", x.shape(), " does not divide into ",
                    parts, " equal parts");
  Arrays r;
  for (std::int64_t i = 0; i < parts; ++i) r.push_back(slice_in_dim(x, axis, i * (n / parts), (i + 1) * (n / parts)));
  return r;
}
Array tile(const Array& x, const Dims& repeats) {
  auto nd = std::max(x.ndim(), static_cast<std::int64_t>(repeats.size()));
  auto s = x.shape();
  Dims times(at(nd) - repeats.size(), 1);
  times.insert(times.end(), repeats.begin(), repeats.end());
  while (static_cast<std::int64_t>(s.size()) < nd) s.insert(0, 1);
  // [n0, n1] -> [r0, n0, r1, n1] -> [r0 * n0, r1 * n1]
  Shape wide, result;
  Dims own;
  for (std::size_t d = 0; d < s.size(); ++d) {
    check<ValueError>(times[d] >= 0, "tile: repeats must not be negative, got ", repeats);
    wide.push_back(times[d]);
    own.push_back(static_cast<std::int64_t>(wide.size()));
    wide.push_back(s[d]);
    result.push_back(volume({times[d], s[d]}));
  }
  return reshape(broadcast_in_dim(reshape(x, s), wide, own), result);
}
Array repeat(const Array& x, std::int64_t n, std::int64_t axis) {
  axis = normalize_axis("repeat", axis, x.ndim());
  check<ValueError>(n >= 0, "repeat: n must not be negative, got ", n);
  auto wide = x.shape(), result = x.shape();
  wide.insert(at(axis) + 1, n);
  result[at(axis)] = volume({result[at(axis)], n});
  return reshape(broadcast_in_dim(x, wide, others(x.ndim() + 1, {axis + 1})), result);
}
Array roll(const Array& x, std::int64_t shift, std::int64_t axis) {
  axis = normalize_axis("roll", axis, x.ndim());
  auto n = x.shape(axis);
  if (n == 0 || shift % n == 0) return x;
  auto cut = n - (shift % n + n) % n;
  return concatenate({slice_in_dim(x, axis, cut, n), slice_in_dim(x, axis, 0, cut)}, axis);
}
Array moveaxis(const Array& x, const Dims& from, const Dims& to) {
  check_lengths("moveaxis", "from", from, "to", to);
  auto nd = x.ndim();
  auto sources = distinct_axes("moveaxis", from, nd), targets = distinct_axes("moveaxis", to, nd);
  auto rest = others(nd, sources);
  Dims perm;
  for (std::int64_t d = 0, next = 0; d < nd; ++d) {
    auto i = position(targets, d);
    perm.push_back(i < static_cast<std::int64_t>(targets.size()) ? sources[at(i)] : rest[at(next++)]);
  }
  return transpose(x, perm);
}
Array expand_dims(const Array& x, const Dims& axes) {
  auto nd = x.ndim() + static_cast<std::int64_t>(axes.size());
  auto sorted = distinct_axes("expand_dims", axes, nd);
  std::sort(sorted.begin(), sorted.end());
  auto s = x.shape();
  for (auto d : sorted) s.insert(at(d), 1);
  return reshape(x, s);
}
Array roll(const Array& x, const Dims& shifts, const Dims& axes) {
  check_lengths("roll", "shifts", shifts, "axes", axes);
  auto y = x;
  for (std::size_t i = 0; i < axes.size(); ++i) y = roll(y, shifts[i], axes[i]);
  return y;
}
Array roll(const Array& x, std::int64_t shift) { return reshape(roll(ravel(x), shift, 0), x.shape()); }
Array repeat(const Array& x, const Array& counts, std::int64_t axis, const RepeatOptions& options) {
  axis = normalize_axis("repeat", axis, x.ndim());
  auto n = x.shape(axis);
  check<DtypeError>(is_integer(counts.dtype()), "repeat: counts must be integers, got ", counts.type());
  check<ShapeError>(counts.ndim() == 0 || (counts.ndim() == 1 && (counts.shape(0) == n || counts.shape(0) == 1)),
                    "repeat: counts ", counts.type(), " are not one for each of the ", n, " elements of axis ", axis,
                    " of ", x.shape());
  auto each = broadcast_to(counts.astype(i32), {n});
  auto total = options.total.value_or(0);
  check<ValueError>(total >= 0, "repeat: .total must not be negative, got ", total);
  if (!options.total)
    for (auto c : known<std::int64_t>(each, "repeat", "give {.total = n}")) {
      check<ValueError>(c >= 0, "repeat: counts must not be negative, got ", c);
      total += c;
    }
  if (total == 0) return slice_in_dim(x, axis, 0, 0);
  check<ShapeError>(n > 0, "repeat: axis ", axis, " of ", x.shape(), " has no element to fill ", total, " places");
  return take(x, searchsorted(cumsum(each), iota({total}, 0), Side::right), axis, IndexMode::clamp);
}
Array repeat(const Array& x, std::int64_t n) { return repeat(ravel(x), n, 0); }
Arrays broadcast_arrays(const Arrays& xs) {
  Shape s;
  for (auto& x : xs) s = broadcast_shapes("broadcast_arrays", s, x.shape());
  Arrays r;
  for (auto& x : xs) r.push_back(broadcast_to(x, s));
  return r;
}
Array fliplr(const Array& x) {
  check<ShapeError>(x.ndim() >= 2, "fliplr: needs at least two dimensions, got ", x.type());
  return flip(x, 1);
}
Array flipud(const Array& x) {
  check<ShapeError>(x.ndim() >= 1, "flipud: a scalar has no first dimension");
  return flip(x, 0);
}
Array rot90(const Array& x, std::int64_t k, std::int64_t from, std::int64_t to) {
  auto a = normalize_axis("rot90", from, x.ndim()), b = normalize_axis("rot90", to, x.ndim());
  check<ValueError>(a != b, "rot90: the axes ", from, " and ", to, " are the same");
  switch ((k % 4 + 4) % 4) {
    case 1: return swapaxes(flip(x, b), a, b);
    case 2: return flip(x, Dims{a, b});
    case 3: return flip(swapaxes(x, a, b), b);
    default: return x;
  }
}
Array rollaxis(const Array& x, std::int64_t axis, std::int64_t before) {
  auto n = x.ndim();
  auto a = normalize_axis("rollaxis", axis, n);
  auto b = before == n ? n : normalize_axis("rollaxis", before, n);
  return moveaxis(x, a, a < b ? b - 1 : b);
}
Array matrix_transpose(const Array& x) {
  check<ShapeError>(x.ndim() >= 2, "matrix_transpose: needs a matrix, got ", x.type());
  return swapaxes(x, -1, -2);
}
Array trim_zeros(const Array& x, std::string_view trim) {
  check_vector("trim_zeros", "x", x);
  check<ValueError>(trim == "f" || trim == "b" || trim == "fb" || trim == "bf", "trim_zeros: trim = \"", trim,
                    "\" is none of f, b, fb");
  auto full = known<bool>(x.astype(boolean), "trim_zeros", "cut x at fixed positions there");
  auto first = std::find(full.begin(), full.end(), true) - full.begin();
  auto last = full.rend() - std::find(full.rbegin(), full.rend(), true);
  if (trim.find('f') == trim.npos) first = 0;
  if (trim.find('b') == trim.npos) last = x.size();
  return part(x, 0, std::min(first, last), last);
}
Array packbits(const Array& x, std::int64_t axis) {
  check<DtypeError>(is_integer(x.dtype()) || x.dtype() == boolean, "packbits: needs integers or booleans, got ",
                    x.dtype());
  axis = normalize_axis("packbits", axis, x.ndim());
  auto y = moveaxis(x.astype(boolean), axis, -1).astype(i32);
  auto n = y.shape(-1), bytes = (n + 7) / 8;
  Dims none_at(at(y.ndim()), 0), fill = none_at;
  fill.back() = bytes * 8 - n;
  auto shape = y.shape();
  shape[shape.size() - 1] = bytes;
  shape.push_back(8);
  auto bits = reshape(pad(y, none_at, fill), shape);
  return moveaxis(sum(bits << (7 - iota({8}, 0)), -1).astype(u8), -1, axis);
}
Array unpackbits(const Array& x, std::int64_t axis) {
  check<DtypeError>(x.dtype() == u8, "unpackbits: needs bytes u8, got ", x.dtype());
  axis = normalize_axis("unpackbits", axis, x.ndim());
  auto y = expand_dims(moveaxis(x, axis, -1).astype(i32), -1);
  auto shape = moveaxis(x, axis, -1).shape();
  shape[shape.size() - 1] *= 8;
  return moveaxis(reshape(((y >> (7 - iota({8}, 0))) & 1).astype(u8), shape), -1, axis);
}
}  // namespace bora
