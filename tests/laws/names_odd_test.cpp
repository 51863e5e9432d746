// Cases at awkward points: zeros with signs, infinities, NaN, equal operands, poles, division by zero, the ends of
// integers.
#include "bora/ops/bits.h"
#include "bora/ops/complex.h"
#include "bora/ops/masked.h"
#include "bora/ops/special.h"
#include "laws/names_odd.h"

namespace bora::laws::names_odd_test {
namespace {
Arrays parts(const Array& z) { return {real(z), imag(z)}; }
Arrays parts(const Histogram& h) { return {h.counts, h.edges}; }
/// i32 numbers as u64, modulo 2^64; and the lowest bits of a result, which i32 holds.
Array wide(const Array& x) { return bitcast(x.astype(i64), u64); }
Array low(const Array& x) { return bitcast(x & full_like(x, 65535), i64).astype(i32); }

void add_elementwise(NamedCases& cases) {
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
}
}  // namespace
void add_odd(NamedCases& cases) {
  add_elementwise(cases);
  BORA_CASE(smooth, "tan/complex", parts(tan(complex(a, b))));
  BORA_CASE(steps, "tan/odd", parts(tan(complex(a, b))));
  BORA_CASE(steps, "log2/odd", parts(log2(complex(a, b))));
  BORA_CASE(steps, "log10/odd", parts(log10(complex(a, b))));
  for (auto which : {"few", "none"}) {
    Dimensions axes = which == std::string("few") ? Dimensions(1) : Dimensions(none);
    masked::Options o{.keepdims = which == std::string("few"), .ddof = 1};
    BORA_CASE(steps, std::string("masked::var/") + which, masked::var(a, b, axes, o));
    BORA_CASE(steps, std::string("masked::stddev/") + which, masked::stddev(a, b, axes, o));
  }
  BORA_CASE(values, "compress/bool", compress(a, b));
  BORA_CASE(values, "extract/bool", extract(a, b));
  for (auto which : {"on_edges", "above_edges"})
    BORA_CASE(values, std::string("histogram/") + which, parts(histogram(a, 5)));
  BORA_CASE(steps, "special::polygamma/beside_poles", special::polygamma(a, b));
}

/// What a dtype is refused for is said by the name of the function, not of an operation behind it.
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
}  // namespace bora::laws::names_odd_test
