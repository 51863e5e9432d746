// Arrays of given numbers, of one number, of ranges; identities and triangles.
#include <cmath>
#include <cstring>
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "ops/numpy/support.h"
#include "bora/ops/ufuncs.h"

namespace bora {
namespace detail {
Literal::Literal(std::initializer_list<Literal> rows) : shape{rows.size()} {
  for (auto& row : rows) {
    auto& first = rows.begin()->shape;
    check<ShapeError>(row.shape == first, "array: rows differ: one is ",
                      [&] { return first.empty() ? std::string("a number") : "of shape " + to_string(first); },
                      ", another ",
                      [&] { return row.shape.empty() ? std::string("a number") : "of shape " + to_string(row.shape); });
    numbers.insert(numbers.end(), row.numbers.begin(), row.numbers.end());
  }
  if (rows.size()) shape.append(rows.begin()->shape);
}
void enter_literal(Literal& to, std::size_t depth, std::size_t size) {
  auto n = static_cast<std::int64_t>(size);
  if (to.shape.size() == depth) to.shape.push_back(n);  // the first list at this depth sets the size
  else
    check<ShapeError>(to.shape[depth] == n, "array: rows of different lengths: ", to.shape[depth], " and ", n,
                      " at depth ", depth);
}
Array make_literal(const Literal& l, std::optional<Dtype> dtype) {
  auto kind = l.numbers.empty() ? Scalar::Kind::floating : Scalar::Kind::boolean;
  for (auto& s : l.numbers) kind = std::max(kind, s.kind);  // boolean, integer, floating, complex
  Scalar strongest;
  strongest.kind = kind;
  auto d = dtype.value_or(strongest.dtype());
  auto shape = l.shape;
  auto b = new_buffer({shape, d});
  check<ShapeError>(volume(shape) == static_cast<std::int64_t>(l.numbers.size()), "array: ", l.numbers.size(),
                    " numbers do not fill ", shape);
  auto* out = static_cast<char*>(b.data);
  for (auto& s : l.numbers) {
    if (is_integer(d)) {
      check<ValueError>(s.integral() || (std::trunc(s.value) == s.value && std::abs(s.value) < 0x1p62),
                        "array: ", s.value, " does not fit into ", d);
      auto n = s.integral() ? s.integer : static_cast<std::int64_t>(s.value);
      bool above = s.integral() && n < 0 && s.value > 0;  // 2^63 or more
      check<ValueError>(above ? d == u64 : ops::holds(d, n), "array: ",
                        above ? std::to_string(static_cast<std::uint64_t>(n)) : std::to_string(n),
                        " does not fit into ", d, dtype ? "" : "; give a dtype: array({..}, i64)");
    }
    ops::write_number(s, d, out);
    out += dtype_size(d);
  }
  return b.done();
}
constexpr std::string_view kTooMany = " are more numbers than any memory holds";
Array from_integers(std::int64_t start, std::int64_t stop, std::int64_t step, Dtype dtype) {
  check<ValueError>(step != 0, "arange: the step is 0");
  // Unsigned: the distance from the smallest to the largest i64 overflows i64.
  auto U = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  bool empty = step > 0 ? start >= stop : start <= stop;
  auto last = empty ? 0 : step > 0 ? (U(stop) - U(start) - 1) / U(step) : (U(start) - U(stop) - 1) / (0 - U(step));
  auto most = std::uint64_t{1} << 60;
  check<ShapeError>(last < most, "arange: from ", start, " to ", stop, " by ", step, kTooMany);
  Shape shape{empty ? 0 : last + 1};
  for (auto x : {start, static_cast<std::int64_t>(U(start) + last * U(step))})
    check<ValueError>(empty || ops::holds(dtype, x), "arange: ", x, " does not fit into ", dtype,
                      dtype == i32 ? "; give a dtype: arange(start, stop, step, i64)" : "");
  if (!is_integer(dtype) || empty || !ops::holds(dtype, step) || !ops::holds(dtype, static_cast<std::int64_t>(last))) {
    auto wide = iota(shape, 0, i64) * step + start;
    return wide.astype(dtype);
  }
  auto x = iota(shape, 0, dtype);
  if (step != 1) x = x * step;
  return start == 0 ? x : x + start;
}
/// Computed in f64 and rounded once, as NumPy does.
Array from_range(double start, double stop, double step, Dtype dtype) {
  check<ValueError>(step != 0 && std::isfinite(start) && std::isfinite(stop) && std::isfinite(step), "arange: from ",
                    start, " to ", stop, " by ", step, " never ends");
  auto n = std::max(0., std::ceil((stop - start) / step));
  check<ShapeError>(n < 0x1p60, "arange: from ", start, " to ", stop, " by ", step, kTooMany);
  return (iota({static_cast<std::int64_t>(n)}, 0, f64) * step + start).astype(dtype);
}
}  // namespace detail
using namespace ops;
namespace {
const Shape& checked(std::string_view what, const Shape& shape, Dtype dtype) {
  for (auto n : shape) check<ShapeError>(n >= 0, what, ": sizes must not be negative, got ", shape);
  check<DtypeError>(dtype != Dtype::key, what,
                    ": a random key is not a number; use random::split(random::key(seed), n)");
  return shape;
}
}  // namespace

Array zeros(const Shape& shape, Dtype dtype) { return full_of({checked("zeros", shape, dtype), dtype}, 0); }
Array ones(const Shape& shape, Dtype dtype) { return full_of({checked("ones", shape, dtype), dtype}, 1); }
Array full(const Shape& shape, Scalar value, std::optional<Dtype> dtype) {
  auto d = dtype.value_or(value.dtype());
  return full_of({checked("full", shape, d), d}, value);
}
Array full_like(const Array& x, Scalar value, std::optional<Dtype> dtype) {
  return full_of({x.shape(), dtype.value_or(x.dtype())}, value);
}

Array linspace(double start, double stop, std::int64_t n, Dtype dtype) {
  check<ValueError>(n >= 0, "linspace: ", n, " numbers");
  if (is_integer(dtype)) return floor(linspace(start, stop, n, f64)).astype(dtype);
  if (n == 1) return full({1}, start, dtype);
  auto i = iota({n}, 0, f64);
  auto x = i * ((stop - start) / static_cast<double>(n - 1)) + start;
  return where(i == static_cast<double>(n - 1), stop, x).astype(dtype);
}
Array eye(std::int64_t n, Dtype dtype) { return eye(n, n, dtype); }
Array eye(std::int64_t rows, std::int64_t columns, Dtype dtype) {
  auto shape = checked("eye", {rows, columns}, dtype);
  return (iota(shape, 0) == iota(shape, 1)).astype(dtype);
}
Array tri(std::int64_t rows, std::int64_t columns, std::int64_t k, Dtype dtype) {
  auto shape = checked("tri", {rows, columns}, dtype);
  return (iota(shape, 0) + k >= iota(shape, 1)).astype(dtype);
}
Array tril(const Array& x, std::int64_t k) {
  check<ShapeError>(x.ndim() >= 2, "tril: needs a matrix, got ", x.type());
  return where(tri(x.shape(-2), x.shape(-1), k, boolean), x, zeros_like(x));
}
Array triu(const Array& x, std::int64_t k) {
  check<ShapeError>(x.ndim() >= 2, "triu: needs a matrix, got ", x.type());
  return where(tri(x.shape(-2), x.shape(-1), k - 1, boolean), zeros_like(x), x);
}
Arrays meshgrid(const Arrays& vectors, const MeshgridOptions& options) {
  Shape shape;
  for (auto& v : vectors) {
    check<ShapeError>(v.ndim() == 1, "meshgrid: needs vectors, got ", v.type());
    shape.push_back(v.size());
  }
  bool swap = options.indexing == Indexing::xy && vectors.size() >= 2;
  if (swap) std::swap(shape[0], shape[1]);
  Arrays r;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    auto d = swap && i < 2 ? 1 - i : i;
    auto grid = options.sparse ? Shape(Dims(vectors.size(), 1)) : shape;
    grid[d] = shape[d];
    r.push_back(broadcast_in_dim(vectors[i], grid, {static_cast<std::int64_t>(d)}));
  }
  return r;
}
Array linspace(double start, double stop, std::int64_t n, const LinspaceOptions& options) {
  check<ValueError>(n >= 0, "linspace: n must not be negative, got ", n);
  auto dtype = options.dtype.value_or(default_float());
  if (options.endpoint) return linspace(start, stop, n, dtype);
  return slice_in_dim(linspace(start, stop, n + 1, dtype), 0, 0, n);
}
Array linspace(const Array& start, const Array& stop, std::int64_t n, const LinspaceOptions& options) {
  check<ValueError>(n >= 0, "linspace: n must not be negative, got ", n);
  auto common = promote(start.dtype(), stop.dtype());
  auto result = options.dtype.value_or(is_inexact(common) ? common : f32);
  bool whole = !is_inexact(result);  // rounded down, so every digit counts
  auto computed = promote(computed_as(common), whole ? f64 : is_narrow(result) ? f32 : result);
  auto shape = broadcast_shapes("linspace", start.shape(), stop.shape());
  auto nd = static_cast<std::int64_t>(shape.size());
  auto axis = normalize_axis("linspace", options.axis, nd + 1);
  Shape along(Dims(at(nd + 1), 1));
  along[at(axis)] = n;
  auto i = iota(along, axis).astype(real_dtype(computed));
  auto intervals = static_cast<double>(std::max<std::int64_t>(options.endpoint ? n - 1 : n, 1));
  auto first = expand_dims(broadcast_to(start.astype(computed), shape), axis);
  auto last = expand_dims(broadcast_to(stop.astype(computed), shape), axis);
  if (!whole || is_complex(computed)) {
    auto part = i / intervals;
    return (first * (1 - part) + last * part).astype(result);
  }
  auto y = first + i * ((last - first) / intervals);
  return floor(options.endpoint && n > 1 ? where(i == intervals, last, y) : y).astype(result);
}
Array eye(std::int64_t rows, std::int64_t columns, std::int64_t k, Dtype dtype) {
  check<ValueError>(rows >= 0 && columns >= 0, "eye: sizes must not be negative, got ", rows, " and ", columns);
  return (iota({rows, columns}, 1) - iota({rows, columns}, 0) == k).astype(dtype);
}
Array full(const Shape& shape, const Array& value, std::optional<Dtype> dtype) {
  return broadcast_to(dtype ? value.astype(*dtype) : value, shape);
}
Array logspace(double start, double stop, std::int64_t n, double base, Dtype dtype) {
  check<ValueError>(base > 0, "logspace: base = ", base, " must be positive");
  return exp(linspace(start, stop, n, f64) * std::log(base)).astype(dtype);
}
Array geomspace(double start, double stop, std::int64_t n, Dtype dtype) {
  check<ValueError>(start * stop > 0, "geomspace: from ", start, " to ", stop,
                    ": both must have one sign and not be 0");
  auto sign = start < 0 ? -1. : 1.;
  auto x = sign * exp(linspace(std::log(std::abs(start)), std::log(std::abs(stop)), n, f64));
  auto i = iota({n}, 0);
  if (n > 1) x = where(i == n - 1, stop, x);
  return where(i == 0, start, x).astype(dtype);
}
Array fromfunction(const std::function<Array(const Arrays&)>& f, const Shape& shape) {
  Arrays positions;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) positions.push_back(iota(shape, d));
  return f(positions);
}
Array identity(std::int64_t n, Dtype dtype) { return eye(n, dtype); }
Array empty(const Shape& shape, Dtype dtype) { return zeros(shape, dtype); }
Array empty_like(const Array& x) { return zeros_like(x); }
}  // namespace bora
