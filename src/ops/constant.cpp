// One number, and arrays made of one number: they stay symbolic (a broadcast of a constant) under every interpreter.
#include <cstring>
#include <limits>
#include "bora/kernels/move.h"
#include "bora/ops/shape.h"
#include "ops/support.h"

namespace bora::ops {
namespace {
template <class T> T number_as(const Scalar& s) {
  return std::is_integral_v<T> && s.integral() ? converted<T>(s.integer) : converted<T>(s.value);
}
}  // namespace
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
std::uint64_t bits_of(Scalar value, Dtype dtype) {
  std::uint64_t bits = 0;
  dispatch(dtype, "a number", [&](auto zero) {
    auto x = number_as<decltype(zero)>(value);
    std::memcpy(&bits, &x, sizeof x);
  });
  return bits;
}
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
  auto bits = bits_of(value, dtype);
  std::memcpy(out[0].data, &bits, dtype_size(dtype));
}
Factors Constant::factors(const Types&) const { return {{}, {{}}}; }
Samples<Constant> Constant::samples() {
  return {{{2.5, f64}, {}}, {{-3, i32}, {}}, {{true, boolean}, {}}, {{0.1, bf16}, {}}};
}
}  // namespace bora::ops

namespace bora {
Array constant(Scalar value, Dtype dtype) { return call_one(ops::Constant{ops::checked(value, dtype), dtype}, {}); }
Array full_of(const Type& type, Scalar value) {
  if (current() == eval_interpreter()) {  // no transform is active: one fill instead of two operations
    auto bits = ops::bits_of(ops::checked(value, type.dtype), type.dtype);
    auto b = new_buffer(type);
    kernels::fill(b.data, type.size(), dtype_size(type.dtype), bits);
    return b.done();
  }
  auto c = constant(value, type.dtype);
  return type.shape.empty() ? c : broadcast_in_dim(c, type.shape, {});
}
Array zeros_like(const Array& x) { return full_of(x.type(), 0); }
Array ones_like(const Array& x) { return full_of(x.type(), 1); }
}  // namespace bora
