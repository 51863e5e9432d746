// Changes of dtype.
#include "kernels/api/complex.h"
#include "kernels/api/memory.h"
#include "kernels/api/move.h"
#include "bora/ops/complex.h"
#include "bora/ops/sharding.h"
#include "bora/ops/ufuncs.h"
#include "kernels/api/cast_stored.h"
#include "ops/primitives/elementwise_rules.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"

namespace bora::ops {
namespace {
const kernels::LoopKernel& cast_kernel(Dtype from, Dtype to) {
  static std::array<KernelSlot, kDtypes * kDtypes> made{};
  auto& slot = made[static_cast<std::size_t>(from) * kDtypes + static_cast<std::size_t>(to)];
  if (auto* k = slot.load(std::memory_order_acquire)) return *k;
  using Kind = kernels::Instr::Kind;
  kernels::Loop loop;
  loop.operands = {{from, true}, {to, true}};
  loop.code = {{.kind = Kind::load, .dtype = from, .imm = 0},
               {.kind = Kind::cast, .dtype = to, .in = {0, -1, -1, -1}},
               {.kind = Kind::store, .dtype = to, .in = {1, -1, -1, -1}, .imm = 1}};
  return keep_kernel(slot, loop);
}
void cast_real(Dtype from, InputViews in, const OutputView& out, std::int64_t n) {
  auto to = out.type.dtype;
  if (is_stored_only(from) || is_stored_only(to)) kernels::cast_stored(from, to, in[0].data, out.data, n);
  else run_flat(cast_kernel(from, to), n, in, out);
}
}  // namespace

Type Cast::infer(const Types& in) const {
  check<DtypeError>(in[0].dtype != Dtype::key && dtype != Dtype::key, "astype: random keys are not numbers; ", in[0],
                    " does not become ", dtype);
  check<DtypeError>(!is_complex(in[0].dtype) || is_complex(dtype) || dtype == boolean, "astype: ", in[0], " as ",
                    dtype, " would lose the imaginary parts; use real(x) or abs(x)");
  return {in[0].shape, dtype};
}
void Cast::eval(InputViews in, OutputViews out) const {
  auto from = in[0].type.dtype;
  if (auto n = out[0].type.size(); n == 0) return;
  else if (from == dtype) kernels::copy_bytes(out[0].data, in[0].data, out[0].type.nbytes());
  else if (is_complex(from) || from == real_dtype(dtype))
    kernels::cast_complex(from, dtype, in[0].data, out[0].data, n);
  else if (is_complex(dtype)) {
    Type parts{in[0].type.shape, real_dtype(dtype)};
    auto memory = kernels::allocate(parts.nbytes());
    cast_real(from, in, {parts, memory.get()}, n);
    kernels::cast_complex(parts.dtype, dtype, memory.get(), out[0].data, n);
  } else cast_real(from, in, out[0], n);
}
Array Cast::vjp(const Vjp& v) const {
  auto from = v.in[0].dtype();
  if (!is_inexact(from) || !is_inexact(dtype)) return {};
  if (is_complex(from)) return v.ct[0].astype(from);
  // A parameter's gradient is a pending sum over the ranks that have the rows. It stays one, so that it is sent later,
  // by the wire in force there.
  return rounded_sum(real(v.ct[0]), from);
}
/// Pending sums pass only through exact casts: others would round before the addition.
DimFactors Cast::factors(const Types& in) const {
  auto from = real_dtype(in[0].dtype), to = real_dtype(dtype);
  bool exact = is_inexact(in[0].dtype) && is_inexact(dtype) && (from == to || dtype_size(to) > dtype_size(from));
  return elementwise_factors(in, exact ? std::vector<std::size_t>{0} : std::vector<std::size_t>{});
}
Cast Cast::lift(std::int64_t) const { return *this; }
/// Samples with derivatives stay f64: finite differences of rounded numbers are useless.
SamplesOf<Cast> Cast::samples() {
  return {{{f64}, {random_values({2, 3}, -4, 4, 1)}},
          {{i32}, {random_values({2, 3}, -4, 4, 2)}},
          {{f64}, {random_values({2, 3}, -4, 4, 3, i32)}},
          {{bf16}, {random_values({2, 3}, -400, 400, 4, i32)}},
          {{boolean}, {random_values({2, 3}, 0, 2, 5, i32)}},
          {{complex128}, {random_values({2, 3}, -4, 4, 6)}},
          {{complex128}, {random_values({2, 3}, -4, 4, 7, i32)}},
          {{boolean}, {random_values({2, 3}, -4, 4, 8, complex64)}}};
}

Type Bitcast::infer(const Types& in) const {
  check<DtypeError>(dtype_size(dtype) == dtype_size(in[0].dtype) && (dtype == in[0].dtype || dtype != boolean),
                    "bitcast: ", in[0], " cannot be read as ", dtype,
                    dtype == boolean ? "; compare with 0" : ": their sizes differ");
  return {in[0].shape, dtype};
}
void Bitcast::eval(InputViews in, OutputViews out) const {
  kernels::copy_bytes(out[0].data, in[0].data, out[0].type.nbytes());
}
Array Bitcast::vjp(const Vjp&) const { return {}; }
DimFactors Bitcast::factors(const Types& in) const { return elementwise_factors(in); }
Bitcast Bitcast::lift(std::int64_t) const { return *this; }
SamplesOf<Bitcast> Bitcast::samples() {
  return {{{i32}, {random_values({2, 3}, -4, 4, 1, f32)}}, {{u32}, {random_values({2, 3}, -4, 4, 2, i32)}}};
}
}  // namespace bora::ops

namespace bora {
Array Array::astype(Dtype d) const { return dtype() == d ? *this : call_one(ops::Cast{d}, {*this}); }
Array bitcast(const Array& x, Dtype d) { return x.dtype() == d ? x : call_one(ops::Bitcast{d}, {x}); }
template PrimitivePtr primitive<ops::Cast>(ops::Cast);
template PrimitivePtr primitive<ops::Bitcast>(ops::Bitcast);
}  // namespace bora
