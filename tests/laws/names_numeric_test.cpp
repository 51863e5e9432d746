// Cases of numeric.h.
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
}
}  // namespace bora::laws::names_numeric_test
