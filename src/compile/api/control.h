// control.h -- primitives that hold Programs. Evaluated through executable(); their derivative, batching and sharding
// rules run a held Program again under one more interpreter and are defined in fx and shard.
#pragma once
#include "bora/array/saveable.h"
#include "compile/api/program.h"

namespace bora::ops {
/// The type of n such values, stacked.
inline Type with_length(Type t, std::int64_t n) {
  t.shape.insert(0, n);
  return t;
}
/// An inner jit (protect = false) or a checkpoint. The backward call of a checkpoint has protect = true where
/// recomputation must survive: passes on the global Program never merge it with anything; flatten inlines all calls at
/// the end.
struct Call {
  ProgramPtr program;
  Saveable keep = Saveable::everything;
  std::vector<std::string> names = {};  // outputs of checkpoint_name that are kept (Saveable::names), or not
  bool protect = false;
  Mask donated = {};  // inputs whose memory may be reused: for a call that runs, not for a staged one
  static constexpr std::string_view name = "call";
  static constexpr bool calls = true;
  Types infer(const Types&) const;
  Arrays run(const Arrays&, const Types&) const;
  Linearized linearize(const Arrays&, const Mask& needs) const;
  Pushed jvp(const Arrays&, const Arrays& tangents) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::vector<Sharded> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Call> samples();
};
/// body: (consts, carry, x) -> (carry, y). Inputs: consts, carry, xs with a leading dimension of `length`.
struct Scan {
  ProgramPtr body;
  std::int64_t consts, carries, length;
  bool reverse;
  static constexpr std::string_view name = "scan";
  static constexpr bool takes_symbolic = true;
  static constexpr std::string_view memory = "stacked";
  Types infer(const Types&) const;
  Arrays run(const Arrays&, const Types&) const;
  Linearized linearize(const Arrays&, const Mask& needs) const;
  Pushed jvp(const Arrays&, const Arrays& tangents) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::vector<Sharded> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Scan> samples();
};
/// Inputs: predicate (bool scalar), operands. Both branches give the same types.
struct Cond {
  ProgramPtr on_true, on_false;
  static constexpr std::string_view name = "cond";
  static constexpr bool takes_symbolic = true;
  Types infer(const Types&) const;
  Arrays run(const Arrays&, const Types&) const;
  Linearized linearize(const Arrays&, const Mask& needs) const;
  Pushed jvp(const Arrays&, const Arrays& tangents) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::vector<Sharded> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Cond> samples();
};
/// Inputs: consts of the condition, consts of the body, carry. No reverse mode, but a forward one.
struct While {
  ProgramPtr cond, body;
  std::int64_t cond_consts, body_consts;
  /// Of a vmap: the condition asks whether it holds in any lane, and the body changes no lane in which it does not.
  /// More rounds change nothing then, and a rank may stop after the last of its own lanes.
  bool lanes = false;
  static constexpr std::string_view name = "while_loop";
  static constexpr bool takes_symbolic = true, forward_only = true;
  Types infer(const Types&) const;
  Arrays run(const Arrays&, const Types&) const;
  Arrays vjp(const Vjp&) const;  // throws: the number of iterations to go back through is not known
  Pushed jvp(const Arrays&, const Arrays& tangents) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::vector<Sharded> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<While> samples();
};
/// f with the user's own backward pass: program(x) = f; fwd(x) -> (out, residuals); bwd(residuals, ct) -> gradients of
/// the first `differentiable` inputs; cotangents and gradients of floating values only. program and fwd have the same
/// inputs.
struct CustomVjp {
  ProgramPtr program, fwd, bwd;
  std::int64_t differentiable;
  static constexpr std::string_view name = "custom_vjp";
  static constexpr bool calls = true;
  Types infer(const Types&) const;
  Arrays run(const Arrays&, const Types&) const;
  Linearized linearize(const Arrays&, const Mask& needs) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::vector<Sharded> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<CustomVjp> samples();
};
/// The solution x of A x = b by the user's functions: solve(consts, b), with matvec(consts, x) = A x; the transposed
/// ones solve with A's transpose and apply it, for derivatives; null: there are none. All have the same inputs: consts,
/// then b.
struct LinearSolve {
  ProgramPtr solve, matvec, transpose_solve, transpose_matvec;
  std::int64_t consts;
  static constexpr std::string_view name = "custom_linear_solve";
  static constexpr bool calls = true;
  Types infer(const Types&) const;
  Arrays run(const Arrays&, const Types&) const;
  Linearized linearize(const Arrays&, const Mask& needs) const;
  Pushed jvp(const Arrays&, const Arrays& tangents) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::vector<Sharded> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<LinearSolve> samples();
};
/// The x that solves an equation, as `program` finds it; rule(x, inputs, tangents of the floating ones) gives its
/// tangent, linear in the tangents.
struct Root {
  ProgramPtr program, rule;
  static constexpr std::string_view name = "custom_root";
  static constexpr bool calls = true;
  Types infer(const Types&) const;
  Arrays run(const Arrays&, const Types&) const;
  Linearized linearize(const Arrays&, const Mask& needs) const;
  Pushed jvp(const Arrays&, const Arrays& tangents) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::vector<Sharded> shard(const std::vector<Sharded>&, ShardRules&) const;
  static SamplesOf<Root> samples();
};
/// Calls the function for p's type if p is a loop or a branch: what an Executable runs as a step of its own, unlike
/// calls, which are inlined. Else returns false.
template <class OnScan, class OnCond, class OnWhile>
bool visit_control(const Primitive& p, const OnScan& on_scan, const OnCond& on_cond, const OnWhile& on_while) {
  if (auto* s = as<Scan>(p)) on_scan(*s);
  else if (auto* c = as<Cond>(p)) on_cond(*c);
  else if (auto* w = as<While>(p)) on_while(*w);
  else return false;
  return true;
}
}  // namespace bora::ops
namespace bora {
// Compiled once, in src/compile/program/control.cpp: units that make one do not compile its rules.
extern template PrimitivePtr primitive<ops::Call>(ops::Call);
extern template PrimitivePtr primitive<ops::Scan>(ops::Scan);
extern template PrimitivePtr primitive<ops::Cond>(ops::Cond);
extern template PrimitivePtr primitive<ops::While>(ops::While);
extern template PrimitivePtr primitive<ops::CustomVjp>(ops::CustomVjp);
extern template PrimitivePtr primitive<ops::LinearSolve>(ops::LinearSolve);
extern template PrimitivePtr primitive<ops::Root>(ops::Root);
}  // namespace bora
