// Shared code of elementwise primitives, and the primitives of one operand: one block each.
#include "bora/ops/indexing.h"
#include "bora/ops/nn.h"
#include "bora/ops/ufuncs.h"
#include <mutex>
#include <numbers>
#include "array/api/nans.h"
#include "bora/base/denormals.h"
#include "kernels/api/complex.h"
#include "bora/ops/complex.h"
#include "ops/primitives/elementwise_rules.h"
#include "ops/primitives/complex_arcs.h"
#include "ops/primitives/dtype_checks.h"
#include "ops/primitives/quotients.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora::ops {
Type infer_elementwise(kernels::OpId op, std::string_view name, const Types& in) {
  auto& e = kernels::element_op(op);
  check<ValueError>(static_cast<int>(in.size()) == e.arity, name, ": takes ", e.arity, " operands, got ", in.size());
  bool choose = name == "select";
  Dtype d[kernels::kMaxInputs];
  for (std::size_t i = 0; i < in.size(); ++i) {
    check<ShapeError>(in[i].shape == in.back().shape, name, ": shapes differ: ", in[i], " and ", in.back(),
                      "; broadcast one of them");
    check<DtypeError>(in[i].dtype == in.back().dtype || (choose && i == 0), name, ": dtypes differ: ", in[i], " and ",
                      in.back(), "; cast one of them with astype()");
    check<DtypeError>(in[i].dtype != Dtype::key || (choose && i > 0), name,
                      ": no arithmetic is defined on random keys");
    d[i] = in[i].dtype;
  }
  if (choose) {
    check<DtypeError>(in[0].dtype == boolean, "select: the condition must be bool, it is ", in[0]);
    return in[1];
  }
  return {in[0].shape, is_complex(in.back().dtype) ? kernels::complex_result(op, d) : e.result(d)};
}

void run_flat(const kernels::LoopKernel& k, std::int64_t n, InputViews in, const OutputView& out) {
  static thread_local kernels::LoopArgs args;  // large: zeroed once, then only the entries in use are written
  args.ndim = 1;
  args.extent[0] = n;
  std::size_t o = 0;
  for (auto& i : in) {
    args.pointer[o] = const_cast<void*>(i.data);
    args.stride[o++][0] = 1;
  }
  args.pointer[o] = out.data;
  args.stride[o][0] = 1;
  FlushDenormals flush(flushes_denormals());
  kernels::run(k, args);
}

const kernels::LoopKernel& keep_kernel(KernelSlot& slot, const kernels::Loop& loop) {
  static std::mutex m;
  static auto* kept = new std::vector<kernels::LoopKernelPtr>;  // never destroyed: slots point into it
  auto k = kernels::compile(loop);
  std::lock_guard l(m);
  kept->push_back(k);
  slot.store(k.get(), std::memory_order_release);
  return *k;
}

namespace {
/// Keys are moved as 64-bit words (select is the only operation that takes them).
Dtype stored_as(Dtype d) { return d == Dtype::key ? i64 : d; }
}  // namespace

void OneOpKernels::run(kernels::OpId op, InputViews in, OutputViews out) {
  auto n = out[0].type.size();
  if (n == 0) return;
  if (auto d = in.back().type.dtype; is_complex(d)) {
    const void* operands[kernels::kMaxInputs];
    for (std::size_t i = 0; i < in.size(); ++i) operands[i] = in[i].data;
    return kernels::run_complex(op, d, operands, out[0].data, n);
  }
  auto* k = made_[static_cast<std::size_t>(in.back().type.dtype)].load(std::memory_order_acquire);
  run_flat(k ? *k : make(op, in, out[0]), n, in, out[0]);
}
const kernels::LoopKernel& OneOpKernels::make(kernels::OpId op, InputViews in, const OutputView& out) {
  using Kind = kernels::Instr::Kind;
  kernels::Loop loop;
  kernels::Instr compute{.kind = Kind::op, .dtype = stored_as(out.type.dtype), .op = op};
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto d = stored_as(in[i].type.dtype);
    loop.operands.push_back({d, true});
    loop.code.push_back({.kind = Kind::load, .dtype = d, .imm = i});
    compute.in[i] = static_cast<std::int16_t>(i);
  }
  auto n = static_cast<std::int16_t>(in.size());
  loop.operands.push_back({compute.dtype, true});
  loop.code.push_back(compute);
  loop.code.push_back(
      {.kind = Kind::store, .dtype = compute.dtype, .in = {n, -1, -1, -1}, .imm = static_cast<std::uint64_t>(n)});
  return keep_kernel(made_[static_cast<std::size_t>(in.back().type.dtype)], loop);
}

Array at_once(kernels::OpId op, OneOpKernels& kernels, InputViews in) {
  if (stops_at_nan()) return {};
  auto& type = in[0].type;
  Dtype d[kernels::kMaxInputs];
  for (std::size_t i = 0; i < in.size(); ++i) {
    d[i] = in[i].type.dtype;
    if (d[i] == Dtype::key || is_complex(d[i]) || is_stored_only(d[i]) || !(in[i].type == type)) return {};
  }
  try {
    Array out;
    auto* data = new_buffer({type.shape, kernels::element_op(op).result(d)}, out);
    const OutputView result{out.type(), data};
    kernels.run(op, in, {&result, 1});
    return out;
  } catch (const Error&) { return {}; }
}

Dtype weak_dtype(Dtype array, Scalar number) {
  if (number.kind == Scalar::Kind::complex) return complex_dtype(array);
  if (number.kind == Scalar::Kind::floating) return is_inexact(array) ? array : default_float();
  if (number.kind == Scalar::Kind::integer && array == boolean) return i32;
  return array;
}

namespace {
constexpr double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi, kHalfSqrtPi = 0.5 / std::numbers::inv_sqrtpi;
constexpr double kOneOverSqrtTwoPi = std::numbers::inv_sqrtpi / std::numbers::sqrt2;

// Derivatives: dx(x, y, ct) of y = f(x). Conventions are JAX's (lax.py), also where the function has a corner.
struct Neg : Defaults {
  static constexpr std::string_view name = "neg";
  static constexpr auto linear = LinearIn::first;
  static Array dx(A, A, A ct) { return -ct; }
};
struct Exp : Defaults {
  static constexpr std::string_view name = "exp";
  static constexpr double lo = -2;
  static Array dx(A, A y, A ct) { return ct * y; }
};
struct Expm1 : Defaults {
  static constexpr std::string_view name = "expm1";
  static constexpr double lo = -2;
  static Array dx(A x, A, A ct) { return ct * exp(x); }  // y + 1 cancels where y is nearly -1
};
struct Log : Defaults {
  static constexpr std::string_view name = "log";
  static Array dx(A x, A, A ct) { return ct / x; }
};
struct Log1p : Defaults {
  static constexpr std::string_view name = "log1p";
  static constexpr double lo = -0.5;
  static Array dx(A x, A, A ct) { return ct / (x + 1); }
};
struct Sinh : Defaults {
  static constexpr std::string_view name = "sinh";
  static constexpr double lo = -2;
  static Array dx(A x, A, A ct) { return ct * cosh(x); }
};
struct Cosh : Defaults {
  static constexpr std::string_view name = "cosh";
  static constexpr double lo = -2;
  static Array dx(A x, A, A ct) { return ct * sinh(x); }
};
/// The derivative of the logistic function; its own derivative is -y tanh(x / 2).
struct LogisticSlope : Defaults {
  static constexpr std::string_view name = "logistic_slope";
  static constexpr double lo = -2;
  static Array dx(A x, A y, A ct) { return -(ct * y * tanh(0.5 * x)); }
};
// Derivatives by LogisticSlope: where y is nearly 1, 1 - y has no digits left.
struct Logistic : Defaults {
  static constexpr std::string_view name = "logistic";
  static constexpr double lo = -2;
  static Array dx(A x, A y, A ct) { return is_complex(x.dtype()) ? ct * (y * (1 - y)) : ct * apply<LogisticSlope>(x); }
};
struct Tanh : Defaults {
  static constexpr std::string_view name = "tanh";
  static constexpr double lo = -2;
  static Array dx(A x, A y, A ct) {
    return is_complex(x.dtype()) ? ct * (1 - y * y) : 4 * (ct * apply<LogisticSlope>(x + x));
  }
};
struct Arctanh : Defaults {
  static constexpr std::string_view name = "arctanh";
  static constexpr double lo = -0.8, hi = 0.8;
  static Array dx(A x, A, A ct) { return ct / one_minus_square(x); }
};
struct Cbrt : Defaults {
  static constexpr std::string_view name = "cbrt";
  static Array dx(A, A y, A ct) {
    auto r = 1 / y;
    return ct * (r * (r / 3));  // r * r overflows in f16
  }
};
/// exp(-x^2 / 2).
struct Bell : Defaults {
  static constexpr std::string_view name = "bell";
  static constexpr double lo = -2;
  static Array dx(A x, A y, A ct) { return -(ct * (x * y)); }
};
/// exp(-x^2), more exact than exp() of a rounded x^2.
Array bell_squared(A x) {
  auto y = apply<Bell>(x);
  return y * y;
}
struct Erf : Defaults {
  static constexpr std::string_view name = "erf";
  static constexpr double lo = -2;
  static Array dx(A x, A, A ct) { return kTwoOverSqrtPi * (ct * bell_squared(x)); }
};
struct Erfc : Defaults {
  static constexpr std::string_view name = "erfc";
  static constexpr double lo = -2;
  static Array dx(A x, A, A ct) { return -kTwoOverSqrtPi * (ct * bell_squared(x)); }
};
struct ErfInv : Defaults {
  static constexpr std::string_view name = "erf_inv";
  static constexpr double lo = -0.8, hi = 0.8;
  static Array dx(A, A y, A ct) { return kHalfSqrtPi * (ct / bell_squared(y)); }
};
/// The distribution function of the normal distribution.
struct NormalCdf : Defaults {
  static constexpr std::string_view name = "normal_cdf";
  static constexpr double lo = -2;
  static Array dx(A x, A, A ct) { return kOneOverSqrtTwoPi * (ct * apply<Bell>(x)); }
};
struct Sqrt : Defaults {
  static constexpr std::string_view name = "sqrt";
  static Array dx(A, A y, A ct) { return ct * (0.5 / y); }
};
struct Rsqrt : Defaults {
  static constexpr std::string_view name = "rsqrt";
  static Array dx(A x, A y, A ct) { return mul_div(-0.5 * ct, y, x); }
};
struct Sin : Defaults {
  static constexpr std::string_view name = "sin";
  static constexpr double lo = -2;
  static Array dx(A x, A, A ct) { return ct * cos(x); }
};
struct Cos : Defaults {
  static constexpr std::string_view name = "cos";
  static constexpr double lo = -2;
  static Array dx(A x, A, A ct) { return -(ct * sin(x)); }
};
// A step: its derivative is 0 everywhere.
struct Sign : Defaults {
  static constexpr std::string_view name = "sign";
};
struct Abs : Defaults {
  static constexpr std::string_view name = "abs";
  static Array dx(A x, A, A ct) {  // 1 at 0, NaN at NaN
    return is_float(x.dtype()) ? ct * select(x == 0, ones_like(x), apply<Sign>(x)) : select(x >= 0, ct, -ct);
  }
};
struct Relu : Defaults {
  static constexpr std::string_view name = "relu";
  static Array dx(A x, A, A ct) {  // 0 at 0, NaN at NaN
    return select(x <= 0, zeros_like(ct), ct * select(x > 0, ones_like(x), x));
  }
};
// More steps.
struct Floor : Defaults {
  static constexpr std::string_view name = "floor";
  static constexpr double lo = 1.1, hi = 1.9;
};
struct Ceil : Defaults {
  static constexpr std::string_view name = "ceil";
  static constexpr double lo = 1.1, hi = 1.9;
};
struct Round : Defaults {
  static constexpr std::string_view name = "round";
  static constexpr double lo = 0.6, hi = 1.4;
};
struct IsFinite : Defaults {
  static constexpr std::string_view name = "is_finite";
  static constexpr int in_place = -1;
};
struct Not : Defaults {
  static constexpr std::string_view name = "not";
  static std::vector<Arrays> samples() {
    return {{random_values({2, 3}, -4, 4, 1, i32)}, {random_values({2, 3}, 0, 2, 2, boolean)}};
  }
};
}  // namespace
}  // namespace bora::ops

namespace bora::ops {
Array normal_cdf(A x) { return apply<NormalCdf>(inexact(x)); }
Array logistic_slope(A x) { return apply<LogisticSlope>(inexact(x)); }
}  // namespace bora::ops

namespace bora {
using namespace ops;
Array negative(const Array& x) {
  takes_numbers("negative", x.dtype());
  return apply<Neg>(x);
}
Array exp(const Array& x) { return apply<Exp>(inexact(x)); }
Array expm1(const Array& x) { return apply<Expm1>(inexact(x)); }
Array log(const Array& x) { return apply<Log>(inexact(x)); }
Array log1p(const Array& x) { return apply<Log1p>(inexact(x)); }
Array sqrt(const Array& x) { return apply<Sqrt>(inexact(x)); }
Array rsqrt(const Array& x) { return apply<Rsqrt>(inexact(x)); }
Array sin(const Array& x) { return apply<Sin>(inexact(x)); }
Array cos(const Array& x) { return apply<Cos>(inexact(x)); }
Array sinh(const Array& x) { return apply<Sinh>(inexact(x)); }
Array cosh(const Array& x) { return apply<Cosh>(inexact(x)); }
Array tanh(const Array& x) { return apply<Tanh>(inexact(x)); }
Array arctanh(const Array& x) {
  return is_complex(x.dtype()) ? complex_arctanh(x) : apply<Arctanh>(inexact(x));
}
Array cbrt(const Array& x) { return apply<Cbrt>(inexact(x)); }
Array erf(const Array& x) { return apply<Erf>(inexact(x)); }
Array erfc(const Array& x) { return apply<Erfc>(inexact(x)); }
Array erf_inv(const Array& x) { return apply<ErfInv>(inexact(x)); }
Array sigmoid(const Array& x) { return apply<Logistic>(inexact(x)); }
Array abs(const Array& x) {
  if (is_complex(x.dtype())) return magnitude(x);
  return x.dtype() == boolean ? x : apply<Abs>(x);
}
Array sign(const Array& x) {
  if (!is_complex(x.dtype())) return apply<Sign>(x);
  auto zero = x == 0;
  return where(zero, x, x / where(zero, 1, abs(x)));
}
Array relu(const Array& x) {
  takes_reals("relu", x.dtype());
  return apply<Relu>(x);
}
Array floor(const Array& x) { return is_inexact(x.dtype()) ? apply<Floor>(x) : x; }
Array ceil(const Array& x) { return is_inexact(x.dtype()) ? apply<Ceil>(x) : x; }
Array round(const Array& x) {
  if (is_complex(x.dtype())) return complex(round(real(x)), round(imag(x)));
  return is_float(x.dtype()) ? apply<Round>(x) : x;
}
Array isfinite(const Array& x) {
  return is_inexact(x.dtype()) ? apply<IsFinite>(x) : full_of({x.shape(), boolean}, true);
}
Array bitwise_not(const Array& x) {
  takes_bits("bitwise_not", x.dtype());
  return apply<Not>(x);
}
Array operator-(const Array& x) { return negative(x); }
Array operator!(const Array& x) { return logical_not(x); }
Array operator~(const Array& x) { return bitwise_not(x); }
}  // namespace bora
