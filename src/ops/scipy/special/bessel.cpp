// Bessel functions and spherical harmonics: primitives, one block each, and functions of them.
#include "bora/ops/complex.h"
#include "ops/primitives/by_element.h"
#include "ops/numpy/support.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/manipulation.h"

namespace bora::ops {
namespace {
// Slopes are primitives of their own: what the functions' recurrences subtract becomes equal near 0 and far out.
struct I1Slope {
  static constexpr std::string_view name = "i1_slope";
  static constexpr auto value = scalar::i1_slope<double>;
  static constexpr auto wide = scalar::i1_slope<long double>;
  static constexpr double nanoseconds = 500, range[][2] = {{-3, 3}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<I1Slope>(order + 1, v.in[0])}; }
};
struct I0eSlope {
  static constexpr std::string_view name = "i0e_slope";
  static constexpr auto value = scalar::i0e_slope<double>;
  static constexpr auto wide = scalar::i0e_slope<long double>;
  static constexpr double nanoseconds = 500, range[][2] = {{0.2, 3}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<I0eSlope>(order + 1, v.in[0])}; }
};
struct I1eSlope {
  static constexpr std::string_view name = "i1e_slope";
  static constexpr auto value = scalar::i1e_slope<double>;
  static constexpr auto wide = scalar::i1e_slope<long double>;
  static constexpr double nanoseconds = 500, range[][2] = {{0.2, 3}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<I1eSlope>(order + 1, v.in[0])}; }
};
struct I1 {
  static constexpr std::string_view name = "i1";
  static constexpr auto value = scalar::i1<double>;
  static constexpr auto wide = scalar::i1<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<I1Slope>(1, v.in[0])}; }
};
struct I0 {
  static constexpr std::string_view name = "i0";
  static constexpr auto value = scalar::i0<double>;
  static constexpr auto wide = scalar::i0<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_element<I1>(v.in[0])}; }
};
struct I1e {
  static constexpr std::string_view name = "i1e";
  static constexpr auto value = scalar::i1e<double>;
  static constexpr auto wide = scalar::i1e<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<I1eSlope>(1, v.in[0])}; }
};
struct I0e {
  static constexpr std::string_view name = "i0e";
  static constexpr auto value = scalar::i0e<double>;
  static constexpr auto wide = scalar::i0e<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<I0eSlope>(1, v.in[0])}; }
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
}  // namespace
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array i0(const Array& x) { return at_element<I0>(x); }
Array i0e(const Array& x) { return at_element<I0e>(x); }
Array i1(const Array& x) { return at_element<I1>(x); }
Array i1e(const Array& x) { return at_element<I1e>(x); }
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
