// Primitives that choose or add elements at fixed places: slice, pad, concatenate.
#include <algorithm>
#include <complex>
#include "bora/base/parallel.h"
#include "kernels/api/move.h"
#include "bora/ops/manipulation.h"
#include "ops/primitives/dims.h"
#include "ops/primitives/dtype_checks.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"
#include "ops/primitives/pad_fit.h"

namespace bora::ops {
// ---- slice ----------------------------------------------------------------------------------------------------------
Type StaticSlice::infer(const Types& in) const {
  const auto& x = in.at(0).shape;
  check<ShapeError>(start.size() == x.size() && limit.size() == x.size() && stride.size() == x.size(), "slice: ", x,
                    " needs one start, limit and stride for each dimension, got ", start, ", ", limit, ", ", stride);
  Shape s;
  for (std::size_t d = 0; d < x.size(); ++d) {
    check<ShapeError>(0 <= start[d] && start[d] <= limit[d] && limit[d] <= x[d], "slice: [", start[d], ", ", limit[d],
                      ") leaves dimension ", d, " of ", x);
    check<ValueError>(stride[d] > 0, "slice: the stride of dimension ", d, " is ", stride[d],
                      "; it must be positive (flip() reverses)");
    s.push_back((limit[d] - start[d] + stride[d] - 1) / stride[d]);
  }
  return with_shape(in[0], s);
}
void StaticSlice::eval(InputViews in, OutputViews out) const {
  auto strides = strides_of(in[0].type.shape);
  std::int64_t first = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    first += start[d] * strides[d];
    strides[d] *= stride[d];
  }
  auto size = dtype_size(out[0].type.dtype);
  const auto& shape = out[0].type.shape;
  if (volume(shape) == 0) return;
  kernels::copy(out[0].data, strides_of(shape),
                static_cast<const char*>(in[0].data) + first * static_cast<std::int64_t>(size), strides, shape.dims(),
                size);
}
Array StaticSlice::vjp(const Vjp& v) const {
  Dims hi, interior;
  for (std::size_t d = 0; d < start.size(); ++d) {
    auto n = v.out[0].type().shape[d], covered = n == 0 ? 0 : (n - 1) * stride[d] + 1;
    hi.push_back(v.in[0].type().shape[d] - start[d] - covered);
    interior.push_back(stride[d] - 1);
  }
  return pad(v.ct[0], start, hi, 0, interior);
}
namespace {
bool is_whole(const StaticSlice& p, const Shape& x, std::size_t d) {
  return p.start[d] == 0 && p.limit[d] == x[d] && p.stride[d] == 1;
}
}  // namespace

DimFactors StaticSlice::factors(const Types& in) const {
  Dims l;
  for (std::size_t d = 0; d < start.size(); ++d)
    l.push_back(is_whole(*this, in[0].shape, d) ? static_cast<std::int64_t>(d) : kNone);
  return {{l}, {l}, {0}};
}
/// Dimensions that are whole stay whole. A dimension that is cut has its global size here: a split one is exchanged.
StaticSlice StaticSlice::resized(const Types& in, const Types& out) const {
  StaticSlice s = *this;
  for (std::size_t d = 0; d < start.size(); ++d)
    if (start[d] == 0 && stride[d] == 1 && out[0].shape[d] == in[0].shape[d]) s.limit[d] = in[0].shape[d];
  return s;
}
StaticSlice StaticSlice::lift(std::int64_t n) const {
  return {prepend(0, start), prepend(n, limit), prepend(1, stride)};
}
SamplesOf<StaticSlice> StaticSlice::samples() {
  return {{{{0, 1}, {3, 4}, {1, 2}}, {random_values({3, 5}, -1, 1, 1)}},
          {{{2}, {2}, {1}}, {random_values({4}, -1, 1, 2)}},
          {{{0, 1}, {0, 2}, {1, 1}}, {random_values({0, 3}, -1, 1, 3)}}};
}

// ---- pad ------------------------------------------------------------------------------------------------------------
Type Pad::infer(const Types& in) const {
  const auto& x = in.at(0).shape;
  check<ShapeError>(lo.size() == x.size() && hi.size() == x.size() && interior.size() == x.size(), "pad: ", x,
                    " needs lo, hi and interior for each dimension, got ", lo, ", ", hi, ", ", interior);
  Shape s;
  for (std::size_t d = 0; d < x.size(); ++d) {
    check<ValueError>(interior[d] >= 0, "pad: interior of dimension ", d, " is ", interior[d],
                      "; it must not be negative");
    s.push_back(fit(x[d], lo[d], hi[d], interior[d]).size);
    check<ShapeError>(s.back() >= 0, "pad: lo ", lo[d], " and hi ", hi[d], " cut more than dimension ", d, " of ", x,
                      " has");
  }
  return with_shape(in[0], s);
}
/// Fills everything but the window [where, where + count): below and above it along each dimension, inside the window
/// of the dimensions before.
static void fill_around(const OutputView& out, const Dims& where, const Dims& count, const void* element) {
  auto strides = strides_of(out.type.shape);
  auto size = dtype_size(out.type.dtype);
  Dims extent = out.type.shape.dims(), none(extent.size(), 0);
  std::int64_t at = 0;
  auto fill = [&](std::size_t d, std::int64_t begin, std::int64_t end) {
    extent[d] = end - begin;
    auto* to = static_cast<char*>(out.data) + (at + begin * strides[d]) * static_cast<std::int64_t>(size);
    kernels::copy(to, strides, element, none, extent, size);
  };
  for (std::size_t d = 0; d < extent.size(); ++d) {
    fill(d, 0, where[d]);
    fill(d, where[d] + count[d], out.type.shape[d]);
    extent[d] = count[d];
    at += where[d] * strides[d];
  }
}
void Pad::eval(InputViews in, OutputViews out) const {
  const auto& shape = out[0].type.shape;
  auto size = dtype_size(out[0].type.dtype);
  Bytes16 element{};
  if (out[0].type.dtype != Dtype::key) write_number(value, out[0].type.dtype, &element);
  auto from = strides_of(in[0].type.shape), to = strides_of(shape);
  Dims count, where;
  std::int64_t first = 0, place = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto f = fit(in[0].type.shape[d], lo[d], hi[d], interior[d]);
    count.push_back(f.count);
    where.push_back(f.to);
    first += f.first * from[d];
    place += f.to * to[d];
    to[d] *= interior[d] + 1;
  }
  bool gaps = std::any_of(interior.begin(), interior.end(), [](std::int64_t n) { return n > 0; });
  if (gaps || volume(count) == 0) kernels::fill(out[0].data, volume(shape), size, &element);
  else fill_around(out[0], where, count, &element);
  if (volume(count) == 0) return;
  auto bytes = static_cast<std::int64_t>(size);
  kernels::copy(static_cast<char*>(out[0].data) + place * bytes, to,
                static_cast<const char*>(in[0].data) + first * bytes, from, count, size);
}
Array Pad::vjp(const Vjp& v) const {
  // Positive padding is sliced off; elements that were cut come back as zeros.
  Array ct = v.ct[0];
  Dims start, limit, stride, back_lo, back_hi;
  for (std::size_t d = 0; d < lo.size(); ++d) {
    auto n = v.in[0].type().shape[d];
    auto f = fit(n, lo[d], hi[d], interior[d]);
    start.push_back(f.count ? f.to : 0);
    stride.push_back(interior[d] + 1);
    limit.push_back(f.count ? f.to + (f.count - 1) * stride.back() + 1 : 0);
    back_lo.push_back(f.count ? f.first : 0);
    back_hi.push_back(n - back_lo.back() - f.count);
  }
  ct = slice(ct, start, limit, stride);
  return ct.type().shape == v.in[0].type().shape ? ct : pad(ct, back_lo, back_hi);
}
DimFactors Pad::factors(const Types& in) const {
  Dims l;
  for (std::size_t d = 0; d < lo.size(); ++d)
    l.push_back(lo[d] || hi[d] || interior[d] ? kNone : static_cast<std::int64_t>(d));
  DimFactors f{{l}, {l}};
  if (value.value == 0 && value.imaginary == 0 && in[0].dtype != boolean) f.linear = {0};
  return f;
}
Pad Pad::lift(std::int64_t) const { return {prepend(0, lo), prepend(0, hi), prepend(0, interior), value}; }
SamplesOf<Pad> Pad::samples() {
  return {{{{0, 1}, {0, 2}, {0, 1}, 0.0}, {random_values({3, 3}, -1, 1, 1)}},
          {{{1}, {0}, {0}, 7.0}, {random_values({4}, -1, 1, 2)}},
          {{{-1, 0}, {1, -2}, {0, 1}, 0.0}, {random_values({3, 3}, -1, 1, 3)}},
          {{{1}, {2}, {0}, Scalar(std::complex<double>(0, 2))}, {random_values({2}, -1, 1, 5, complex128)}},
          {{{2}, {1}, {1}, 0.0}, {random_values({0}, -1, 1, 4)}}};
}

// ---- concatenate ----------------------------------------------------------------------------------------------------
Type Concatenate::infer(const Types& in) const {
  check<ValueError>(!in.empty(), "concatenate: no arrays were given");
  Type t = in[0];
  check<IndexError>(axis >= 0 && axis < t.ndim(), "concatenate: axis ", axis, " does not exist in ", t);
  for (std::size_t i = 1; i < in.size(); ++i) {
    auto s = in[i].shape;
    bool fits = s.size() == t.shape.size();
    for (std::int64_t d = 0; fits && d < t.ndim(); ++d) fits = d == axis || s[at(d)] == t.shape[at(d)];
    check<ShapeError>(fits, "concatenate: ", in[i].shape, " does not fit ", in[0].shape, " along axis ", axis,
                      "; all other sizes must be equal");
    check<DtypeError>(in[i].dtype == t.dtype, "concatenate: dtypes differ: ", t.dtype, " and ", in[i].dtype);
    t.shape[at(axis)] += s[at(axis)];
  }
  return t;
}
void Concatenate::eval(InputViews in, OutputViews out) const {
  const auto& shape = out[0].type.shape;
  auto strides = strides_of(shape);
  auto size = dtype_size(out[0].type.dtype);
  auto* to = static_cast<char*>(out[0].data);
  if (volume(shape) == 0) return;
  // Pieces shorter than a line of the cache: all inputs write a few rows before the next ones are begun.
  constexpr std::int64_t line = 64, near = 16384;
  const auto inner = strides[at(axis)], row = shape[at(axis)] * inner, rows = volume(shape) / row;
  const auto bytes = static_cast<std::int64_t>(size);
  bool short_pieces = true;
  for (const auto& x : in) short_pieces = short_pieces && x.type.shape[at(axis)] * inner * bytes < line;
  if (short_pieces) {
    const auto block = std::max<std::int64_t>(1, near / (row * bytes));
    const auto blocks = (rows + block - 1) / block;
    return parallel_for(blocks, grain_for(0.5 * static_cast<double>(block * row)), [&](auto begin, auto end) {
      for (auto b = begin; b < end; ++b) {
        const auto first = b * block, count = std::min(block, rows - first);
        auto* place = to + first * row * bytes;
        for (const auto& x : in) {
          const auto run = x.type.shape[at(axis)] * inner;
          kernels::copy(place, {row, 1}, static_cast<const char*>(x.data) + first * run * bytes, {run, 1}, {count, run},
                        size);
          place += run * bytes;
        }
      }
    });
  }
  for (const auto& x : in) {
    if (volume(x.type.shape) == 0) continue;
    kernels::copy(to, strides, x.data, strides_of(x.type.shape), x.type.shape.dims(), size);
    to += x.type.shape[at(axis)] * strides[at(axis)] * static_cast<std::int64_t>(size);
  }
}
Arrays Concatenate::vjp(const Vjp& v) const {
  Arrays r;
  std::int64_t from = 0;
  for (std::size_t i = 0; i < v.in.size(); ++i) {
    auto n = v.in[i].type().shape[at(axis)];
    r.push_back(v.needs[i] ? slice_in_dim(v.ct[0], axis, from, from + n) : Array{});
    from += n;
  }
  return r;
}
DimFactors Concatenate::factors(const Types& in) const {
  auto l = range_of(in[0].ndim());
  l[at(axis)] = kNone;
  DimFactors f{std::vector<Dims>(in.size(), l), {l}, {}};
  if (in[0].dtype == boolean) return f;
  f.joint = true;
  for (std::size_t i = 0; i < in.size(); ++i) f.linear.push_back(i);
  return f;
}
Concatenate Concatenate::lift(std::int64_t) const { return {axis + 1}; }
SamplesOf<Concatenate> Concatenate::samples() {
  return {{{1}, {random_values({2, 3}, -1, 1, 1), random_values({2, 1}, -1, 1, 2)}},
          {{0}, {random_values({2}, -1, 1, 3), random_values({0}, -1, 1, 4), random_values({3}, -1, 1, 5)}},
          {{1}, {random_values({2, 3}, 0, 2, 6, boolean), random_values({2, 4}, 0, 2, 7, boolean)}}};
}
}  // namespace bora::ops

namespace bora {
using namespace ops;
Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& stride) {
  Dims steps = stride.empty() ? Dims(start.size(), 1) : stride;
  bool whole = limit == x.type().shape.dims() && steps == Dims(limit.size(), 1) && start == Dims(limit.size(), 0);
  return whole ? x : call_one(StaticSlice{start, limit, steps}, {x});
}
Array slice_in_dim(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t limit, std::int64_t stride) {
  auto a = at(normalize_axis("slice_in_dim", axis, x.ndim()));
  Dims from(a, 0), to = x.shape().dims(), steps(to.size(), 1);
  from.resize(to.size(), 0);
  from[a] = start;
  to[a] = limit;
  steps[a] = stride;
  return slice(x, from, to, steps);
}
Array index_in_dim(const Array& x, std::int64_t axis, std::int64_t i) {
  axis = normalize_axis("index_in_dim", axis, x.ndim());
  auto n = x.shape(axis);
  check<IndexError>(-n <= i && i < n, "index ", i, " is outside of dimension ", axis, " of ", x.shape());
  i = i < 0 ? i + n : i;
  auto s = x.shape();
  s.erase(at(axis));
  return reshape(slice_in_dim(x, axis, i, i + 1), s);
}
Array pad(const Array& x, const Dims& lo, const Dims& hi, Scalar value, const Dims& interior) {
  auto nothing = [](const Dims& d) { return std::all_of(d.begin(), d.end(), [](auto n) { return n == 0; }); };
  Dims between = interior.empty() ? Dims(lo.size(), 0) : interior;
  check<DtypeError>(is_inexact(x.dtype()) || value.integral(), "pad: the fraction ", value.value, " does not fit into ",
                    x.dtype(), "; use x.astype(f32)");
  if (nothing(lo) && nothing(hi) && nothing(between) && static_cast<std::int64_t>(lo.size()) == x.ndim()) return x;
  return call_one(Pad{lo, hi, between, x.dtype() == Dtype::key ? Scalar(0) : checked(value, x.dtype())}, {x});
}
Array concatenate(const Arrays& xs, std::int64_t axis) {
  check<ValueError>(!xs.empty(), "concatenate: no arrays were given");
  axis = normalize_axis("concatenate", axis, xs[0].ndim());
  if (xs.size() == 1) return xs[0];
  Dtype d = xs[0].dtype();
  for (auto& x : xs)
    if (x.dtype() != d) d = promoted("concatenate", d, x.dtype());
  Arrays same;
  for (auto& x : xs) same.push_back(x.astype(d));
  return call_one(Concatenate{axis}, same);
}
template PrimitivePtr primitive<ops::StaticSlice>(ops::StaticSlice);
template PrimitivePtr primitive<ops::Pad>(ops::Pad);
template PrimitivePtr primitive<ops::Concatenate>(ops::Concatenate);
}  // namespace bora
