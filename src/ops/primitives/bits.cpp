// Primitives on the bits of whole and of floating numbers.
#include <bit>
#include <numeric>
#include "base/api/complex.h"
#include "bora/base/parallel.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/by_element.h"
#include "bora/array/primitive.h"

namespace bora::ops {
namespace {
template <class T> using Bits = std::make_unsigned_t<T>;
/// A primitive on integers of one dtype: a tag holds its name, whether it takes one operand or two, and the function.
template <class F> struct ByInteger {
  static constexpr std::string_view name = F::name;
  static constexpr bool any_dtype = true;
  Type infer(const Types& in) const {
    for (auto& t : in)
      check<DtypeError>(t == in[0] && is_integer(t.dtype), name, ": takes integers of one type, got ", t);
    return in.at(0);
  }
  void eval(InputViews in, OutputViews out) const {
    dispatch_real(out[0].type.dtype, name, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        auto *a = in[0].as<T>(), *b = in.back().as<T>();
        auto* y = out[0].as<T>();
        parallel_for(out[0].type.size(), grain_for(F::nanoseconds), [&](std::int64_t begin, std::int64_t end) {
          for (auto i = begin; i < end; ++i) y[i] = static_cast<T>(F::value(a[i], b[i]));
        });
      }
    });
  }
  Arrays vjp(const Vjp& v) const { return Arrays(v.in.size()); }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  ByInteger lift(std::int64_t) const { return {}; }
  static SamplesOf<ByInteger> samples() {
    Arrays in{random_values({2, 3}, -99, 99, 1, i32)};
    if (F::two) in.push_back(random_values({2, 3}, 0, 40, 2, i32));
    return {{{}, in}};
  }
};
struct PopulationCount {
  static constexpr std::string_view name = "population_count";
  static constexpr bool two = false;
  static constexpr double nanoseconds = 1;
  template <class T> static int value(T a, T) { return std::popcount(static_cast<Bits<T>>(a)); }
};
struct Clz {
  static constexpr std::string_view name = "clz";
  static constexpr bool two = false;
  static constexpr double nanoseconds = 1;
  template <class T> static int value(T a, T) { return std::countl_zero(static_cast<Bits<T>>(a)); }
};
struct ShiftRightLogical {
  static constexpr std::string_view name = "shift_right_logical";
  static constexpr bool two = true;
  static constexpr double nanoseconds = 1;
  template <class T> static Bits<T> value(T a, T n) {
    auto places = static_cast<Bits<T>>(n);  // a negative number of places is a large one
    if (places >= 8 * sizeof(T)) return 0;
    return static_cast<Bits<T>>(static_cast<Bits<T>>(a) >> places);
  }
};
struct Mulhi {
  static constexpr std::string_view name = "mulhi";
  static constexpr bool two = true;
  static constexpr double nanoseconds = 1;
  template <class T> static T value(T a, T b) {
    using Wide = __int128;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
};
struct Gcd {
  static constexpr std::string_view name = "gcd";
  static constexpr bool two = true;
  static constexpr double nanoseconds = 40;
  template <class T> static Bits<T> magnitude(T a) {
    return a < 0 ? static_cast<Bits<T>>(0 - static_cast<Bits<T>>(a)) : static_cast<Bits<T>>(a);
  }
  template <class T> static Bits<T> value(T a, T b) { return std::gcd(magnitude(a), magnitude(b)); }
};
template <class F> Array by_integer(const Array& a) {
  static const PrimitivePtr p = primitive(ByInteger<F>{});
  return call(p, {a}).front();
}
template <class F> Array by_integers(std::string_view what, const Array& a, const Array& b) {
  static const PrimitivePtr p = primitive(ByInteger<F>{});
  check<DtypeError>(is_integer(a.dtype()) && is_integer(b.dtype()), what, ": takes integers, got ", a.type(), " and ",
                    b.type());
  auto [x, y] = promoted_pair(what, a, b);
  return call(p, {x, y}).front();
}

/// x * 2^n for n as a whole floating number.
struct Ldexp {
  static constexpr std::string_view name = "ldexp";
  static double value(double x, double n) {
    return std::ldexp(x, static_cast<int>(std::fmin(std::fmax(n, -9999), 9999)));
  }
  static constexpr double nanoseconds = 10, range[][2] = {{-3, 3}, {2, 2}};
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[1], "ldexp: n is a whole number, by which nothing can be differentiated");
    return {by_element<Ldexp>(v.ct[0], v.in[1]), Array{}};
  }
};

double rounded_to(double x, std::int64_t exponent_bits, std::int64_t mantissa_bits) {
  if (!std::isfinite(x) || x == 0) return x;
  auto shift = 52 - mantissa_bits;
  auto bits = std::bit_cast<std::uint64_t>(x);
  if (shift > 0) {  // halves to even; a carry goes into the exponent
    auto last = (bits >> shift) & 1;
    bits += (std::uint64_t{1} << (shift - 1)) - 1 + last;
    bits = bits >> shift << shift;
  }
  auto y = std::bit_cast<double>(bits);
  if (!std::isfinite(y)) return y;
  if (exponent_bits >= 11) return y;
  auto bias = (std::int64_t{1} << (exponent_bits - 1)) - 1;
  auto e = static_cast<std::int64_t>((bits >> 52) & 2047) - 1023;  // of a normal number
  if (e > bias) return std::copysign(HUGE_VAL, x);
  if (e < 1 - bias) return std::copysign(0., x);
  return y;
}
struct ReducePrecision {
  std::int64_t exponent_bits, mantissa_bits;
  static constexpr std::string_view name = "reduce_precision";
  Type infer(const Types& in) const {
    check<DtypeError>(in.at(0).dtype == f32 || in[0].dtype == f64, name, ": takes fractions, got ", in[0]);
    check<ValueError>(exponent_bits >= 1 && exponent_bits <= 11 && mantissa_bits >= 0 && mantissa_bits <= 52, name,
                      ": there is no format of ", exponent_bits, " bits of exponent and ", mantissa_bits,
                      " bits of mantissa; 1 to 11 and 0 to 52 are allowed");
    return in[0];
  }
  void eval(InputViews in, OutputViews out) const {
    if (out[0].type.dtype == f32) run<float>(in, out);
    else run<double>(in, out);
  }
  Array vjp(const Vjp& v) const { return call_one(*this, {v.ct[0]}); }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  ReducePrecision lift(std::int64_t) const { return *this; }
  static SamplesOf<ReducePrecision> samples() { return {{{11, 52}, {random_values({2, 3}, -1, 1, 1)}}}; }

 private:
  template <class T> void run(InputViews in, OutputViews out) const {
    parallel_for(out[0].type.size(), grain_for(3), [&](std::int64_t begin, std::int64_t end) {
      auto* x = in[0].as<T>();
      auto* y = out[0].as<T>();
      // A denormal f32 is a normal f64; what f32 cannot hold is decided by the format.
      for (auto i = begin; i < end; ++i)
        y[i] = static_cast<T>(rounded_to(static_cast<double>(x[i]), exponent_bits, mantissa_bits));
    });
  }
};
}  // namespace
}  // namespace bora::ops

namespace bora {
using namespace ops;
Array population_count(const Array& x) { return x.dtype() == boolean ? x.astype(u8) : by_integer<PopulationCount>(x); }
Array bitwise_count(const Array& x) {
  check<DtypeError>(is_integer(x.dtype()) || x.dtype() == boolean, "bitwise_count: takes integers, got ", x.type());
  return population_count(x.dtype() == boolean ? x : abs(x)).astype(u8);
}
Array clz(const Array& x) { return by_integer<Clz>(x); }
Array shift_right_logical(const Array& x, const Array& n) {
  return by_integers<ShiftRightLogical>("shift_right_logical", x, n);
}
Array mulhi(const Array& a, const Array& b) { return by_integers<Mulhi>("mulhi", a, b); }
Array gcd(const Array& a, const Array& b) { return by_integers<Gcd>("gcd", a, b); }
Array lcm(const Array& a, const Array& b) {
  auto g = by_integers<Gcd>("lcm", a, b);
  auto none = g == 0;
  return abs(where(none, 0, floor_divide(a.astype(g.dtype()), where(none, 1, g)) * b.astype(g.dtype())));
}
Array ldexp(const Array& x, const Array& n) {
  check<DtypeError>(is_integer(n.dtype()) || n.dtype() == boolean, "ldexp: n must be integers, got ", n.type());
  auto v = real_fraction("ldexp", x);
  auto wide = accumulator(v.dtype());
  auto places = clip(n.astype(i64), -9999, 9999);
  auto [a, b] = promoted_pair("ldexp", v.astype(wide), places.astype(wide));
  return by_element<Ldexp>(a, b).astype(v.dtype());
}
Array reduce_precision(const Array& x, std::int64_t exponent_bits, std::int64_t mantissa_bits) {
  auto v = real_fraction("reduce_precision", x);
  ReducePrecision p{exponent_bits, mantissa_bits};
  if (is_narrow(v.dtype())) return call_one(p, {v.astype(f32)}).astype(v.dtype());
  return call_one(p, {v});
}
}  // namespace bora
