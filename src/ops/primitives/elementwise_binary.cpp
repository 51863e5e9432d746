// Elementwise primitives of two and three operands: one block each; then their public functions and operators.
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/elementwise_rules.h"
#include "ops/primitives/dtype_checks.h"
#include "ops/primitives/quotients.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora::ops {
namespace {
// Derivatives: da and db (a, b, y, ct) of y = f(a, b).
struct Add : Defaults {
  static constexpr std::string_view name = "add";
  static constexpr auto linear = LinearIn::all;
  static Array da(A, A, A, A ct) { return ct; }
  static Array db(A, A, A, A ct) { return ct; }
};
struct Sub : Defaults {
  static constexpr std::string_view name = "sub";
  static constexpr auto linear = LinearIn::all;
  static Array da(A, A, A, A ct) { return ct; }
  static Array db(A, A, A, A ct) { return -ct; }
};
struct Mul : Defaults {
  static constexpr std::string_view name = "mul";
  static constexpr auto linear = LinearIn::each;
  static Array da(A, A b, A, A ct) { return ct * b; }
  static Array db(A a, A, A, A ct) { return ct * a; }
};
struct Div : Defaults {
  static constexpr std::string_view name = "div";
  static constexpr auto linear = LinearIn::first;
  static Array da(A, A b, A, A ct) { return ct / b; }
  /// Not by 1 / b^2, which leaves the range long before the derivative does.
  static Array db(A, A b, A y, A ct) { return -mul_div(ct, y, b); }
};
}  // namespace

/// Whole numbers are cut off, which a sum of parts is not.
template <> DimFactors Elementwise<Div>::factors(const Types& in) const {
  return elementwise_factors(in, is_inexact(in[0].dtype) ? std::vector<std::size_t>{0} : std::vector<std::size_t>{});
}
namespace {
/// The remainder of division towards zero.
struct Rem : Defaults {
  static constexpr std::string_view name = "rem";
  static Array da(A, A, A, A ct) { return ct; }
  static Array db(A a, A b, A y, A ct) { return -ct * round((a - y) / b); }  // a / b may round up to a whole number
  static std::vector<Arrays> samples() {
    return {{random_values({2, 3}, 3.1, 3.9, 1), random_values({2, 3}, 0.85, 1, 2)}};
  }
};
struct Pow : Defaults {
  static constexpr std::string_view name = "pow";
  /// a^0 is 1 for every a, also at 0, where b a^(b - 1) would be 0 times infinity.
  static Array da(A a, A b, A, A ct) {
    auto constant = b == 0 && (a == 0 || a != a);
    return ct * select(constant, zeros_like(a), b * power(select(constant, ones_like(a), a), b - 1));
  }
  /// 0 where a^b is the same for all b nearby: at a = 0 (b = 0 counts as its right side) and at infinity. The logarithm
  /// is one of a alone, which may be the same everywhere.
  static Array db(A a, A b, A y, A ct) {
    if (is_complex(a.dtype())) return ct * (log(select(a == 0, ones_like(a), a)) * y);
    auto zero = a == 0, edge = zero || a == kInf, left = b < 0;
    auto none = zeros_like(y), infinite = full_of(y.type(), kInf);
    auto at_edge = select(zero, select(left, -infinite, none), select(left, none, infinite));
    return ct * select(edge, at_edge, log(select(edge, ones_like(a), a)) * y);
  }
};
/// a^b for whole numbers b stored in a's dtype: the derivative of a^0 is 0, also at a = 0.
struct PowWhole : Pow {
  static constexpr std::string_view name = "pow_whole";
  static Array da(A a, A b, A, A ct) {
    auto none_of_it = b == 0;
    auto lower = select(none_of_it, ones_like(b), b - 1);
    return ct * select(none_of_it, zeros_like(a), b * apply<PowWhole>(a, lower));
  }
};
/// The derivative goes to the chosen operand, half to each of two equal ones. That of NaN is NaN.
Array chosen(A mine, A y, A other, A ct) {
  auto none = is_float(y.dtype()) ? select(y == y, zeros_like(y), y) : zeros_like(y);
  return ct * select(mine == y, select(other == y, full_of(y.type(), 0.5), ones_like(y)), none);
}
struct Max : Defaults {
  static constexpr std::string_view name = "max";
  static Array da(A a, A b, A y, A ct) { return chosen(a, y, b, ct); }
  static Array db(A a, A b, A y, A ct) { return chosen(b, y, a, ct); }
};
struct Min : Defaults {
  static constexpr std::string_view name = "min";
  static Array da(A a, A b, A y, A ct) { return chosen(a, y, b, ct); }
  static Array db(A a, A b, A y, A ct) { return chosen(b, y, a, ct); }
};

struct Comparison : Defaults {
  static constexpr int in_place = -1;
  static std::vector<Arrays> samples() {
    return {{random_values({2, 3}, -1, 1, 1), random_values({2, 3}, -1, 1, 2)},
            {random_values({2, 3}, 0, 2, 1, i32), random_values({2, 3}, 0, 2, 2, i32)}};
  }
};
struct Eq : Comparison {
  static constexpr std::string_view name = "eq";
};
struct Ne : Comparison {
  static constexpr std::string_view name = "ne";
};
struct Lt : Comparison {
  static constexpr std::string_view name = "lt";
};
struct Le : Comparison {
  static constexpr std::string_view name = "le";
};
struct Gt : Comparison {
  static constexpr std::string_view name = "gt";
};
struct Ge : Comparison {
  static constexpr std::string_view name = "ge";
};

struct Bitwise : Defaults {
  static std::vector<Arrays> samples() {
    return {{random_values({2, 3}, -9, 9, 1, i32), random_values({2, 3}, -9, 9, 2, i32)},
            {random_values({2, 3}, 0, 2, 3, boolean), random_values({2, 3}, 0, 2, 4, boolean)}};
  }
};
struct And : Bitwise {
  static constexpr std::string_view name = "and";
};
struct Or : Bitwise {
  static constexpr std::string_view name = "or";
};
struct Xor : Bitwise {
  static constexpr std::string_view name = "xor";
};
struct Shift : Defaults {
  static std::vector<Arrays> samples() {
    return {{random_values({2, 3}, -99, 99, 1, i32), random_values({2, 3}, 0, 40, 2, i32)}};
  }
};
struct Shl : Shift {
  static constexpr std::string_view name = "shl";
};
struct ShrLogical : Shift {
  static constexpr std::string_view name = "shr_logical";
};
struct ShrArithmetic : Shift {
  static constexpr std::string_view name = "shr_arithmetic";
};

/// a * b + c, rounded once.
struct Fma : Defaults {
  static constexpr std::string_view name = "fma";
  static Arrays vjp(const Vjp& v) {
    return {v.needs[0] ? v.ct[0] * v.in[1] : Array{}, v.needs[1] ? v.ct[0] * v.in[0] : Array{}, v.ct[0]};
  }
};
struct Select : Defaults {
  static constexpr std::string_view name = "select";
  static constexpr int in_place = 1;
  static constexpr auto linear = LinearIn::branches;
  static Arrays vjp(const Vjp& v) {
    auto& ct = v.ct[0];
    auto zero = zeros_like(ct);
    return {Array{}, v.needs[1] ? select(v.in[0], ct, zero) : Array{},
            v.needs[2] ? select(v.in[0], zero, ct) : Array{}};
  }
  static std::vector<Arrays> samples() {
    return {
        {random_values({2, 3}, 0, 2, 1, boolean), random_values({2, 3}, -1, 1, 2), random_values({2, 3}, -1, 1, 3)}};
  }
};
/// clamp(lo, x, hi): x gets the derivative strictly inside only.
struct Clamp : Defaults {
  static constexpr std::string_view name = "clamp";
  static constexpr int in_place = 1;
  static Arrays vjp(const Vjp& v) {
    auto &lo = v.in[0], &x = v.in[1], &hi = v.in[2], &ct = v.ct[0];
    auto zero = zeros_like(ct), other = zero;
    if (is_float(ct.dtype())) {  // NaN of any of them is that of the result
      auto number = v.out[0] == v.out[0];
      other = select(number, zero, ct * select(number, ones_like(ct), v.out[0]));
    }
    return {v.needs[0] ? select((lo > x) & (lo < hi), ct, other) : Array{},
            v.needs[1] ? select((lo < x) & (x < hi), ct, other) : Array{},
            v.needs[2] ? select(x > hi, ct, other) : Array{}};
  }
  static std::vector<Arrays> samples() {
    return {
        {random_values({2, 3}, -0.5, -0.2, 1), random_values({2, 3}, -1, 1, 2), random_values({2, 3}, 0.2, 0.5, 3)}};
  }
};

// ---- operands become alike
// ----------------------------------------------------------------------------------------------
/// Two operands of one type: the caller's own (no handle is copied), or conversions of them.
struct Two {
  Array made_a, made_b;
  const Array &a, &b;
  Two(A x, A y) : a(x), b(y) {}
  Two(Array&& x, Array&& y) : made_a(std::move(x)), made_b(std::move(y)), a(made_a), b(made_b) {}
  Two(std::pair<Array, Array> p) : Two(std::move(p.first), std::move(p.second)) {}
  Two(const Two&) = delete;
};
Two meet(std::string_view what, A a, A b) {
  if (a.type() == b.type()) return {a, b};
  return promoted_pair(what, a, b);
}
Two meet(std::string_view what, A a, Scalar b) {
  no_keys(what, a.dtype());
  auto x = a.astype(weak_dtype(a.dtype(), b));
  auto y = full_of(x.type(), b);
  return {std::move(x), std::move(y)};
}
Two meet(std::string_view what, Scalar a, A b) {
  no_keys(what, b.dtype());
  auto y = b.astype(weak_dtype(b.dtype(), a));
  auto x = full_of(y.type(), a);
  return {std::move(x), std::move(y)};
}
Two as_fractions(const Two& t) {
  if (is_inexact(t.a.dtype())) return {t.a, t.b};
  return {inexact(t.a), inexact(t.b)};
}
Two as_truth(std::string_view what, const Two& t) {
  if (t.a.dtype() == boolean) return {t.a, t.b};
  no_keys(what, t.a.dtype());
  auto zero = zeros_like(t.a);
  return {apply<Ne>(t.a, zero), apply<Ne>(t.b, zero)};
}
template <class X> bool is_boolean(const X& x) {
  if constexpr (std::is_same_v<X, Array>) return x.dtype() == boolean;
  else return false;
}
template <class F, class X, class Y> Array order(std::string_view what, const X& a, const Y& b) {
  check<DtypeError>(!is_boolean(a) && !is_boolean(b), what,
                    ": booleans have no order; a chain such as 0 < x < 6 is written 0 < x && x < 6");
  auto t = meet(what, a, b);
  takes_ordered(what, t.a.dtype());
  return apply<F>(t.a, t.b);
}
template <class F> Array extreme_of(std::string_view what, const Two& t) {
  takes_ordered(what, t.a.dtype());
  return apply<F>(t.a, t.b);
}
/// NumPy: the sum of booleans is `or`, their product `and`.
template <class F, class Logic> Array numeric_or(const Two& t) {
  return t.a.dtype() == boolean ? apply<Logic>(t.a, t.b) : apply<F>(t.a, t.b);
}
Array truncated_remainder(const Two& t) {
  takes_reals("fmod", t.a.dtype());
  return apply<Rem>(t.a, t.b);
}
Array floor_quotient(const Two& t) {
  takes_reals("floor_divide", t.a.dtype());
  auto &a = t.a, &b = t.b;
  auto r = apply<Rem>(a, b);
  auto q = is_float(a.dtype()) ? (a - r) / b : apply<Div>(a, b);
  auto low = (r != 0) & ((r < 0) != (b < 0));  // a negative quotient was rounded up, towards zero
  q = select(low, q - 1, q);
  return is_float(a.dtype()) ? round(select(b == 0, a / b, q)) : q;
}
Array floor_remainder(const Two& t) {
  takes_reals("remainder", t.a.dtype());
  auto r = apply<Rem>(t.a, t.b);
  return select((r != 0) & ((r < 0) != (t.b < 0)), r + t.b, r);
}
Array shift_right(const Two& t) {
  takes_integers("right_shift", t.a.dtype());
  return info(t.a.dtype()).kind == Kind::unsigned_integer ? apply<ShrLogical>(t.a, t.b)
                                                          : apply<ShrArithmetic>(t.a, t.b);
}
/// x^n by squaring.
Array whole_power(A x, std::int64_t n) {
  if (n == 0) return ones_like(x);
  if (n < 0) {
    check<ValueError>(is_inexact(x.dtype()), "power: integers have no negative powers (", n,
                      "); convert the array with astype(f32)");
    return whole_power(1 / x, -n);  // not 1 / x^n: derivatives at 0 and infinity exist
  }
  Array result, square = x;
  for (; n > 0; n /= 2) {
    if (n % 2) result = result.defined() ? result * square : square;
    if (n > 1) square = square * square;
  }
  return result;
}
Array to_power(A a, A b) {
  auto t = meet("power", a, b);
  takes_numbers("power", t.a.dtype());
  return is_inexact(a.dtype()) && !is_inexact(b.dtype()) ? apply<PowWhole>(t.a, t.b) : apply<Pow>(t.a, t.b);
}
Array to_power(A a, Scalar b) {
  if (b.integral()) return whole_power(a.dtype() == boolean ? a.astype(i32) : a, b.integer);
  auto t = meet("power", a, b);
  return apply<Pow>(t.a, t.b);
}
Array to_power(Scalar a, A b) {
  auto t = meet("power", a, b);
  return apply<Pow>(t.a, t.b);
}
/// hi + log1p(exp(lo - hi)): equal operands get half the derivative each, at every order. The difference of equal
/// infinities is NaN: finite numbers take their place, so that no derivative becomes NaN. At inf it is 1 each (JAX's).
Array log_add_exp(const Two& t) {
  takes_ordered("logaddexp", t.a.dtype());
  auto zero = zeros_like(t.a), half = full_of(t.a.type(), 0.5);
  auto apart = t.a == t.b && !isfinite(t.a);
  auto a = select(apart, zero, t.a), b = select(apart, zero, t.b);
  auto first = a >= b;
  auto hi = select(first, a, b), lo = select(first, b, a);
  auto infinite = select(apart, t.a, zero) + select(apart, t.b, zero);
  return select(apart, select(t.a > 0, infinite, half * infinite), hi + log1p(exp(lo - hi)));
}
}  // namespace
}  // namespace bora::ops

namespace bora {
using namespace ops;
// The three forms of a function of two operands: (Array, Array), (Array, number), (number, Array).
#define BORA_FORMS(function, expression)                                \
  Array function(const Array& a, const Array& b) { return expression; } \
  Array function(const Array& a, Scalar b) { return expression; }       \
  Array function(Scalar a, const Array& b) { return expression; }
#define BORA_TWO(function, op, expression)                                             \
  BORA_FORMS(function, [](const Two& t) { return expression; }(meet(#function, a, b))) \
  BORA_FORMS(operator op, function(a, b))
BORA_TWO(add, +, (numeric_or<Add, Or>(t)))
BORA_TWO(subtract, -, (takes_numbers("subtract", t.a.dtype()), apply<Sub>(t.a, t.b)))
BORA_TWO(multiply, *, (numeric_or<Mul, And>(t)))
BORA_TWO(divide, /, [](const Two& f) { return apply<Div>(f.a, f.b); }(as_fractions(t)))
BORA_TWO(remainder, %, floor_remainder(t))
BORA_TWO(equal, ==, apply<Eq>(t.a, t.b))
BORA_TWO(not_equal, !=, apply<Ne>(t.a, t.b))
BORA_TWO(logical_and, &&, [](const Two& f) { return apply<And>(f.a, f.b); }(as_truth("logical_and", t)))
BORA_TWO(logical_or, ||, [](const Two& f) { return apply<Or>(f.a, f.b); }(as_truth("logical_or", t)))
BORA_TWO(bitwise_and, &, (takes_bits("bitwise_and", t.a.dtype()), apply<And>(t.a, t.b)))
BORA_TWO(bitwise_or, |, (takes_bits("bitwise_or", t.a.dtype()), apply<Or>(t.a, t.b)))
BORA_TWO(bitwise_xor, ^, (takes_bits("bitwise_xor", t.a.dtype()), apply<Xor>(t.a, t.b)))
BORA_TWO(left_shift, <<, (takes_integers("left_shift", t.a.dtype()), apply<Shl>(t.a, t.b)))
BORA_TWO(right_shift, >>, shift_right(t))
#define BORA_ORDER(function, op, tag)                 \
  BORA_FORMS(function, (order<tag>(#function, a, b))) \
  BORA_FORMS(operator op, function(a, b))
BORA_ORDER(less, <, Lt)
BORA_ORDER(less_equal, <=, Le)
BORA_ORDER(greater, >, Gt)
BORA_ORDER(greater_equal, >=, Ge)
BORA_FORMS(floor_divide, floor_quotient(meet("floor_divide", a, b)))
BORA_FORMS(fmod, truncated_remainder(meet("fmod", a, b)))
BORA_FORMS(power, to_power(a, b))
BORA_FORMS(pow, to_power(a, b))
BORA_FORMS(maximum, extreme_of<Max>("maximum", meet("maximum", a, b)))
BORA_FORMS(minimum, extreme_of<Min>("minimum", meet("minimum", a, b)))
BORA_FORMS(logaddexp, log_add_exp(as_fractions(meet("logaddexp", a, b))))
#undef BORA_ORDER
#undef BORA_TWO
#undef BORA_FORMS

Array select(const Array& condition, const Array& on_true, const Array& on_false) {
  return apply<Select>(condition, on_true, on_false);
}
namespace {
Array selected(const Array& condition, const Two& t) {
  auto c = condition.dtype() == boolean ? condition : condition != 0;
  if (c.type().shape == t.a.type().shape) return select(c, t.a, t.b);
  auto shape = broadcast_shapes("where", c.shape(), t.a.shape());
  return select(broadcast_to(c, shape), broadcast_to(t.a, shape), broadcast_to(t.b, shape));
}
}  // namespace

Array where(const Array& condition, const Array& on_true, const Array& on_false) {
  return selected(condition, meet("where", on_true, on_false));
}
Array where(const Array& condition, const Array& on_true, Scalar on_false) {
  return selected(condition, meet("where", on_true, on_false));
}
Array where(const Array& condition, Scalar on_true, const Array& on_false) {
  return selected(condition, meet("where", on_true, on_false));
}
Array where(const Array& condition, Scalar on_true, Scalar on_false) {
  auto d = promote(on_true.dtype(), on_false.dtype());
  return selected(condition, {constant(on_true, d), constant(on_false, d)});
}
Array clamp(const Array& lo, const Array& x, const Array& hi) {
  auto [l, y] = promoted_pair("clamp", lo, x);
  auto [z, h] = promoted_pair("clamp", y, hi);
  return apply<Clamp>(broadcast_to(l, z.shape()).astype(z.dtype()), z, h);
}
Array fma(const Array& a, const Array& b, const Array& c) {
  auto [x, y] = promoted_pair("fma", a, b);
  auto [p, q] = promoted_pair("fma", x, c);
  return apply<Fma>(p, broadcast_to(y, p.shape()).astype(p.dtype()), q);
}
}  // namespace bora
