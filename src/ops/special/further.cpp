// Integrals of waves and bells, Bessel functions, spherical harmonics: primitives, one block each, and functions of
// them.
#include <complex>
#include <numbers>
#include "bora/ops/complex.h"
#include "bora/ops/special_further.h"
#include "ops/composed.h"
#include "ops/special/by_element.h"

namespace bora::ops {
namespace {
using std::numbers::pi;
using Complex = std::complex<double>;
constexpr double kTiny = 1e-300, kExact = 1e-16;
constexpr int kMost = 5000;

/// The continued fraction 1 / (b + a(1) / (b + step + a(2) / (b + 2 step + ..))) by Lentz' method.
template <class F> Complex fraction(Complex b, double step, const F& a) {
  Complex c = 1 / kTiny, d = 1.0 / b, h = d;
  for (int i = 1; i < kMost; ++i) {
    b += step;
    d = 1.0 / (a(i) * d + b);
    c = b + a(i) / c;
    auto change = c * d;
    h *= change;
    if (std::fabs(change.real() - 1) + std::fabs(change.imag()) < kExact) break;
  }
  return h;
}
/// Sum of terms until they no longer count; next(k, term) is term k + 1.
template <class F, class G> double series(double term, const F& next, const G& weight) {
  double sum = 0;
  for (int k = 0; k < kMost; term = next(k, term), ++k) {
    auto part = term * weight(k);
    sum += part;
    if (std::fabs(part) <= kExact * std::fabs(sum) * 0.1) break;
  }
  return sum;
}

double dawson(double x) {
  auto z = std::fabs(x);
  if (std::isnan(x)) return x;
  if (z < 0.3)
    return series(
        x, [&](int k, double t) { return -t * 2 * x * x / (2 * k + 3); }, [](int) { return 1.; });
  if (z > 1e8) return 0.5 / x;
  constexpr double h = 0.25;
  constexpr int terms = 14;
  auto n = 2 * std::floor(0.5 * z / h + 0.5);
  auto rest = z - n * h;
  double e1 = std::exp(2 * rest * h), e2 = e1 * e1, d1 = n + 1, d2 = n - 1, sum = 0;
  for (int i = 0; i < terms; ++i) {
    auto u = (2 * i + 1) * h;
    sum += std::exp(-u * u) * (e1 / d1 + 1 / (d2 * e1));
    d1 += 2, d2 -= 2, e1 *= e2;
  }
  return std::copysign(std::numbers::inv_sqrtpi * std::exp(-rest * rest) * sum, x);
}
/// C + i S.
Complex fresnel_integrals(double x) {
  auto z = std::fabs(x);
  if (std::isnan(x)) return {x, x};
  if (std::isinf(x)) return {std::copysign(0.5, x), std::copysign(0.5, x)};
  if (z < 1.5) {
    auto u = pi / 2 * x * x, squared = -u * u;
    auto next = [&](int k, double t) { return t * squared / ((2 * k + 1) * (2 * k + 2)); };
    auto next_odd = [&](int k, double t) { return t * squared / ((2 * k + 2) * (2 * k + 3)); };
    return {series(x, next, [](int k) { return 1. / (4 * k + 1); }),
            series(x * u, next_odd, [](int k) { return 1. / (4 * k + 3); })};
  }
  auto wave = pi * z * z;
  auto h = fraction({1, -wave}, 4, [](int i) { return -(2. * i - 1) * (2. * i); });
  h *= Complex(z, -z);
  auto r = Complex(0.5, 0.5) * (1.0 - Complex(std::cos(wave / 2), std::sin(wave / 2)) * h);
  return {std::copysign(r.real(), x), std::copysign(r.imag(), x)};
}
/// Ci + i Si of |x|.
Complex sine_cosine(double x) {
  auto z = std::fabs(x);
  if (std::isnan(x)) return {x, x};
  if (std::isinf(x)) return {0, pi / 2};
  if (z == 0) return {-HUGE_VAL, 0};
  if (z <= 2) {
    auto squared = -z * z;
    auto si = series(
        z, [&](int k, double t) { return t * squared / ((2 * k + 2) * (2 * k + 3)); },
        [](int k) { return 1. / (2 * k + 1); });
    auto ci = series(
        squared / 2, [&](int k, double t) { return t * squared / ((2 * k + 3) * (2 * k + 4)); },
        [](int k) { return 1. / (2 * k + 2); });
    return {std::numbers::egamma + std::log(z) + ci, si};
  }
  auto h = fraction({1, z}, 2, [](int i) { return -static_cast<double>(i) * i; });
  h *= Complex(std::cos(z), -std::sin(z));
  return {-h.real(), pi / 2 + h.imag()};
}
/// For 0 <= a <= 1: ten points of Gauss and Legendre on each of eight parts.
double owen_integral(double h, double a) {
  constexpr double point[] = {0.14887433898163122, 0.43339539412924719, 0.67940956829902441, 0.86506336668898451,
                              0.97390652851717172};
  constexpr double weight[] = {0.29552422471475287, 0.26926671930999636, 0.21908636251598204, 0.14945134915058059,
                               0.06667134430868814};
  constexpr int parts = 8;
  auto end = h > 0 ? std::fmin(a, 10 / h) : a, half = end / parts / 2;
  double sum = 0;
  auto value = [&](double t) { return std::exp(-0.5 * h * h * t * t) / (1 + t * t); };
  for (int p = 0; p < parts; ++p)
    for (int i = 0; i < 5; ++i) {
      auto middle = (2 * p + 1) * half;
      sum += weight[i] * (value(middle - half * point[i]) + value(middle + half * point[i]));
    }
  return sum * half * std::exp(-0.5 * h * h) / (2 * pi);
}
double owen(double h, double a) {
  if (std::isnan(h) || std::isnan(a)) return h + a;
  auto z = std::fabs(h), b = std::fabs(a);
  constexpr double root = 1 / std::numbers::sqrt2;
  double r;
  if (b <= 1) r = owen_integral(z, b);
  else if (z == 0) r = std::atan(b) / (2 * pi);
  else {
    auto far = z * b;
    auto rest = std::isinf(b) ? 0 : owen_integral(far, 1 / b);
    if (far <= 0.67) r = 0.25 - 0.25 * std::erf(z * root) * std::erf(far * root) - rest;
    else {
      auto p = 0.5 * std::erfc(z * root), q = 0.5 * std::erfc(far * root);
      r = 0.5 * (p + q) - p * q - rest;
    }
  }
  return std::copysign(r, a);
}
/// The harmonic at phi = 0.
double harmonic(double n, double m, double theta) {
  if (!(n >= 0) || n > 1e5 || n != std::floor(n) || m != std::floor(m)) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(m) > n) return 0;
  auto l = static_cast<unsigned>(n), k = static_cast<unsigned>(std::fabs(m));
  auto y = std::sph_legendre(l, k, theta);
  return m < 0 && k % 2 ? -y : y;
}

struct Dawsn {
  static constexpr std::string_view name = "dawsn";
  static constexpr auto value = dawson;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (1 - 2 * (v.in[0] * v.out[0]))}; }
};
struct FresnelS {
  static constexpr std::string_view name = "fresnel_s";
  static double value(double x) { return fresnel_integrals(x).imag(); }
  static constexpr double nanoseconds = 300, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * sin(pi / 2 * (v.in[0] * v.in[0]))}; }
};
struct FresnelC {
  static constexpr std::string_view name = "fresnel_c";
  static double value(double x) { return fresnel_integrals(x).real(); }
  static constexpr double nanoseconds = 300, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * cos(pi / 2 * (v.in[0] * v.in[0]))}; }
};
struct SineIntegral {
  static constexpr std::string_view name = "sine_integral";
  static double value(double x) { return std::copysign(sine_cosine(x).imag(), x); }
  static constexpr double nanoseconds = 200, range[][2] = {{0.3, 4}};
  static Arrays vjp(const Vjp& v) {
    auto zero = v.in[0] == 0;
    return {v.ct[0] * where(zero, 1, sin(v.in[0]) / where(zero, 1, v.in[0]))};
  }
};
struct CosineIntegral {
  static constexpr std::string_view name = "cosine_integral";
  static double value(double x) { return sine_cosine(x).real(); }
  static constexpr double nanoseconds = 200, range[][2] = {{0.3, 4}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (cos(v.in[0]) / v.in[0])}; }
};
struct OwensT {
  static constexpr std::string_view name = "owens_t";
  static constexpr auto value = owen;
  static constexpr double nanoseconds = 1000, range[][2] = {{-2, 2}, {-2, 2}};
  static Arrays vjp(const Vjp& v) {
    const auto &h = v.in[0], &a = v.in[1], &ct = v.ct[0];
    auto bell = exp(-0.5 * (h * h));
    return {v.needs[0] ? ct * (-0.5 / std::sqrt(2 * pi) * (bell * erf(a * h * (1 / std::numbers::sqrt2)))) : Array{},
            v.needs[1] ? ct * (bell * exp(-0.5 * square(a * h)) / (2 * pi * (1 + a * a))) : Array{}};
  }
};
/// Its first operand is a whole number.
struct BesselJ {
  static constexpr std::string_view name = "bessel_j";
  static double value(double n, double x) { return ::jn(static_cast<int>(n), x); }
  static constexpr double nanoseconds = 200, range[][2] = {{2, 2}, {0.5, 6}};
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0], "bessel_jn: its order is a whole number, by which nothing can be differentiated");
    const auto &n = v.in[0], &x = v.in[1];
    return {Array{}, v.ct[0] * (0.5 * (by_element<BesselJ>(n - 1, x) - by_element<BesselJ>(n + 1, x)))};
  }
};
/// Its first two operands are whole numbers.
struct Harmonic {
  static constexpr std::string_view name = "spherical_harmonic";
  static constexpr auto value = harmonic;
  static constexpr double nanoseconds = 300, range[][2] = {{3, 3}, {1, 1}, {0.5, 2.5}};
  static Arrays vjp(const Vjp& v) {  // by the ladder operators
    check<TraceError>(!v.needs[0] && !v.needs[1],
                      "sph_harm_y: degree and order are whole numbers, by which nothing can be differentiated");
    const auto &n = v.in[0], &m = v.in[1], &theta = v.in[2];
    auto up = sqrt(maximum((n - m) * (n + m + 1), 0)) * by_element<Harmonic>(n, m + 1, theta);
    auto down = sqrt(maximum((n + m) * (n - m + 1), 0)) * by_element<Harmonic>(n, m - 1, theta);
    return {Array{}, Array{}, v.ct[0] * (0.5 * (up - down))};
  }
};
template <class F> Array real_only(const Array& x) {
  check<DtypeError>(!is_complex(x.dtype()), F::name, ": takes real numbers, got ", x.type());
  return at_element<F>(x);
}
Array to_power(std::string_view what, const Operand& x, const Operand& lambda, Array (*logarithm)(const Array&)) {
  auto t = one_type(what, {x, lambda});
  auto zero = t.x[1] == 0;
  auto safe = where(zero, 1, t.x[1]);
  auto y = logarithm(t.x[0]);
  return where(zero, y, expm1(safe * y) / safe).astype(t.dtype);
}
}  // namespace
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array boxcox(const Operand& x, const Operand& lambda) { return to_power("boxcox", x, lambda, bora::log); }
Array boxcox1p(const Operand& x, const Operand& lambda) { return to_power("boxcox1p", x, lambda, bora::log1p); }
Array dawsn(const Array& x) { return real_only<Dawsn>(x); }
Fresnel fresnel(const Array& x) { return {real_only<FresnelS>(x), real_only<FresnelC>(x)}; }
SineCosine sici(const Array& x) { return {real_only<SineIntegral>(x), real_only<CosineIntegral>(x)}; }
Array owens_t(const Operand& h, const Operand& a) { return at_elements<OwensT>("owens_t", h, a); }
Array bessel_jn(const Array& x, std::int64_t v) {
  check<ValueError>(v >= 0, "bessel_jn: v = ", v, " must not be negative");
  return in_f32(x, [&](const Array& z) {
    Arrays orders;
    for (std::int64_t n = 0; n <= v; ++n) orders.push_back(by_element<BesselJ>(full_like(z, n), z));
    return stack(orders);
  });
}
Array sph_harm_y(const Operand& n, const Operand& m, const Operand& theta, const Operand& phi) {
  auto t = one_type("sph_harm_y", {n, m, theta, phi});
  auto degree = stop_gradient(t.x[0]), order = stop_gradient(t.x[1]);
  auto r = by_element<Harmonic>(degree, order, t.x[2]);
  auto turn = order * t.x[3];
  return complex(r * cos(turn), r * sin(turn));
}
}  // namespace bora::special
