// Parts of arrays with modes and masks: the slices are made such that view() and at() understand them.
#include "bora/ops/indexing.h"
#include "bora/ops/sets.h"
#include "ops/numpy/support.h"
#include "ops/primitives/indexing.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/manipulation.h"

namespace bora::indexed {
using namespace ops;
namespace {
using Item = DimSlice;
using Kind = Item::Kind;
struct Prepared {
  DimSlices slices;
  Dims dims;  // of x: one for each slice; -1: none
};
/// Masks become positions; negative positions are counted from the front.
Prepared prepare(std::string_view what, const Array& x, const DimSlices& slices, Mode mode) {
  std::int64_t used = 0;
  for (auto& s : slices) {
    if (s.kind == Kind::array && s.array.dtype() == boolean) used += s.array.ndim();
    else used += s.kind != Kind::ellipsis && s.kind != Kind::newaxis;
  }
  check<IndexError>(used <= x.ndim(), what, ": slices for ", used, " dimensions, and x has ", x.ndim(), ", ", x.type());
  Prepared p;
  std::int64_t dim = 0;
  for (auto& s : slices) {
    if (s.kind == Kind::array && s.array.dtype() == boolean) {
      auto& mask = s.array;
      for (std::int64_t d = 0; d < mask.ndim(); ++d)
        check<ShapeError>(mask.shape(d) == x.shape(dim + d), what, ": a mask ", mask.shape(), " at dimension ", dim,
                          " of x ", x.shape());
      check<ShapeError>(mask.ndim() > 0, what, ": a mask must have dimensions");
      for (auto& i : nonzero(mask)) p.slices.push_back(i), p.dims.push_back(dim++);
      continue;
    }
    if (s.kind == Kind::ellipsis || s.kind == Kind::newaxis) {
      if (s.kind == Kind::ellipsis) dim += x.ndim() - used;
      p.slices.push_back(s), p.dims.push_back(-1);
      continue;
    }
    if (s.kind == Kind::array) {
      auto n = x.shape(dim);
      check<DtypeError>(is_integer(s.array.dtype()), what, ": an index Array holds integers, not ", s.array.dtype());
      check<IndexError>(mode == Mode::fill || n > 0 || s.array.size() == 0, what, ": dimension ", dim, " of ",
                        x.shape(), " is empty");
      auto wide = s.array.dtype() == i32 ? s.array : s.array.astype(i64);
      auto i = mode == Mode::wrap && n > 0 ? (wide % n).astype(i32) : from_front(what, s.array, n);
      p.slices.push_back(mode == Mode::clip ? clamped(i, n) : i);
    } else p.slices.push_back(s);
    p.dims.push_back(dim++);
  }
  return p;
}
}  // namespace

Array get(const Array& x, const DimSlices& slices, const Options& o) {
  auto p = prepare("indexed::get", x, slices, o.mode);
  if (o.mode != Mode::fill) return view_of(x, p.slices);
  // One more element behind each indexed dimension, which positions outside read.
  Dims hi(at(x.ndim()), 0);
  auto inside = p.slices;
  for (std::size_t k = 0; k < inside.size(); ++k) {
    auto& s = inside[k];
    auto d = p.dims[k];
    if (d < 0) continue;
    auto n = x.shape(d);
    if (s.kind == Kind::array) {
      hi[at(d)] = 1;
      s = Item(where(s.array >= 0 && s.array < constant(n, i32), s.array, constant(n, i32)));
    } else if (s.kind == Kind::number) check<IndexError>(s.number >= -n && s.number < n, "indexed::get: index ",
                                                         s.number, " is outside of dimension ", d, ", which has ", n,
                                                         " elements");
  }
  auto fill = o.fill.value_or(is_inexact(x.dtype()) ? Scalar(kNan) : x.dtype() == boolean ? Scalar(false) : Scalar(0));
  return view_of(pad(x, Dims(at(x.ndim()), 0), hi, fill), inside);
}
namespace {
/// The part's numbers: an Array, or a number in x's dtype.
Array value_of(std::string_view what, const Array& x, const Operand& v) {
  if (v.is_array()) return v.array();
  check<DtypeError>(is_inexact(x.dtype()) || v.number().integral(), what, ": the fraction ", v.number().value,
                    " does not fit into ", x.dtype(), "; use x.astype(f32)");
  return constant(v.number(), x.dtype());
}
/// Negative positions that are still negative would be counted from the end again.
At part_of(std::string_view what, const Array& x, const DimSlices& slices, Mode mode) {
  auto p = prepare(what, x, slices, mode);
  if (mode == Mode::fill)
    for (std::size_t k = 0; k < p.slices.size(); ++k)
      if (p.slices[k].kind == Kind::array) {
        auto n = x.shape(p.dims[k]);
        auto& i = p.slices[k].array;
        p.slices[k] = Item(where(i >= 0, i, constant(n, i32)));
      }
  return At(x, p.slices);
}
}  // namespace

Array set(const Array& x, const DimSlices& s, const Operand& v, Mode mode) {
  return part_of("indexed::set", x, s, mode).set(value_of("indexed::set", x, v));
}
Array add(const Array& x, const DimSlices& s, const Operand& v, Mode mode) {
  return part_of("indexed::add", x, s, mode).add(value_of("indexed::add", x, v));
}
Array subtract(const Array& x, const DimSlices& s, const Operand& v, Mode mode) {
  return part_of("indexed::subtract", x, s, mode).add(-value_of("indexed::subtract", x, v));
}
Array multiply(const Array& x, const DimSlices& s, const Operand& v, Mode mode) {
  return part_of("indexed::multiply", x, s, mode).multiply(value_of("indexed::multiply", x, v));
}
Array divide(const Array& x, const DimSlices& s, const Operand& v, Mode mode) {
  auto what = "indexed::divide";
  auto u = value_of(what, x, v);
  check<DtypeError>(is_inexact(x.dtype()), what, ": the quotients of ", x.dtype(), " are fractions; use astype()");
  return x / part_of(what, ones_like(x), s, mode).multiply(u);
}
Array power(const Array& x, const DimSlices& s, const Operand& v, Mode mode) {
  auto what = "indexed::power";
  if (!v.is_array() && v.number().integral()) {  // a whole number: any sign of x, exact derivatives
    auto n = v.number();
    auto one = is_inexact(x.dtype()) ? full_of({x.shape(), i32}, 1) : ones_like(x);
    return bora::power(x, part_of(what, one, s, mode).multiply(constant(n, one.dtype())));
  }
  auto u = value_of(what, x, v);
  auto one = is_inexact(x.dtype()) && is_integer(u.dtype()) ? full_of({x.shape(), u.dtype()}, 1) : ones_like(x);
  return bora::power(x, part_of(what, one, s, mode).multiply(u));
}
Array min(const Array& x, const DimSlices& s, const Operand& v, Mode mode) {
  return part_of("indexed::min", x, s, mode).min(value_of("indexed::min", x, v));
}
Array max(const Array& x, const DimSlices& s, const Operand& v, Mode mode) {
  return part_of("indexed::max", x, s, mode).max(value_of("indexed::max", x, v));
}
Array apply(const Array& x, const DimSlices& s, const std::function<Array(const Array&)>& f, Mode mode) {
  auto part = part_of("indexed::apply", x, s, mode);
  auto p = prepare("indexed::apply", x, s, mode);
  auto old = view_of(x, p.slices);
  auto made = f(old);
  check<ShapeError>(made.type() == old.type(), "indexed::apply: f must return ", old.type(), ", got ", made.type());
  return part.set(made);
}
}  // namespace bora::indexed
