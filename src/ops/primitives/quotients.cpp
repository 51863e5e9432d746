// Quotients and lengths that stay within the range; derivatives are made of them (kernels/loop/scaled.h).
#include "ops/primitives/quotients.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/elementwise_rules.h"

namespace bora::ops {
namespace {
struct MulDiv : Defaults {
  static constexpr std::string_view name = "mul_div";
  static constexpr auto linear = LinearIn::each;
  static Arrays vjp(const Vjp& v) {
    const auto &a = v.in[0], &b = v.in[1], &c = v.in[2], &ct = v.ct[0];
    return {v.needs[0] ? mul_div(ct, b, c) : Array{}, v.needs[1] ? mul_div(ct, a, c) : Array{},
            v.needs[2] ? -mul_div(ct, v.out[0], c) : Array{}};
  }
};
// With x = a, y = b and r^2 = x^2 + y^2 each derivative is a product of unit and inverse parts: nothing cancels, but
// for that of x / r^2 by x, which is 0 where |x| = |y|.
struct Hypot : Defaults {
  static constexpr std::string_view name = "hypot";
  static Array da(A a, A b, A, A ct) { return ct * unit_part(a, b); }
  static Array db(A a, A b, A, A ct) { return ct * unit_part(b, a); }
};
/// x / r: y^2 / r^3 and -x y / r^3.
struct UnitPart : Defaults {
  static constexpr std::string_view name = "unit_part";
  static Array da(A a, A b, A, A ct) { return ct * (unit_part(b, a) * inverse_part(b, a)); }
  static Array db(A a, A b, A y, A ct) { return -(ct * (y * inverse_part(b, a))); }
};
/// x / r^2: (y^2 - x^2) / r^4 and -2 x y / r^4.
struct InversePart : Defaults {
  static constexpr std::string_view name = "inverse_part";
  static Array da(A a, A b, A y, A ct) {
    auto other = inverse_part(b, a);
    return ct * ((other - y) * (other + y));
  }
  static Array db(A a, A b, A y, A ct) { return -2 * (ct * (y * inverse_part(b, a))); }
};
}  // namespace

Array mul_div(A a, A b, A c) { return apply<MulDiv>(a, b, c); }
Array length_of(A a, A b) { return apply<Hypot>(a, b); }
Array length_of(A a, double b) { return length_of(a, full_of(a.type(), b)); }
Array unit_part(A a, A b) { return apply<UnitPart>(a, b); }
Array unit_part(double a, A b) { return unit_part(full_of(b.type(), a), b); }
Array inverse_part(A a, A b) { return apply<InversePart>(a, b); }
Array inverse_part(double a, A b) { return inverse_part(full_of(b.type(), a), b); }
Array one_minus_square(A x) { return where(x == x, fma(-x, x, ones_like(x)), x); }
}  // namespace bora::ops
