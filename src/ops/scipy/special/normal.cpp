// Functions of the normal distribution and of its kin: primitives, one block each, and functions of them.
#include <numbers>
#include "ops/primitives/by_element.h"
#include "ops/numpy/support.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"

namespace bora::ops {
namespace {
constexpr double kRootTwoPi = std::numbers::sqrt2 / std::numbers::inv_sqrtpi;
struct Erfcx {
  static constexpr std::string_view name = "erfcx";
  static constexpr auto value = scalar::erfcx<double>;
  static constexpr auto wide = scalar::erfcx<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-2, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (2 * (v.in[0] * v.out[0]) - 2 * std::numbers::inv_sqrtpi)}; }
};
struct Ndtri {
  static constexpr std::string_view name = "ndtri";
  static constexpr auto value = scalar::ndtri<double>;
  static constexpr auto wide = scalar::ndtri<long double>;
  static constexpr double nanoseconds = 60, range[][2] = {{0.05, 0.95}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (kRootTwoPi * exp(0.5 * (v.out[0] * v.out[0])))}; }
};
struct InverseErf {
  static constexpr std::string_view name = "erfinv";
  static constexpr auto value = scalar::erfinv<double>;
  static constexpr auto wide = scalar::erfinv<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-0.9, 0.9}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (0.5 / std::numbers::inv_sqrtpi * exp(v.out[0] * v.out[0]))}; }
};
struct CauchyCdf {
  static constexpr std::string_view name = "cauchy_cdf";
  static constexpr auto value = scalar::cauchy_cdf<double>;
  static constexpr auto wide = scalar::cauchy_cdf<long double>;
  static constexpr double nanoseconds = 40, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (std::numbers::inv_pi / (1 + v.in[0] * v.in[0]))}; }
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

Array cauchy_cdf(A x) { return at_element<CauchyCdf>(x); }
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array erfinv(const Array& x) { return at_element<InverseErf>(x); }
Array erfcx(const Array& x) { return at_element<Erfcx>(x); }
Array ndtr(const Array& x) {
  return in_f32(x, [](A v) { return normal_cdf(v); });
}
/// Left of -1 from erfcx, whose logarithm grows slowly; right of it from the smaller of both probabilities.
Array log_ndtr(const Array& x) {
  return in_f32(x, [](A v) {
    auto tail = v < -1, positive = v > 0;
    auto u = where(tail, v, -1);
    auto far = log(0.5 * by_element<Erfcx>(u * -std::numbers::sqrt2 / 2)) - 0.5 * (u * u);
    auto near = where(positive, log1p(-normal_cdf(where(positive, -v, 0))), log(normal_cdf(where(tail, -1, v))));
    return where(tail, far, near);
  });
}
Array ndtri(const Array& p) { return at_element<Ndtri>(p); }
Array owens_t(const Operand& h, const Operand& a) { return at_elements<OwensT>("owens_t", h, a); }
}  // namespace bora::special
