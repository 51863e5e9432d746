// Integrals of waves and bells, Bessel functions, spherical harmonics: primitives, one block each, and functions of
// them.
#include <numbers>
#include "bora/ops/complex.h"
#include "bora/ops/special_further.h"
#include "ops/composed.h"
#include "ops/special/by_element.h"
#include "ops/special/scalar.h"

namespace bora::ops {
namespace {
struct Dawsn {
  static constexpr std::string_view name = "dawsn";
  static constexpr auto value = scalar::dawsn<double>;
  static constexpr auto wide = scalar::dawsn<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (1 - 2 * (v.in[0] * v.out[0]))}; }
};
struct FresnelS {
  static constexpr std::string_view name = "fresnel_s";
  static constexpr auto value = scalar::fresnel_s<double>;
  static constexpr auto wide = scalar::fresnel_s<long double>;
  static constexpr double nanoseconds = 300, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * sin(kPi / 2 * (v.in[0] * v.in[0]))}; }
};
struct FresnelC {
  static constexpr std::string_view name = "fresnel_c";
  static constexpr auto value = scalar::fresnel_c<double>;
  static constexpr auto wide = scalar::fresnel_c<long double>;
  static constexpr double nanoseconds = 300, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * cos(kPi / 2 * (v.in[0] * v.in[0]))}; }
};
struct SineIntegral {
  static constexpr std::string_view name = "sine_integral";
  static constexpr auto value = scalar::sine_integral<double>;
  static constexpr auto wide = scalar::sine_integral<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{0.3, 4}};
  static Arrays vjp(const Vjp& v) {
    auto zero = v.in[0] == 0;
    return {v.ct[0] * where(zero, 1, sin(v.in[0]) / where(zero, 1, v.in[0]))};
  }
};
struct CosineIntegral {
  static constexpr std::string_view name = "cosine_integral";
  static constexpr auto value = scalar::cosine_integral<double>;
  static constexpr auto wide = scalar::cosine_integral<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{0.3, 4}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (cos(v.in[0]) / v.in[0])}; }
};
struct OwensT {
  static constexpr std::string_view name = "owens_t";
  static constexpr auto value = scalar::owens_t<double>;
  static constexpr auto wide = scalar::owens_t<long double>;
  static constexpr double nanoseconds = 1000, range[][2] = {{-2, 2}, {-2, 2}};
  static Arrays vjp(const Vjp& v) {
    const auto &h = v.in[0], &a = v.in[1], &ct = v.ct[0];
    auto bell = exp(-0.5 * (h * h));
    return {v.needs[0] ? ct * (-0.5 / std::sqrt(2 * kPi) * (bell * erf(a * h * (1 / std::numbers::sqrt2)))) : Array{},
            v.needs[1] ? ct * (bell * exp(-0.5 * square(a * h)) / (2 * kPi * (1 + a * a))) : Array{}};
  }
};
/// Its first operand is a whole number.
struct BesselJ {
  static constexpr std::string_view name = "bessel_j";
  static constexpr auto value = scalar::bessel_j<double>;
  static constexpr auto wide = scalar::bessel_j<long double>;
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
  static constexpr auto value = scalar::harmonic<double>;
  static constexpr auto wide = scalar::harmonic<long double>;
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
/// boxcox and boxcox1p. By lambda: (1 + lambda y) log(x) / lambda - y / lambda, 0 for lambda = 0.
template <bool plus_one> struct BoxCox {
  static constexpr std::string_view name = plus_one ? "boxcox1p" : "boxcox";
  static constexpr auto value = plus_one ? scalar::boxcox1p<double> : scalar::boxcox<double>;
  static constexpr auto wide = plus_one ? scalar::boxcox1p<long double> : scalar::boxcox<long double>;
  static constexpr double nanoseconds = 40, range[][2] = {{0.5, 3}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) {
    const auto &x = v.in[0], &lambda = v.in[1], &y = v.out[0], &ct = v.ct[0];
    auto zero = lambda == 0;
    auto safe = where(zero, 1, lambda), logarithm = plus_one ? log1p(x) : log(x);
    return {v.needs[0] ? ct * exp((lambda - 1) * logarithm) : Array{},
            v.needs[1] ? where(zero, 0, ct * ((logarithm + safe * y * logarithm - y) / safe)) : Array{}};
  }
};
template <class F> Array real_only(const Array& x) {
  check<DtypeError>(!is_complex(x.dtype()), F::name, ": takes real numbers, got ", x.type());
  return at_element<F>(x);
}
}  // namespace
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array boxcox(const Operand& x, const Operand& lambda) {
  return at_elements<BoxCox<false>>("boxcox", x, lambda);
}
Array boxcox1p(const Operand& x, const Operand& lambda) {
  return at_elements<BoxCox<true>>("boxcox1p", x, lambda);
}
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
