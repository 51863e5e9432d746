// elementwise_rules.h -- everything that elementwise primitives have in common. A primitive is Elementwise<Tag>; the
// tag's block holds its own part: name (= the kernel's name), derivatives, the inputs it is linear in, where tests may
// sample. Private.
#pragma once
#include <array>
#include <atomic>
#include "bora/array/primitive.h"
#include "kernels/api/loop.h"
#include "ops/api/support.h"
#include "ops/primitives/inexact.h"

namespace bora::ops {
/// Checks operands (equal types; the first may be a condition) and gives the result's type.
Type infer_elementwise(kernels::OpId, std::string_view name, const Types& in);
/// The kernel of a loop, once it has been made. Reading a slot takes no lock.
using KernelSlot = std::atomic<const kernels::LoopKernel*>;
/// Makes the kernel, puts it into the slot and keeps it for ever.
const kernels::LoopKernel& keep_kernel(KernelSlot&, const kernels::Loop&);
/// Loops of one operation, made once for each dtype of the last operand.
class OneOpKernels {
 public:
  void run(kernels::OpId, InputViews in, OutputViews out);
 private:
  const kernels::LoopKernel& make(kernels::OpId, InputViews in, const OutputView& out);
  std::array<KernelSlot, kDtypes> made_{};
};
/// Runs a loop over `n` elements of contiguous memory.
void run_flat(const kernels::LoopKernel&, std::int64_t n, InputViews in, const OutputView& out);

enum class LinearIn : std::uint8_t { nothing, first, each, all, branches };  // branches: select's two values together

/// A tag's defaults.
struct Defaults {
  static constexpr int in_place = 0;  // comparisons, whose result is smaller, say -1
  static constexpr auto linear = LinearIn::nothing;
  static constexpr double lo = 0.5, hi = 2;  // where tests may sample
  static constexpr Dtype sample_dtype = f64;
};

template <class F> struct Elementwise {
  static constexpr std::string_view name = F::name;
  static constexpr int in_place = F::in_place;
  static constexpr bool flat = !requires(A x) { F::dx(x, x, x); } && !requires(A x) { F::da(x, x, x, x); } &&
                               !requires(const Vjp& v) { F::vjp(v); };
  static constexpr bool chooses = F::linear == LinearIn::branches;
  static kernels::OpId op() {
    static const kernels::OpId id = kernels::find_op(F::name);
    return id;
  }
  static OneOpKernels& kernels() {
    static OneOpKernels k;
    return k;
  }
  kernels::OpId element() const { return op(); }
  Type infer(const Types& in) const { return infer_elementwise(op(), name, in); }
  void eval(InputViews in, OutputViews out) const { kernels().run(op(), in, out); }
  Arrays vjp(const Vjp& v) const {
    if constexpr (requires(A x) { F::dx(x, x, x); }) return {F::dx(v.in[0], v.out[0], v.ct[0])};
    else if constexpr (requires(A x) { F::da(x, x, x, x); })
      return {v.needs[0] ? F::da(v.in[0], v.in[1], v.out[0], v.ct[0]) : Array{},
              v.needs[1] ? F::db(v.in[0], v.in[1], v.out[0], v.ct[0]) : Array{}};
    else if constexpr (requires { F::vjp(v); }) return F::vjp(v);
    else return Arrays(v.in.size());  // a step function
  }
  DimFactors factors(const Types& in) const {
    switch (F::linear) {
      case LinearIn::first: return elementwise_factors(in, {0});
      case LinearIn::each: return elementwise_factors(in, {0, 1});
      case LinearIn::all: return elementwise_factors(in, {0, 1}, true);
      case LinearIn::branches: return elementwise_factors(in, {1, 2}, true);
      case LinearIn::nothing: break;
    }
    return elementwise_factors(in);
  }
  Elementwise lift(std::int64_t) const { return *this; }
  static SamplesOf<Elementwise> samples() {
    if constexpr (requires { F::samples(); }) {
      SamplesOf<Elementwise> r;
      for (auto& in : F::samples()) r.push_back({Elementwise{}, in});
      return r;
    } else {
      Arrays in;
      for (int i = 0, n = kernels::element_op(Elementwise{}.element()).arity; i < n; ++i)
        in.push_back(random_values({2, 3}, F::lo, F::hi, i + 1, F::sample_dtype));
      return {{Elementwise{}, in}};
    }
  }
};

/// The one primitive object of a tag: it has no parameters.
template <class F> const PrimitivePtr& the() {
  static const PrimitivePtr p = primitive(Elementwise<F>{});
  return p;
}
/// The result of an operation on buffers of one type; empty for other operands, which call() handles or rejects.
Array at_once(kernels::OpId, OneOpKernels&, InputViews);
template <class F, class... X> Array apply(const X&... x) {
  if (evaluates() && (is_buffer(x) && ...)) {
    const InputView in[] = {{x.type(), static_cast<const ArrayBuffer*>(x.get())->data}...};
    if (Array y = at_once(Elementwise<F>::op(), Elementwise<F>::kernels(), in); y.defined()) return y;
  }
  return call(the<F>(), {x...}).front();
}
}  // namespace bora::ops
