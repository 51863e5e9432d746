// Integrals of exponentials, bells and waves: primitives, one block each, and functions of them.
#include <numbers>
#include "ops/primitives/by_element.h"
#include "ops/numpy/support.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/transform.h"

namespace bora::ops {
namespace {
struct ExpiSlope {
  static constexpr std::string_view name = "expi_slope";
  static constexpr auto value = scalar::expi_slope<double>;
  static constexpr auto wide = scalar::expi_slope<long double>;
  static constexpr double nanoseconds = 60, range[][2] = {{0.5, 3}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<ExpiSlope>(order + 1, v.in[0])}; }
};
struct SpenceSlope {
  static constexpr std::string_view name = "spence_slope";
  static constexpr auto value = scalar::spence_slope<double>;
  static constexpr auto wide = scalar::spence_slope<long double>;
  static constexpr double nanoseconds = 80, range[][2] = {{0.2, 0.9}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<SpenceSlope>(order + 1, v.in[0])}; }
};
struct DawsnSlope {
  static constexpr std::string_view name = "dawsn_slope";
  static constexpr auto value = scalar::dawsn_slope<double>;
  static constexpr auto wide = scalar::dawsn_slope<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{-3, 3}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<DawsnSlope>(order + 1, v.in[0])}; }
};
struct SineIntegralSlope {
  static constexpr std::string_view name = "sine_integral_slope";
  static constexpr auto value = scalar::sine_integral_slope<double>;
  static constexpr auto wide = scalar::sine_integral_slope<long double>;
  static constexpr double nanoseconds = 100, range[][2] = {{0.3, 4}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<SineIntegralSlope>(order + 1, v.in[0])}; }
};
/// The sine or cosine of pi x^2 / 2.
template <bool sine> struct FresnelWave {
  static constexpr std::string_view name = sine ? "fresnel_sine" : "fresnel_cosine";
  static double value(double x) { return scalar::fresnel_wave(x, sine); }
  static long double wide(long double x) { return scalar::fresnel_wave(x, sine); }
  static constexpr double nanoseconds = 100, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) {
    auto turn = kPi * v.in[0] * by_element<FresnelWave<!sine>>(v.in[0]);
    return {v.ct[0] * (sine ? turn : -turn)};
  }
};
struct Expi {
  static constexpr std::string_view name = "expi";
  static constexpr auto value = scalar::expi<double>;
  static constexpr auto wide = scalar::expi<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{0.5, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<ExpiSlope>(1, v.in[0])}; }
};
/// Its first operand is a whole number.
struct Expn {
  static constexpr std::string_view name = "expn";
  static constexpr auto value = scalar::expn<double>;
  static constexpr auto wide = scalar::expn<long double>;
  static constexpr double nanoseconds = 300, range[][2] = {{2, 2}, {0.5, 3}};
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0], "expn: its order is a whole number, by which nothing can be differentiated");
    return {Array{}, -(v.ct[0] * by_element<Expn>(v.in[0] - 1, v.in[1]))};
  }
};
struct Spence {
  static constexpr std::string_view name = "spence";
  static constexpr auto value = scalar::spence<double>;
  static constexpr auto wide = scalar::spence<long double>;
  static constexpr double nanoseconds = 60, range[][2] = {{0.2, 0.9}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<SpenceSlope>(1, v.in[0])}; }
};
struct Dawsn {
  static constexpr std::string_view name = "dawsn";
  static constexpr auto value = scalar::dawsn<double>;
  static constexpr auto wide = scalar::dawsn<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<DawsnSlope>(1, v.in[0])}; }
};
struct FresnelS {
  static constexpr std::string_view name = "fresnel_s";
  static constexpr auto value = scalar::fresnel_s<double>;
  static constexpr auto wide = scalar::fresnel_s<long double>;
  static constexpr double nanoseconds = 300, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_element<FresnelWave<true>>(v.in[0])}; }
};
struct FresnelC {
  static constexpr std::string_view name = "fresnel_c";
  static constexpr auto value = scalar::fresnel_c<double>;
  static constexpr auto wide = scalar::fresnel_c<long double>;
  static constexpr double nanoseconds = 300, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_element<FresnelWave<false>>(v.in[0])}; }
};
struct SineIntegral {
  static constexpr std::string_view name = "sine_integral";
  static constexpr auto value = scalar::sine_integral<double>;
  static constexpr auto wide = scalar::sine_integral<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{0.3, 4}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<SineIntegralSlope>(1, v.in[0])}; }
};
struct CosineIntegral {
  static constexpr std::string_view name = "cosine_integral";
  static constexpr auto value = scalar::cosine_integral<double>;
  static constexpr auto wide = scalar::cosine_integral<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{0.3, 4}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (cos(v.in[0]) / v.in[0])}; }
};
template <class F> Array real_only(const Array& x) {
  check<DtypeError>(!is_complex(x.dtype()), F::name, ": takes real numbers, got ", x.type());
  return at_element<F>(x);
}
}  // namespace
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array exp1(const Array& x) { return expn(1, x); }
Array expi(const Array& x) { return at_element<Expi>(x); }
Array expn(const Operand& n, const Operand& x) {
  auto t = one_type("expn", {n, x});
  return by_element<Expn>(stop_gradient(t.x[0]), t.x[1]).astype(t.dtype);
}
Array spence(const Array& x) { return at_element<Spence>(x); }
Array dawsn(const Array& x) { return real_only<Dawsn>(x); }
Fresnel fresnel(const Array& x) { return {real_only<FresnelS>(x), real_only<FresnelC>(x)}; }
SineCosine sici(const Array& x) { return {real_only<SineIntegral>(x), real_only<CosineIntegral>(x)}; }
}  // namespace bora::special
