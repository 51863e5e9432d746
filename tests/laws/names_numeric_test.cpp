// Cases of calculus.h, contractions.h, polynomials.h, and of composites in ufuncs.h.
#include "laws/names_table.h"

namespace bora::laws::names_numeric_test {
namespace {
void add_signals(NamedCases& cases) {
  for (auto mode : {Overlap::full, Overlap::same, Overlap::valid}) {
    std::string name = mode == Overlap::full ? "full" : mode == Overlap::same ? "same" : "valid";
    for (auto m : {"1", "2", "3", "7", "4"}) {
      BORA_CASE(smooth, "convolve/" + name + m, convolve(a, b, mode));
      BORA_CASE(smooth, "correlate/" + name + m, correlate(a, b, mode));
    }
    for (auto m : {"2", "3"}) {
      BORA_CASE(smooth, "convolve/short_" + name + m, convolve(a, b, mode));
      BORA_CASE(smooth, "correlate/short_" + name + m, correlate(a, b, mode));
      BORA_CASE(smooth, "correlate/even_" + name + m, correlate(a, b, mode));
    }
  }
  for (std::int64_t n : {0, 1, 2, 5, 8}) {
    auto rest = "/" + std::to_string(n);
    BORA_CASE(steps, "bartlett" + rest, bartlett(n, f64));
    BORA_CASE(steps, "blackman" + rest, blackman(n, f64));
    BORA_CASE(steps, "hamming" + rest, hamming(n, f64));
    BORA_CASE(steps, "hanning" + rest, hanning(n, f64));
  }
}
void add_elementwise(NamedCases& cases) {
  using One = Array (*)(const Array&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, One>>{{"sinc", sinc},
                                                                           {"deg2rad", deg2rad},
                                                                           {"rad2deg", rad2deg},
                                                                           {"radians", radians},
                                                                           {"degrees", degrees},
                                                                           {"positive", positive},
                                                                           {"fabs", fabs}}) {
    auto g = f;
    BORA_CASE(smooth, name, g(a));
    BORA_CASE(steps, name + "/odd", g(a));
  }
  for (auto [name, f] : std::initializer_list<std::pair<std::string, One>>{
           {"rint", rint}, {"signbit", signbit}, {"isposinf", isposinf}, {"isneginf", isneginf}}) {
    auto g = f;
    BORA_CASE(steps, name, g(a));
    BORA_CASE(steps, name + "/odd", g(a));
  }
  BORA_CASE(steps, "fix", fix(a));
  BORA_CASE(smooth, "sinc/zero", sinc(a));
  BORA_CASE(smooth, "nan_to_num", nan_to_num(a));
  BORA_CASE(steps, "nan_to_num/odd", nan_to_num(a));
  BORA_CASE(steps, "nan_to_num/numbers", nan_to_num(a, {.nan = 1.5, .posinf = 3., .neginf = -2.}));
  using Two = Array (*)(const Array&, const Array&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Two>>{
           {"hypot", hypot}, {"logaddexp2", logaddexp2}, {"copysign", copysign}, {"fmax", fmax}, {"fmin", fmin}}) {
    auto g = f;
    BORA_CASE(smooth, name, g(a, b));
    BORA_CASE(steps, name + "/odd", g(a, b));
  }
  for (auto rest : {"", "/odd"}) {
    BORA_CASE(steps, std::string("heaviside") + rest, heaviside(a, b));
    BORA_CASE(steps, std::string("logical_xor") + rest, logical_xor(a, b));
    BORA_CASE(steps, std::string("isclose") + rest, isclose(a, b));
  }
  BORA_CASE(steps, "isclose/nan", isclose(a, b, {.rtol = 0.1, .equal_nan = true}));
  BORA_CASE(steps, "hypot/large", hypot(a, b));
  BORA_CASE(smooth, "float_power", float_power(a, b));
  auto quotient = [](const QuotientRemainder& r) { return Arrays{r.quotient, r.remainder}; };
  BORA_CASE(steps, "divmod", quotient(divmod(a, b)));
  auto both = [](const WholeAndFraction& r) { return Arrays{r.fraction, r.whole}; };
  BORA_CASE(smooth, "modf", both(modf(a)));
  BORA_CASE(steps, "modf/odd", both(modf(a)));
}
void add_tensordots(NamedCases& cases) {
  BORA_CASE(smooth, "tensordot/pair", tensordot(a, b, {1, 0}));
  BORA_CASE(smooth, "tensordot/lists", tensordot(a, b, {{1, 2}, {0, 1}}));
  BORA_CASE(smooth, "tensordot/turned", tensordot(a, b, {{2, 1}, {1, 0}}));
  BORA_CASE(smooth, "tensordot/negative", tensordot(a, b, {{-2}, {-1}}));
  BORA_CASE(smooth, "tensordot/none", tensordot(a, b, TensordotAxes(Dims{}, Dims{})));
}
void add_differences(NamedCases& cases) {
  BORA_CASE(smooth, "diff/prepend", diff(a, 1, -1, {.prepend = 2.5}));
  BORA_CASE(smooth, "diff/append", diff(a, 1, -1, {.append = b}));
  BORA_CASE(smooth, "diff/ends", diff(a, 2, 0, {.prepend = b, .append = -1.}));
  BORA_CASE(smooth, "diff/scalar_array", diff(a, 1, -1, {.prepend = b}));
  BORA_CASE(steps, "diff/whole", diff(a, 1, -1, {.prepend = 0, .append = 7}));
  BORA_CASE(steps, "diff/flags", diff(a, 1, -1, {.prepend = true}));
  BORA_CASE(smooth, "diff/none", diff(a, 0, -1, {.prepend = 1.}));
  BORA_CASE(steps, "diff/from_nothing", diff(a, 1, -1, {.prepend = 1., .append = 4.}));
  for (auto name : {"plane", "plane_one", "plane_space", "space_plane", "whole"})
    BORA_CASE(smooth, std::string("cross/") + name, cross(a, b));
  for (auto name : {"plane_axis", "plane_space_axis"})
    BORA_CASE(smooth, std::string("cross/") + name, cross(a, b, 0));
  BORA_CASE(smooth, "cross/axes", cross(a, b, {.a = 0, .b = 1, .result = 0}));
  BORA_CASE(smooth, "cross/axes_last", cross(a, b, {.a = 0}));
}
Arrays parts(const Array& z) { return {real(z), imag(z)}; }
/// i32 numbers as u64, modulo 2^64; and the lowest bits of a result, which i32 holds.
Array wide(const Array& x) { return bitcast(x.astype(i64), u64); }
Array low(const Array& x) { return bitcast(x & full_like(x, 65535), i64).astype(i32); }
void add_odd_numbers(NamedCases& cases) {
  using One = Array (*)(const Array&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, One>>{
           {"exp", exp}, {"expm1", expm1}, {"log", log}, {"log1p", log1p}, {"sqrt", sqrt}, {"cbrt", cbrt},
           {"tanh", tanh}, {"arctan", arctan}, {"sign", sign}, {"floor", floor}, {"ceil", ceil}, {"trunc", trunc},
           {"rint", rint}, {"spacing", spacing}, {"sinc", sinc}}) {
    auto of = f;
    BORA_CASE(steps, name + "/odd", of(a));
  }
  using Two = Array (*)(const Array&, const Array&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Two>>{
           {"floor_divide", floor_divide}, {"remainder", remainder}, {"fmod", fmod}, {"power", power},
           {"maximum", maximum}, {"minimum", minimum}, {"logaddexp", logaddexp}, {"logaddexp2", logaddexp2},
           {"hypot", hypot}, {"copysign", copysign}, {"fmax", fmax}, {"fmin", fmin}, {"heaviside", heaviside},
           {"nextafter", nextafter}}) {
    auto of = f;
    BORA_CASE(steps, name + "/odd", of(a, b));
  }
  BORA_CASE(steps, "arctan2/odd", arctan2(a, b));
  BORA_CASE(smooth, "logaddexp2/equal", logaddexp2(a, b));  // each operand has half the derivative
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Two>>{
           {"remainder", remainder}, {"fmod", fmod}, {"gcd", gcd}, {"bitwise_xor", bitwise_xor},
           {"left_shift", left_shift}, {"right_shift", right_shift}, {"power", power},
           {"floor_divide", floor_divide}})
    for (auto d : {"i32", "u8"}) {
      auto of = f;
      BORA_CASE(steps, name + "/odd_" + d, of(a, b));
    }
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Two>>{
           {"remainder", remainder}, {"power", power}, {"floor_divide", floor_divide}}) {
    auto of = f;
    BORA_CASE(steps, name + "/odd_u64", low(of(wide(a), wide(b))));
  }
  BORA_CASE(smooth, "tan/complex", parts(tan(complex(a, b))));
  BORA_CASE(steps, "tan/odd", parts(tan(complex(a, b))));
  BORA_CASE(steps, "log2/odd", parts(log2(complex(a, b))));
  BORA_CASE(steps, "log10/odd", parts(log10(complex(a, b))));
}
}  // namespace
void add_numeric(NamedCases& cases) {
  BORA_CASE(smooth, "diff", diff(a));
  BORA_CASE(smooth, "diff/twice", diff(a, 2, 0));
  BORA_CASE(steps, "diff/all", diff(a, 9, 1));
  BORA_CASE(steps, "diff/bool", diff(a));
  BORA_CASE(steps, "diff/empty", diff(a));
  BORA_CASE(smooth, "ediff1d", ediff1d(a));
  BORA_CASE(smooth, "ediff1d/ends", ediff1d(a, b, -b));
  BORA_CASE(smooth, "gradient", gradient(a));
  BORA_CASE(smooth, "gradient/distance", gradient(a, 0.5, 0));
  BORA_CASE(smooth, "gradient/coordinates", gradient(a, b, 1));
  BORA_CASE(smooth, "gradient/two", gradient(a));
  BORA_CASE(smooth, "trapezoid", trapezoid(a, 0.5));
  BORA_CASE(smooth, "trapezoid/coordinates", trapezoid(a, b, 0));
  BORA_CASE(smooth, "trapezoid/same", trapezoid(a, b, 1));
  BORA_CASE(smooth, "trapezoid/one", trapezoid(a));
  BORA_CASE(steps, "trapezoid/empty", trapezoid(a));
  BORA_CASE(smooth, "interp", interp(a, b, c));
  BORA_CASE(smooth, "interp/ends", interp(a, b, c, {.left = -5., .right = 7.}));
  BORA_CASE(steps, "interp/odd", interp(a, b, c));
  BORA_CASE(steps, "interp/one", interp(a, b, c));
  BORA_CASE(smooth, "unwrap", unwrap(a));
  BORA_CASE(smooth, "unwrap/period", unwrap(a, 0, {.discont = 1.5, .period = 2.5}));
  BORA_CASE(steps, "unwrap/half", unwrap(a, -1, {.period = 4}));
  BORA_CASE(smooth, "cross", cross(a, b));
  BORA_CASE(smooth, "cross/axis", cross(a, b, 0));
  BORA_CASE(smooth, "cross/broadcast", cross(a, b));
  BORA_CASE(smooth, "kron", kron(a, b));
  BORA_CASE(smooth, "kron/ranks", kron(a, b));
  for (auto name : {"inner", "inner/vector", "inner/scalar"}) BORA_CASE(smooth, name, inner(a, b));
  BORA_CASE(smooth, "vdot", vdot(a, b));
  BORA_CASE(smooth, "vecdot", vecdot(a, b));
  BORA_CASE(smooth, "vecdot/axis", vecdot(a, b, 0));
  BORA_CASE(smooth, "matvec", matvec(a, b));
  BORA_CASE(smooth, "vecmat", vecmat(a, b));
  BORA_CASE(smooth, "vander", vander(a));
  BORA_CASE(smooth, "vander/columns", vander(a, 3, true));
  BORA_CASE(smooth, "vander/zero", vander(a, 3));
  BORA_CASE(smooth, "polyval", polyval(a, b));
  BORA_CASE(steps, "polyval/empty", polyval(a, b));
  BORA_CASE(smooth, "polyadd", polyadd(a, b));
  BORA_CASE(smooth, "polysub", polysub(a, b));
  BORA_CASE(smooth, "polymul", polymul(a, b));
  BORA_CASE(smooth, "polyder", polyder(a));
  BORA_CASE(smooth, "polyder/twice", polyder(a, 2));
  BORA_CASE(smooth, "polyint", polyint(a));
  BORA_CASE(smooth, "polyint/twice", polyint(a, 2));
  BORA_CASE(smooth, "poly", poly(a));
  add_signals(cases);
  add_elementwise(cases);
  add_tensordots(cases);
  add_differences(cases);
  add_odd_numbers(cases);
}
namespace {
/// A refused dtype is reported by the name of the function, not of an operation behind it.
TEST(Names, RefusalsNameTheFunction) {
  using F = std::function<Array(const Array&)>;
#define BORA_OF_ONE(f) {#f, [](const Array& x) { return f(x); }}
#define BORA_OF_TWO(f) {#f, [](const Array& x) { return f(x, x); }}
  std::vector<std::pair<std::string, F>> all{
      BORA_OF_ONE(negative),     BORA_OF_ONE(bitwise_not), BORA_OF_ONE(trunc),       BORA_OF_ONE(floor),
      BORA_OF_ONE(sign),         BORA_OF_ONE(relu),        BORA_OF_ONE(softplus),    BORA_OF_ONE(gelu),
      BORA_OF_ONE(signbit),      BORA_OF_ONE(median),      BORA_OF_ONE(arctanh),     BORA_OF_ONE(cumprod),
      BORA_OF_TWO(subtract),     BORA_OF_TWO(multiply),    BORA_OF_TWO(divide),      BORA_OF_TWO(floor_divide),
      BORA_OF_TWO(remainder),    BORA_OF_TWO(fmod),        BORA_OF_TWO(power),       BORA_OF_TWO(maximum),
      BORA_OF_TWO(minimum),      BORA_OF_TWO(logaddexp),   BORA_OF_TWO(logaddexp2),  BORA_OF_TWO(less),
      BORA_OF_TWO(bitwise_and),  BORA_OF_TWO(bitwise_or),  BORA_OF_TWO(bitwise_xor), BORA_OF_TWO(left_shift),
      BORA_OF_TWO(right_shift),  BORA_OF_TWO(hypot),       BORA_OF_TWO(heaviside),   BORA_OF_TWO(copysign),
      BORA_OF_TWO(fmax),         BORA_OF_TWO(fmin),        BORA_OF_TWO(nextafter),   BORA_OF_TWO(gcd),
      BORA_OF_TWO(lcm),          BORA_OF_TWO(mulhi),       BORA_OF_TWO(searchsorted)};
#undef BORA_OF_ONE
#undef BORA_OF_TWO
  for (auto& [name, f] : all)
    for (auto d : {boolean, i32, u64, f32, complex64}) try {
        (void)f(ones({2}, d));
      } catch (const DtypeError& e) { EXPECT_EQ(e.text().substr(0, name.size() + 1), name + ":") << e.text(); }
}
}  // namespace
}  // namespace bora::laws::names_numeric_test
