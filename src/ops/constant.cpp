// One number, and arrays made of one number: they stay symbolic (a broadcast of a constant) under every interpreter.
#include <cmath>
#include <cstring>
#include <limits>
#include "bora/kernels/move.h"
#include "bora/ops/shape.h"
#include "ops/support.h"

namespace bora::ops {
namespace {
template <class T> T number_as(const Scalar& s) {
  if constexpr (std::is_same_v<T, bool>) return s.integral() ? s.integer != 0 : s.value != 0;
  else if constexpr (std::is_same_v<T, bfloat16>) return bfloat16(static_cast<float>(s.value));
  else if constexpr (std::is_integral_v<T>) {
    if (s.integral()) return static_cast<T>(s.integer);
    if (std::isnan(s.value)) return 0;
    using L = std::numeric_limits<T>;  // saturates: converting a double outside of the range is undefined
    if (s.value <= static_cast<double>(L::min())) return L::min();
    return s.value >= static_cast<double>(L::max()) ? L::max() : static_cast<T>(s.value);
  } else return static_cast<T>(s.value);
}
/// The number in the one form it has in this dtype, so that equal constants are equal primitives.
Scalar checked(Scalar value, Dtype dtype) {
  check<DtypeError>(dtype != Dtype::key, "a random key is not a number; use random::key(seed)");
  if (is_integer(dtype) && value.integral())
    check<ValueError>(holds(dtype, value.integer), "the number ", value.integer, " does not fit into ", dtype,
                      "; convert the array to a wider dtype with astype()");
  if (is_float(dtype)) value = Scalar(value.value);
  else if (dtype == boolean) value = Scalar(number_as<bool>(value));
  else if (is_integer(dtype))
    value = dispatch(dtype, "constant",
                     [&](auto zero) { return Scalar(static_cast<std::int64_t>(number_as<decltype(zero)>(value))); });
  return value;
}
}  // namespace
bool holds(Dtype d, std::int64_t n) {
  return dispatch(d, "constant", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return n >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
             n <= static_cast<std::int64_t>(std::numeric_limits<T>::max());
    else return true;
  });
}

Type Constant::infer(const Types& in) const {
  check<ValueError>(in.empty(), "constant: takes no operands, got ", in.size());
  check<DtypeError>(dtype != Dtype::key, "constant: a random key is not a number; use random::key(seed)");
  return {{}, dtype};
}
void Constant::eval(Inputs, Outputs out) const {
  dispatch(dtype, "constant", [&](auto zero) { *out[0].as<decltype(zero)>() = number_as<decltype(zero)>(value); });
}
Factors Constant::factors(const Types&) const { return {{}, {{}}}; }
Samples<Constant> Constant::samples() {
  return {{{2.5, f64}, {}}, {{-3, i32}, {}}, {{true, boolean}, {}}, {{0.1, bf16}, {}}};
}
}  // namespace bora::ops

namespace bora {
Array constant(Scalar value, Dtype dtype) { return call_one(ops::Constant{ops::checked(value, dtype), dtype}, {}); }
Array full_of(const Type& type, Scalar value) {
  if (current() == eval_interpreter()) {  // nobody is watching: one fill instead of two operations
    auto one = ops::checked(value, type.dtype);
    auto b = new_buffer(type);
    std::uint64_t bits = 0;
    dispatch(type.dtype, "full", [&](auto zero) {
      auto x = ops::number_as<decltype(zero)>(one);
      std::memcpy(&bits, &x, sizeof x);
    });
    kernels::fill(b.data, type.size(), dtype_size(type.dtype), bits);
    return b.done();
  }
  auto c = constant(value, type.dtype);
  return type.shape.empty() ? c : broadcast_in_dim(c, type.shape, {});
}
Array zeros_like(const Array& x) { return full_of(x.type(), 0); }
Array ones_like(const Array& x) { return full_of(x.type(), 1); }
}  // namespace bora
