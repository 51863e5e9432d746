// Integrals of exponentials, bells and waves: primitives, one block each, and functions of them.
#include <numbers>
#include "ops/primitives/by_element.h"
#include "ops/numpy/support.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/transform.h"

namespace bora::ops {
namespace {
struct Expi {
  static constexpr std::string_view name = "expi";
  static constexpr auto value = scalar::expi<double>;
  static constexpr auto wide = scalar::expi<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{0.5, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (exp(v.in[0]) / v.in[0])}; }
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
  static Arrays vjp(const Vjp& v) {
    auto one = v.in[0] == 1;
    auto x = where(one, 2, v.in[0]);
    return {v.ct[0] * where(one, -1, log(x) / (1 - x))};
  }
};
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
