// One number, and arrays made of one number: they stay symbolic (a broadcast of a constant) under every interpreter.
#include <cstring>
#include <string>
#include <utility>
#include "base/api/complex.h"
#include "kernels/api/move.h"
#include "bora/ops/manipulation.h"
#include "ops/api/support.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"

namespace bora::ops {
namespace {
/// Throws DtypeError if a complex number would lose its imaginary part.
void check_parts(const Scalar& s, Dtype d) {
  check<DtypeError>(s.kind != Scalar::Kind::complex || is_complex(d) || d == boolean, "the complex number ", s.value,
                    " + ", s.imaginary, "j does not fit into ", d, "; convert the array with astype(complex64)");
}
template <class T> T number_as(const Scalar& s) {
  return std::is_integral_v<T> && s.integral() ? converted<T>(s.integer) : converted<T>(s.value);
}
}  // namespace

Scalar checked(Scalar value, Dtype dtype) {
  check<DtypeError>(dtype != Dtype::key, "a random key is not a number; use random::key(seed)");
  if (is_integer(dtype) && value.integral()) {
    bool above = value.integer < 0 && value.value > 0;  // 2^63 or more
    check<ValueError>(above ? dtype == u64 : holds(dtype, value.integer), "the number ",
                      above ? std::to_string(static_cast<std::uint64_t>(value.integer)) : std::to_string(value.integer),
                      " does not fit into ", dtype, "; convert the array to a wider dtype with astype()");
  }
  check_parts(value, dtype);
  if (is_complex(dtype)) value = Scalar(std::complex<double>(value.value, value.imaginary));
  else if (is_float(dtype)) value = Scalar(value.value);
  else if (dtype == boolean) value = Scalar(number_as<bool>(value) || value.imaginary != 0);
  else if (is_integer(dtype))
    value = dispatch_real(dtype, "constant",
                     [&](auto zero) { return Scalar(static_cast<std::int64_t>(number_as<decltype(zero)>(value))); });
  return value;
}
void write_number(Scalar value, Dtype dtype, void* to) {
  check_parts(value, dtype);
  dispatch_all(dtype, "a number", [&](auto zero) {
    using T = decltype(zero);
    T x;
    if constexpr (ComplexNumber<T>) x = T(std::complex<double>(value.value, value.imaginary));
    else x = number_as<T>(value);
    std::memcpy(to, &x, sizeof x);
  });
}
std::uint64_t bits_of(Scalar value, Dtype dtype) {
  std::uint64_t bits[2] = {};
  write_number(value, dtype, bits);
  return bits[0];
}
bool holds(Dtype d, std::int64_t n) {
  if (!is_integer(d)) return true;
  return dispatch_real(d, "constant", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return std::in_range<T>(n);
    else return true;
  });
}

Type Constant::infer(const Types& in) const {
  check<ValueError>(in.empty(), "constant: takes no operands, got ", in.size());
  check<DtypeError>(dtype != Dtype::key, "constant: a random key is not a number; use random::key(seed)");
  return {{}, dtype};
}
void Constant::eval(InputViews, OutputViews out) const {
  write_number(value, dtype, out[0].data);
}
DimFactors Constant::factors(const Types&) const { return {{}, {{}}}; }
SamplesOf<Constant> Constant::samples() {
  return {{{2.5, f64}, {}},
          {{-3, i32}, {}},
          {{true, boolean}, {}},
          {{0.1, bf16}, {}},
          {{std::complex<double>(0.5, -2), complex128}, {}}};
}
std::optional<double> constant_value(const Primitive& p) {
  auto* c = as<Constant>(p);
  return c && is_numeric(c->dtype) && !is_complex(c->dtype) ? std::optional(c->value.value) : std::nullopt;
}
}  // namespace bora::ops

namespace bora {
Array constant(Scalar value, Dtype dtype) { return call_one(ops::Constant{ops::checked(value, dtype), dtype}, {}); }
Array full_of(const Type& type, Scalar value) {
  if (current() == eval_interpreter()) {  // no transform is active: one fill instead of two operations
    Bytes16 element;
    ops::write_number(ops::checked(value, type.dtype), type.dtype, &element);
    auto b = new_buffer(type);
    kernels::fill(b.data, type.size(), dtype_size(type.dtype), &element);
    return b.done();
  }
  auto c = constant(value, type.dtype);
  return type.shape.empty() ? c : broadcast_in_dim(c, type.shape, {});
}
Array zeros_like(const Array& x) { return full_of(x.type(), 0); }
Array ones_like(const Array& x) { return full_of(x.type(), 1); }
template PrimitivePtr primitive<ops::Constant>(ops::Constant);
}  // namespace bora
