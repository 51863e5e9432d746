// Elementwise functions of NumPy, and comparisons, written with other operations.
#include <numbers>
#include "bora/ops/complex.h"
#include "bora/ops/functions.h"
#include "bora/ops/numeric.h"
#include "ops/composed.h"
#include "ops/takes.h"

namespace bora {
using namespace ops;
namespace {
std::pair<Array, Array> fractions(std::string_view what, const Array& a, const Array& b) {
  auto [x, y] = promoted_pair(what, a, b);
  return {inexact(x), inexact(y)};
}
std::pair<Array, Array> real_fractions(std::string_view what, const Array& a, const Array& b) {
  for (auto* x : {&a, &b}) takes_ordered(what, x->dtype());
  return fractions(what, a, b);
}
/// Computes in f32 (or f64) and rounds once.
template <class F> Array of_two(std::string_view what, const Array& a, const Array& b, F&& f) {
  auto [x, y] = real_fractions(what, a, b);
  if (!is_half(x.dtype())) return f(x, y);
  return f(x.astype(f32), y.astype(f32)).astype(x.dtype());
}
}  // namespace

Array sinc(const Array& x) {
  return in_f32(x, [](const Array& v) {
    auto zero = v == 0;
    auto t = kPi * where(zero, 1, v), small = kPi * v;
    return where(zero, 1 - small * small / 6, sin(t) / t);  // the series, for the derivatives at 0
  });
}
Array deg2rad(const Array& x) { return inexact(x) * (kPi / 180); }
Array rad2deg(const Array& x) { return inexact(x) * (180 / kPi); }
Array radians(const Array& x) { return deg2rad(x); }
Array degrees(const Array& x) { return rad2deg(x); }
Array positive(const Array& x) {
  check<DtypeError>(x.dtype() != boolean && is_numeric(x.dtype()), "positive: ", x.dtype(), " has no sign");
  return x;
}
Array fabs(const Array& x) { return abs(inexact(x)); }
Array rint(const Array& x) { return round(inexact(x)); }
Array fix(const Array& x) { return trunc(x); }
Array signbit(const Array& x) {
  takes_ordered("signbit", x.dtype());
  if (!is_float(x.dtype())) return x.dtype() == boolean ? full_of({x.shape(), boolean}, false) : x < 0;
  auto wide = stop_gradient(in_accumulator(x));
  return bitcast(wide, wide.dtype() == f64 ? i64 : i32) < 0;
}
namespace {
/// Complex infinities have no sign.
const Array& signed_number(std::string_view what, const Array& x) {
  check<DtypeError>(!is_complex(x.dtype()), what, ": complex numbers have no sign, got ", x.type());
  return x;
}
}  // namespace
Array isposinf(const Array& x) {
  return is_float(signed_number("isposinf", x).dtype()) ? x == kInf : full_of({x.shape(), boolean}, false);
}
Array isneginf(const Array& x) {
  return is_float(signed_number("isneginf", x).dtype()) ? x == -kInf : full_of({x.shape(), boolean}, false);
}
Array nan_to_num(const Array& x, const NanToNumOptions& o) {
  if (is_complex(x.dtype())) return complex(nan_to_num(real(x), o), nan_to_num(imag(x), o));
  if (!is_float(x.dtype())) return x;
  auto largest = x.dtype() == f64   ? std::numeric_limits<double>::max()
                 : x.dtype() == f32 ? static_cast<double>(std::numeric_limits<float>::max())
                 : x.dtype() == f16 ? 65504.0
                                    : 0x1.fep127;
  auto y = where(isnan(x), o.nan, x);
  y = where(x == kInf, o.posinf.value_or(largest), y);
  return where(x == -kInf, o.neginf.value_or(-largest), y);
}

Array hypot(const Array& a, const Array& b) {
  return of_two("hypot", a, b, [](const Array& p, const Array& q) {
    auto x = abs(p), y = abs(q);
    auto infinite = x == kInf || y == kInf;
    auto large = maximum(x, y), small = minimum(x, y);
    auto regular = large > 0 && !infinite;
    auto ratio = where(regular, small, 0) / where(regular, large, 1);
    return where(infinite, kInf, large * sqrt(1 + ratio * ratio));
  });
}
Array logaddexp2(const Array& a, const Array& b) {
  return of_two("logaddexp2", a, b, [](const Array& p, const Array& q) {
    auto first = p >= q;  // chosen, so that equal operands get half of the derivative each
    auto large = where(first, p, q), small = where(first, q, p);
    auto finite = abs(large) < kInf;
    auto far = where(finite, small, 0) - where(finite, large, 0);
    return where(finite, large + log1p(exp(far * std::numbers::ln2)) / std::numbers::ln2, maximum(p, q));
  });
}
Array heaviside(const Array& x, const Array& at_zero) {
  auto [v, z] = real_fractions("heaviside", x, at_zero);
  return where(isnan(v), v, where(v == 0, z, where(v < 0, full_like(z, 0), full_like(z, 1))));
}
Array copysign(const Array& a, const Array& b) {
  auto [x, y] = real_fractions("copysign", a, b);
  return where(signbit(x) ^ signbit(y), -x, x);
}
Array fmax(const Array& a, const Array& b) {
  auto [x, y] = promoted_pair("fmax", a, b);
  takes_ordered("fmax", x.dtype());
  if (!is_float(x.dtype())) return maximum(x, y);
  return maximum(where(isnan(x), y, x), where(isnan(y), x, y));
}
Array fmin(const Array& a, const Array& b) {
  auto [x, y] = promoted_pair("fmin", a, b);
  takes_ordered("fmin", x.dtype());
  if (!is_float(x.dtype())) return minimum(x, y);
  return minimum(where(isnan(x), y, x), where(isnan(y), x, y));
}
Array logical_xor(const Array& a, const Array& b) { return a.astype(boolean) ^ b.astype(boolean); }
Array float_power(const Array& a, const Array& b) {
  auto [x, y] = fractions("float_power", a, b);
  return power(x, y);
}
QuotientRemainder divmod(const Array& a, const Array& b) { return {floor_divide(a, b), remainder(a, b)}; }
WholeAndFraction modf(const Array& x) {
  auto v = inexact(x);
  auto whole = trunc(v);
  return {copysign(where(abs(v) == kInf, 0, v - whole), v), copysign(whole, v)};
}
Array isclose(const Array& a, const Array& b, const CloseOptions& o) {
  check<ValueError>(o.rtol >= 0 && o.atol >= 0, "isclose: rtol = ", o.rtol, " and atol = ", o.atol,
                    " must not be negative");
  auto [x, y] = fractions("isclose", a, b);
  if (is_half(x.dtype())) x = x.astype(f32), y = y.astype(f32);
  auto r = x == y || (abs(x - y) <= o.atol + o.rtol * abs(y) && abs(y) < kInf);
  return o.equal_nan ? r || (isnan(x) && isnan(y)) : r;
}
bool array_equiv(const Array& a, const Array& b) {
  auto n = std::max(a.ndim(), b.ndim());
  for (std::int64_t d = 1; d <= n; ++d) {
    auto i = d <= a.ndim() ? a.shape(-d) : 1, j = d <= b.ndim() ? b.shape(-d) : 1;
    if (i != j && i != 1 && j != 1) return false;
  }
  auto shape = broadcast_shapes("array_equiv", a.shape(), b.shape());
  return array_equal(broadcast_to(a, shape), broadcast_to(b, shape));
}
}  // namespace bora
