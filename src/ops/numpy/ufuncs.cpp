// Functions of each element, and comparisons, written with other operations.
#include <cmath>
#include <numbers>
#include "bora/ops/accumulator.h"
#include "bora/ops/complex.h"
#include "bora/ops/ufuncs.h"
#include "ops/numpy/support.h"
#include "ops/primitives/dtype_checks.h"
#include "ops/primitives/quotients.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/reductions.h"
#include "bora/ops/manipulation.h"

namespace bora {
using namespace ops;
namespace {
/// log(x) / number. Both parts are divided, as a complex quotient makes inf + i y a NaN.
Array log_over(const Array& x, double number) {
  return in_f32(x, [&](const Array& v) {
    auto y = log(v);
    return is_complex(y.dtype()) ? complex(real(y) / number, imag(y) / number) : y / number;
  });
}
}  // namespace

Array& Array::operator+=(const Array& o) { return *this = *this + o; }
Array& Array::operator-=(const Array& o) { return *this = *this - o; }
Array& Array::operator*=(const Array& o) { return *this = *this * o; }
Array& Array::operator/=(const Array& o) { return *this = *this / o; }
Array& Array::operator+=(Scalar s) { return *this = *this + s; }
Array& Array::operator-=(Scalar s) { return *this = *this - s; }
Array& Array::operator*=(Scalar s) { return *this = *this * s; }
Array& Array::operator/=(Scalar s) { return *this = *this / s; }

Array clip(const Array& x, const Array& lo, const Array& hi) {
  (void)broadcast_shapes("clip", broadcast_shapes("clip", x.shape(), lo.shape()), hi.shape());
  return minimum(maximum(x, lo), hi);
}
Array clip(const Array& x, Scalar lo, Scalar hi) { return minimum(maximum(x, lo), hi); }
Array square(const Array& x) { return x * x; }
Array reciprocal(const Array& x) { return 1 / x; }
Array exp2(const Array& x) { return power(2, inexact(x)); }
Array log2(const Array& x) { return log_over(x, std::numbers::ln2); }
Array log10(const Array& x) { return log_over(x, std::numbers::ln10); }
Array tan(const Array& x) {
  if (!is_complex(x.dtype())) return sin(x) / cos(x);
  auto y = tanh(complex(-imag(x), real(x)));  // tanh(i x) = i tan(x): sine and cosine of large imaginary parts overflow
  return complex(imag(y), -real(y));
}
Array trunc(const Array& x) {
  takes_ordered("trunc", x.dtype());
  return is_inexact(x.dtype()) ? where(x < 0, ceil(x), floor(x)) : x;
}
Array isnan(const Array& x) { return x != x; }
Array isinf(const Array& x) { return is_inexact(x.dtype()) ? abs(x) == kInf : full_of({x.shape(), boolean}, false); }
Array logical_not(const Array& x) { return x.dtype() == boolean ? bitwise_not(x) : x == 0; }
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
  if (!is_narrow(x.dtype())) return f(x, y);
  return f(x.astype(f32), y.astype(f32)).astype(x.dtype());
}
}  // namespace

namespace {
/// sin(pi x) / (pi x) for |x| <= 1/2 by its power series in (pi x)^2, whose derivatives do not cancel.
Array sinc_near_0(const Array& x) {
  const int terms = x.dtype() == f32 ? 8 : 12;
  auto t = kPi * x, z = t * t;
  double coefficient = 1;
  for (int k = 1; k < terms; ++k) coefficient /= -2. * k * (2 * k + 1);
  auto y = full_of(z.type(), coefficient);
  for (int k = terms - 1; k > 0; --k) {
    coefficient *= -2. * k * (2 * k + 1);
    y = y * z + coefficient;
  }
  return y;
}
}  // namespace

Array sinc(const Array& x) {
  return in_f32(x, [](const Array& v) {
    auto near = abs(v) <= 0.5;
    // sin(pi x) = +-sin(pi (x - n)) with the nearest whole number n, exactly: 0 at whole numbers.
    auto far = where(near, 1, v), n = round(real(far)), sign = 1 - 2 * abs(n - 2 * round(n / 2));
    return where(near, sinc_near_0(where(near, v, 0)), sign * (1 / kPi) * sin(kPi * (far - n)) / far);
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
  auto largest = info(x.dtype()).largest;
  auto y = where(isnan(x), o.nan, x);
  y = where(x == kInf, o.posinf.value_or(largest), y);
  return where(x == -kInf, o.neginf.value_or(-largest), y);
}

Array hypot(const Array& a, const Array& b) {
  return of_two("hypot", a, b, [](const Array& x, const Array& y) { return length_of(x, y); });
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
  auto turned = where(signbit(x) ^ signbit(y), -x, x);
  return turned * stop_gradient(where(x == x, 1, x));  // the slope at NaN is NaN
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
  if (is_narrow(x.dtype())) x = x.astype(f32), y = y.astype(f32);
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

bool allclose(const Array& a, const Array& b, double rtol, double atol) {
  auto s = broadcast_shapes("allclose", a.shape(), b.shape());
  if (is_complex(a.dtype()) || is_complex(b.dtype())) {
    auto near = abs(a - b) <= atol + rtol * abs(b) && isfinite(b);
    return all(a == b || near).item<bool>();
  }
  auto x = broadcast_to(known_numbers(a), s).to_vector<double>();
  auto y = broadcast_to(known_numbers(b), s).to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i]) && std::isfinite(y[i]))) return false;
  return true;
}
bool array_equal(const Array& a, const Array& b) {
  return a.shape() == b.shape() && all(known_numbers(a) == known_numbers(b)).item<bool>();
}
namespace {
/// x's bits as an integer of the same size.
Array bits(const Array& x) { return bitcast(x, signed_integer(dtype_size(x.dtype()))); }
Array neighbour(const Array& x, const Array& y) {
  auto b = bits(x);
  auto away = (x < y) == (x > 0);
  auto next = where(away, b + 1, b - 1);
  auto smallest = bitcast(full_of(b.type(), 1), x.dtype());
  auto from_zero = where(y > 0, smallest, -smallest);
  auto moved = where(x == 0, from_zero, bitcast(next, x.dtype()));
  return where(isnan(x) || isnan(y), kNan, where(x == y, y, moved));
}
}  // namespace

Array nextafter(const Array& x, const Array& y) {
  auto [a, b] = promoted_pair("nextafter", real_fraction("nextafter", x), real_fraction("nextafter", y));
  a = stop_gradient(a), b = stop_gradient(b);
  return neighbour(a, b);
}
Array spacing(const Array& x) {
  auto v = stop_gradient(real_fraction("spacing", x));
  auto away = where(v < 0, full_like(v, -kInf), full_like(v, kInf));
  return where(isinf(v), kNan, nextafter(v, away) - v);
}
Frexp frexp(const Array& x) {
  auto v = real_fraction("frexp", x);
  if (is_narrow(v.dtype())) {
    auto r = frexp(v.astype(f32));
    return {r.mantissa.astype(v.dtype()), r.exponent};
  }
  auto wide = v.dtype() == f64;
  // Denormal numbers are made normal first.
  auto up = wide ? 54 : 25, width = wide ? 52 : 23, bias = wide ? 1022 : 126, mask = wide ? 2047 : 255;
  auto s = stop_gradient(v);
  auto small = abs(s) < (wide ? 0x1p-1022 : 0x1p-126);
  auto scaled = where(small, s * (wide ? 0x1p54 : 0x1p25), s);
  auto e = ((bits(scaled) >> width) & mask).astype(i32) - bias - where(small, up, 0);
  auto plain = s == 0 || !isfinite(s);
  auto exponent = where(plain, 0, e);
  return {where(plain, v, ldexp(v, -exponent)), exponent};
}
Array around(const Array& x, int decimals) {
  if (decimals == 0 || (decimals > 0 && !is_inexact(x.dtype()))) return round(x);
  check<DtypeError>(is_inexact(x.dtype()), "around: takes fractions, got ", x.type(), " and decimals = ", decimals);
  auto unit = std::pow(10., std::abs(decimals));
  return in_f32(x, [&](const Array& v) { return decimals > 0 ? round(v * unit) / unit : round(v / unit) * unit; });
}
}  // namespace bora
