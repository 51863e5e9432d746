// Hypergeometric functions and Faddeeva's: primitives, one block each, and functions of them.
#include <numbers>
#include "bora/ops/complex.h"
#include "bora/ops/special.h"
#include "ops/primitives/by_element.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "bora/ops/accumulator.h"

namespace bora::ops {
namespace {
constexpr double kSmooth[][2] = {{0.5, 2}, {0.6, 2}, {1.2, 3}, {-0.7, 0.7}};

struct Hyp1F1 {
  static constexpr std::string_view name = "hyp1f1";
  static constexpr auto value = scalar::hyp1f1<double>;
  static constexpr auto wide = scalar::hyp1f1<long double>;
  static constexpr double nanoseconds = 500, range[][2] = {{0.5, 2}, {0.6, 2}, {-2, 2}};
  static Arrays vjp(const Vjp& v);
};
/// The derivative by the first (else the second) parameter.
template <bool first> struct Hyp1F1By {
  static constexpr std::string_view name = first ? "hyp1f1_by_a" : "hyp1f1_by_b";
  static constexpr auto value = first ? scalar::hyp1f1_by_a<double> : scalar::hyp1f1_by_b<double>;
  static constexpr auto wide = first ? scalar::hyp1f1_by_a<long double> : scalar::hyp1f1_by_b<long double>;
  static constexpr double nanoseconds = 1000;
  static constexpr auto& range = Hyp1F1::range;
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0] && !v.needs[1],
                      "hyp1f1: its derivatives by a and b cannot be differentiated by a or b again");
    const auto &a = v.in[0], &b = v.in[1], &x = v.in[2];
    auto next = by_element<Hyp1F1>(a + 1, b + 1, x);
    auto direct = first ? next / b : -(a / (b * b) * next);
    return {Array{}, Array{}, v.ct[0] * (direct + a / b * by_element<Hyp1F1By>(a + 1, b + 1, x))};
  }
};
Arrays Hyp1F1::vjp(const Vjp& v) {
  const auto &a = v.in[0], &b = v.in[1], &x = v.in[2], &ct = v.ct[0];
  return {v.needs[0] ? ct * by_element<Hyp1F1By<true>>(a, b, x) : Array{},
          v.needs[1] ? ct * by_element<Hyp1F1By<false>>(a, b, x) : Array{},
          v.needs[2] ? ct * (a / b * by_element<Hyp1F1>(a + 1, b + 1, x)) : Array{}};
}
struct Hyp2F1 {
  static constexpr std::string_view name = "hyp2f1";
  static constexpr auto value = scalar::hyp2f1<double>;
  static constexpr auto wide = scalar::hyp2f1<long double>;
  static constexpr double nanoseconds = 800;
  static constexpr auto& range = kSmooth;
  static Arrays vjp(const Vjp& v);
};
/// The derivative by the first (else the third) parameter.
template <bool first> struct Hyp2F1By {
  static constexpr std::string_view name = first ? "hyp2f1_by_a" : "hyp2f1_by_c";
  static constexpr auto value = first ? scalar::hyp2f1_by_a<double> : scalar::hyp2f1_by_c<double>;
  static constexpr auto wide = first ? scalar::hyp2f1_by_a<long double> : scalar::hyp2f1_by_c<long double>;
  static constexpr double nanoseconds = 1500;
  static constexpr auto& range = kSmooth;
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0] && !v.needs[1] && !v.needs[2],
                      "hyp2f1: its derivatives by a, b and c cannot be differentiated by a, b or c again");
    const auto &a = v.in[0], &b = v.in[1], &c = v.in[2], &x = v.in[3];
    auto next = by_element<Hyp2F1>(a + 1, b + 1, c + 1, x);
    auto direct = first ? b / c * next : -(a * b / (c * c) * next);
    return {Array{}, Array{}, Array{},
            v.ct[0] * (direct + a * b / c * by_element<Hyp2F1By>(a + 1, b + 1, c + 1, x))};
  }
};
Arrays Hyp2F1::vjp(const Vjp& v) {
  const auto &a = v.in[0], &b = v.in[1], &c = v.in[2], &x = v.in[3], &ct = v.ct[0];
  return {v.needs[0] ? ct * by_element<Hyp2F1By<true>>(a, b, c, x) : Array{},
          v.needs[1] ? ct * by_element<Hyp2F1By<true>>(b, a, c, x) : Array{},
          v.needs[2] ? ct * by_element<Hyp2F1By<false>>(a, b, c, x) : Array{},
          v.needs[3] ? ct * (a * b / c * by_element<Hyp2F1>(a + 1, b + 1, c + 1, x)) : Array{}};
}
/// The parts of a derivative of w(x + i y): -2 z w + 2 i / sqrt(pi), and so on, would cancel far out.
template <bool real_part> struct WofzSlope {
  static constexpr std::string_view name = real_part ? "wofz_real_slope" : "wofz_imag_slope";
  static constexpr auto value = real_part ? scalar::wofz_real_slope<double> : scalar::wofz_imag_slope<double>;
  static constexpr auto wide = real_part ? scalar::wofz_real_slope<long double> : scalar::wofz_imag_slope<long double>;
  static constexpr double nanoseconds = 500, range[][2] = {{-2, 2}, {-1, 2}};
  static Arrays vjp(int order, const Vjp& v) {
    auto next = [&](bool real) {
      return v.ct[0] * (real ? by_order<WofzSlope<true>>(order + 1, v.in[0], v.in[1])
                             : by_order<WofzSlope<false>>(order + 1, v.in[0], v.in[1]));
    };
    return {v.needs[0] ? next(real_part) : Array{},
            v.needs[1] ? (real_part ? -next(false) : next(true)) : Array{}};
  }
};
/// The parts of w(x + i y).
template <bool real_part> struct Wofz {
  static constexpr std::string_view name = real_part ? "wofz_real" : "wofz_imag";
  static constexpr auto value = real_part ? scalar::wofz_real<double> : scalar::wofz_imag<double>;
  static constexpr auto wide = real_part ? scalar::wofz_real<long double> : scalar::wofz_imag<long double>;
  static constexpr double nanoseconds = 400, range[][2] = {{-2, 2}, {-1, 2}};
  static Arrays vjp(const Vjp& v) {
    return WofzSlope<real_part>::vjp(0, v);
  }
};
}  // namespace
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array hyp1f1(const Operand& a, const Operand& b, const Operand& x) {
  auto t = one_type("hyp1f1", {a, b, x});
  return by_element<Hyp1F1>(t.x[0], t.x[1], t.x[2]).astype(t.dtype);
}
Array hyp2f1(const Operand& a, const Operand& b, const Operand& c, const Operand& x) {
  auto t = one_type("hyp2f1", {a, b, c, x});
  return by_element<Hyp2F1>(t.x[0], t.x[1], t.x[2], t.x[3]).astype(t.dtype);
}
Array wofz(const Array& z) {
  auto x = real(z), y = imag(z);
  if (!is_complex(z.dtype())) {
    x = in_real_accumulator(z);
    y = zeros_like(x);
  }
  return complex(by_element<Wofz<true>>(x, y), by_element<Wofz<false>>(x, y));
}
}  // namespace bora::special
