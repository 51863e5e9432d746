// Functions of the normal distribution and of its kin: primitives, one block each, and functions of them.
#include <numbers>
#include "ops/primitives/by_element.h"
#include "ops/numpy/support.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"

namespace bora::ops {
namespace {
struct ErfcxSlope {
  static constexpr std::string_view name = "erfcx_slope";
  static constexpr auto value = scalar::erfcx_slope<double>;
  static constexpr auto wide = scalar::erfcx_slope<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{-2, 3}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<ErfcxSlope>(order + 1, v.in[0])}; }
};
struct Erfcx {
  static constexpr std::string_view name = "erfcx";
  static constexpr auto value = scalar::erfcx<double>;
  static constexpr auto wide = scalar::erfcx<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-2, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<ErfcxSlope>(1, v.in[0])}; }
};
/// The slope y of ndtri has the derivative ndtri y^2.
struct NdtriSlope {
  static constexpr std::string_view name = "ndtri_slope";
  static constexpr auto value = scalar::ndtri_slope<double>;
  static constexpr auto wide = scalar::ndtri_slope<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{0.05, 0.95}};
  static Arrays vjp(const Vjp& v);
};
struct Ndtri {
  static constexpr std::string_view name = "ndtri";
  static constexpr auto value = scalar::ndtri<double>;
  static constexpr auto wide = scalar::ndtri<long double>;
  static constexpr double nanoseconds = 60, range[][2] = {{0.05, 0.95}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_element<NdtriSlope>(v.in[0])}; }
};
Arrays NdtriSlope::vjp(const Vjp& v) { return {v.ct[0] * (by_element<Ndtri>(v.in[0]) * v.out[0] * v.out[0])}; }
struct InverseErf {
  static constexpr std::string_view name = "erfinv";
  static constexpr auto value = scalar::erfinv<double>;
  static constexpr auto wide = scalar::erfinv<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-0.9, 0.9}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (0.5 / std::numbers::inv_sqrtpi * exp(v.out[0] * v.out[0]))}; }
};
struct MillsGap {
  static constexpr std::string_view name = "mills_gap";
  static constexpr auto value = scalar::mills_gap<double>;
  static constexpr auto wide = scalar::mills_gap<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v);
};
/// The density of the normal distribution over its distribution function: its derivative is -m (x + m).
struct Mills {
  static constexpr std::string_view name = "mills";
  static constexpr auto value = scalar::mills<double>;
  static constexpr auto wide = scalar::mills<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {-(v.ct[0] * (v.out[0] * by_element<MillsGap>(v.in[0])))}; }
};
Arrays MillsGap::vjp(const Vjp& v) { return {v.ct[0] * (1 - by_element<Mills>(v.in[0]) * v.out[0])}; }
struct LogNdtr {
  static constexpr std::string_view name = "log_ndtr";
  static constexpr auto value = scalar::log_ndtr<double>;
  static constexpr auto wide = scalar::log_ndtr<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_element<Mills>(v.in[0])}; }
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
}  // namespace
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array erfinv(const Array& x) { return at_element<InverseErf>(x); }
Array erfcx(const Array& x) { return at_element<Erfcx>(x); }
Array ndtr(const Array& x) {
  return in_f32(x, [](A v) { return normal_cdf(v); });
}
Array log_ndtr(const Array& x) { return at_element<LogNdtr>(x); }
Array ndtri(const Array& p) { return at_element<Ndtri>(p); }
Array owens_t(const Operand& h, const Operand& a) { return at_elements<OwensT>("owens_t", h, a); }
}  // namespace bora::special
