// Identity operations that act on transforms and passes.
#include "kernels/api/move.h"
#include "ops/api/support.h"
#include "bora/array/primitive.h"
#include "bora/ops/transform.h"
#include "ops/api/primitives.h"

namespace bora::ops {
namespace {
void copy_bytes(const InputView& in, const OutputView& out) {
  kernels::copy_bytes(out.data, in.data, out.type.nbytes());
}
}  // namespace

Type StopGradient::infer(const Types& in) const { return in[0]; }
void StopGradient::eval(InputViews in, OutputViews out) const { copy_bytes(in[0], out[0]); }
Array StopGradient::vjp(const Vjp&) const { return {}; }
DimFactors StopGradient::factors(const Types& in) const { return elementwise_factors(in, {0}); }
StopGradient StopGradient::lift(std::int64_t) const { return *this; }
/// Integers: the derivative is defined as zero, which finite differences would contradict.
SamplesOf<StopGradient> StopGradient::samples() { return {{{}, {random_values({2, 3}, -4, 4, 1, i32)}}}; }

const std::string* checkpoint_name_of(const Primitive& p) {
  auto* name = as<Name>(p);
  return name ? &name->label : nullptr;
}
Type Name::infer(const Types& in) const { return in[0]; }
void Name::eval(InputViews in, OutputViews out) const { copy_bytes(in[0], out[0]); }
Array Name::vjp(const Vjp& v) const { return v.ct[0]; }
DimFactors Name::factors(const Types& in) const { return elementwise_factors(in, {0}); }
Name Name::lift(std::int64_t) const { return *this; }
SamplesOf<Name> Name::samples() { return {{{"x"}, {random_values({2, 3}, -4, 4, 1)}}}; }

Types OptimizationBarrier::infer(const Types& in) const { return in; }
void OptimizationBarrier::eval(InputViews in, OutputViews out) const {
  for (std::size_t i = 0; i < in.size(); ++i) copy_bytes(in[i], out[i]);
}
Arrays OptimizationBarrier::vjp(const Vjp& v) const { return v.ct; }
std::vector<Mapped> OptimizationBarrier::batch(const std::vector<Mapped>& in, const BatchRules&) const {
  Arrays x;
  for (auto& m : in) x.push_back(m.value);
  x = optimization_barrier(x);
  auto out = in;
  for (std::size_t i = 0; i < in.size(); ++i) out[i].value = x[i];
  return out;
}
/// Specs and pending sums stay.
std::optional<std::vector<Sharded>> OptimizationBarrier::shard(const std::vector<Sharded>& in, ShardRules&) const {
  Arrays x;
  for (auto& s : in) x.push_back(s.local);
  x = optimization_barrier(x);
  auto out = in;
  for (std::size_t i = 0; i < in.size(); ++i) out[i].local = x[i];
  return out;
}
SamplesOf<OptimizationBarrier> OptimizationBarrier::samples() {
  return {{{}, {random_values({2, 3}, -4, 4, 1), random_values({4}, -4, 4, 2)}}};
}
}  // namespace bora::ops

namespace bora {
Array stop_gradient(const Array& x) { return call_one(ops::StopGradient{}, {x}); }
Array checkpoint_name(const Array& x, const std::string& name) { return call_one(ops::Name{name}, {x}); }
Arrays optimization_barrier(const Arrays& xs) { return call(ops::OptimizationBarrier{}, xs); }
template PrimitivePtr primitive<ops::StopGradient>(ops::StopGradient);
template PrimitivePtr primitive<ops::Name>(ops::Name);
template PrimitivePtr primitive<ops::OptimizationBarrier>(ops::OptimizationBarrier);
}  // namespace bora
