// Inverses of trigonometric and hyperbolic functions.
#include "bora/ops/ufuncs.h"
#include <cmath>
#include "ops/primitives/by_element.h"
#include "ops/primitives/complex_arcs.h"
#include "ops/primitives/quotients.h"
#include "bora/array/primitive.h"

namespace bora::ops {
namespace {
struct Arcsin {
  static constexpr std::string_view name = "arcsin";
  static double value(double x) { return std::asin(x); }
  static constexpr double nanoseconds = 15, range[][2] = {{-0.9, 0.9}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * rsqrt(one_minus_square(v.in[0]))}; }
};
struct Arccos {
  static constexpr std::string_view name = "arccos";
  static double value(double x) { return std::acos(x); }
  static constexpr double nanoseconds = 15, range[][2] = {{-0.9, 0.9}};
  static Arrays vjp(const Vjp& v) { return {-(v.ct[0] * rsqrt(one_minus_square(v.in[0])))}; }
};
struct Arctan {
  static constexpr std::string_view name = "arctan";
  static double value(double x) { return std::atan(x); }
  static constexpr double nanoseconds = 20, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * inverse_part(1, v.in[0])}; }
};
struct Arcsinh {
  static constexpr std::string_view name = "arcsinh";
  static double value(double x) { return std::asinh(x); }
  static constexpr double nanoseconds = 30, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * unit_part(1, v.in[0])}; }
};
struct Arccosh {
  static constexpr std::string_view name = "arccosh";
  static double value(double x) { return std::acosh(x); }
  static constexpr double nanoseconds = 30, range[][2] = {{1.2, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (rsqrt(v.in[0] - 1) * rsqrt(v.in[0] + 1))}; }
};
/// Its operands are y, x.
struct Arctan2 {
  static constexpr std::string_view name = "arctan2";
  static double value(double y, double x) { return std::atan2(y, x); }
  static constexpr double nanoseconds = 30, range[][2] = {{-3, 3}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) {
    const auto &y = v.in[0], &x = v.in[1];
    return {v.needs[0] ? v.ct[0] * inverse_part(x, y) : Array{},
            v.needs[1] ? -(v.ct[0] * inverse_part(y, x)) : Array{}};
  }
};
template <class F> Array arc(const Array& x, Array (*of_complex)(const Array&)) {
  return is_complex(x.dtype()) ? of_complex(x) : at_element<F>(x);
}
}  // namespace
}  // namespace bora::ops

namespace bora {
using namespace ops;
Array arcsin(const Array& x) { return arc<Arcsin>(x, complex_arcsin); }
Array arccos(const Array& x) { return arc<Arccos>(x, complex_arccos); }
Array arctan(const Array& x) { return arc<Arctan>(x, complex_arctan); }
Array arcsinh(const Array& x) { return arc<Arcsinh>(x, complex_arcsinh); }
Array arccosh(const Array& x) { return arc<Arccosh>(x, complex_arccosh); }
Array arctan2(const Operand& y, const Operand& x) {
  for (auto* o : {&y, &x})
    check<DtypeError>(!o->is_array() || !is_complex(o->array().dtype()), "arctan2: takes real numbers, got ",
                      o->is_array() ? o->array().type() : Type{});
  return at_elements<Arctan2>("arctan2", y, x);
}
Array asin(const Array& x) { return arcsin(x); }
Array acos(const Array& x) { return arccos(x); }
Array atan(const Array& x) { return arctan(x); }
Array asinh(const Array& x) { return arcsinh(x); }
Array acosh(const Array& x) { return arccosh(x); }
Array atanh(const Array& x) { return arctanh(x); }
Array atan2(const Operand& y, const Operand& x) { return arctan2(y, x); }
}  // namespace bora
