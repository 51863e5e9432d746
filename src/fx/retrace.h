// retrace.h -- a Program under one more interpreter: run again, result staged. Private to fx and shard.
#pragma once
#include <string>
#include <vector>
#include "bora/fx/core.h"

namespace bora::ops {
struct Scan;
}  // namespace bora::ops

namespace bora::fx {
/// fwd: inputs -> outputs, residuals.  bwd: residuals, cotangents of float outputs -> gradients of the differentiated
/// inputs.
struct Split {
  ProgramPtr fwd, bwd;
  std::vector<int> residual;  // >= 0: that input of fwd; -1: the next extra output of fwd; else that output: -2, -3, ..
  std::vector<int> ct;        // which outputs take a cotangent
  std::vector<int> grad;      // which inputs get a gradient
};
struct Residuals {
  Saveable keep = Saveable::everything;
  std::vector<std::string> names = {};
  Mask invariant = {};  // inputs equal in every iteration: values that depend on them alone are not kept
  std::size_t reused = ~std::size_t{0};  // outputs from here on may serve as residuals
  bool repeat_effects = false;           // all that the backward pass needs is computed again, checks too
};
using SplitPtr = std::shared_ptr<const Split>;
SplitPtr split_vjp(const ProgramPtr&, const Mask& wrt, const Residuals&);
/// Dependence on an input: by derivatives, which end at a step function or stop_gradient; or its values.
enum class Flow : bool { derivatives, values };
/// The outputs that depend on the inputs `in`. Looks inside held Programs.
Mask depends(const Program&, const Mask& in, Flow = Flow::derivatives);
Mask depends(const Primitive&, const Mask& in, const Types& out, Flow = Flow::derivatives);
/// The inputs of the body that are differentiated: a carry that a differentiated value reaches is one too.
Mask with_reached_carries(const ops::Scan&, const Mask& needs, Flow = Flow::derivatives);
struct BatchedProgram {
  ProgramPtr program;
  Mask out;  // every mapped value has its mapped axis first
};
/// Does the interpreter map, or take a derivative?
bool is_batch(const Interpreter&);
bool is_tape(const Interpreter&);
bool is_dual(const Interpreter&);
BatchedProgram batch_program(const ProgramPtr&, const Mask& in, const BatchRules&, const Mask& force = {});
/// Inputs: the Program's, then the tangents of those in `in`. Results: the Program's, then the tangents of those in
/// `out`, which has those in `force`.
struct PushedProgram {
  ProgramPtr program;
  Mask out;
};
PushedProgram jvp_program(const ProgramPtr&, const Mask& in, const Mask& force = {});
/// Tangents through a loop's body (consts, carry, others) -> (carry, others): a carry that a tangent reaches has one,
/// and is added to `in`.
PushedProgram reached(const ProgramPtr& body, Mask& in, std::size_t consts, std::size_t carries);
/// The same Program with its results in another order.
ProgramPtr with_results(const ProgramPtr&, const std::vector<std::size_t>& order);
/// Results and tangents, from the results of such a Program.
Pushed pushed(const Mask& moved, const Arrays& results);
Arrays only_defined(const Arrays&);

// ---- helpers of the control rules ----
inline Arrays part(const Arrays& a, std::size_t from, std::size_t n) {
  return {a.begin() + static_cast<std::ptrdiff_t>(from), a.begin() + static_cast<std::ptrdiff_t>(from + n)};
}
template <class T> void append(std::vector<T>& a, const std::vector<T>& b) { a.insert(a.end(), b.begin(), b.end()); }
/// Throws DtypeError unless complex: holomorphic functions have complex arguments and results (`place`).
inline void check_holomorphic(std::string_view what, std::string_view place, const Type& type) {
  check<DtypeError>(is_complex(type.dtype), what, ": {.holomorphic = true} needs complex ", place, ", got ", type,
                    "; leave it out for real ones, or use astype(complex64)");
}
/// For cache keys: "0110".
inline std::string bits(const Mask& m) {
  std::string r;
  for (bool b : m) r += b ? '1' : '0';
  return r;
}
/// A leaf in messages.
inline std::string where(const std::string& path) { return path.empty() ? std::string("the value") : "'" + path + "'"; }
Array or_zero(const Array& a, const Type& t);
/// The same Program with its inputs in another order: the i-th is old input order[i], or an unused one of type extra[i]
/// where order[i] < 0.
ProgramPtr rewired(const ProgramPtr&, const std::vector<int>& order, const Types& extra = {});
}  // namespace bora::fx
