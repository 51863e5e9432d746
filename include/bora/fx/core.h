// core.h -- the transforms on flat lists of Arrays. The typed shells (grad.h, vmap.h, control.h, jit.h ...) put trees on top.
#pragma once
#include "bora/compile/control.h"
#include "bora/compile/program.h"

namespace bora::fx {
/// Outputs of f, and its pullback: cotangents of the outputs (an empty one is zero) -> one gradient per primal, zeros where none flows,
/// empty where the primal is not floating or wrt says no.
struct VjpFlat {
  Arrays out;
  std::function<Arrays(const Arrays& ct)> pullback;
};
VjpFlat vjp_flat(const FlatFn& f, const Arrays& primals, const Mask& wrt);
/// Outputs and their tangents; tangents of non-floating primals are not read and may be empty.
std::pair<Arrays, Arrays> jvp_flat(const FlatFn& f, const Arrays& primals, const Arrays& tangents);
struct VmapFlat {
  std::vector<std::int64_t> in;                  // one per leaf; -1: not mapped
  std::vector<std::int64_t> out = {};            // one per output leaf or a single one for all; -1: must not be mapped
  std::int64_t size = -1;                        // -1: from the mapped inputs
  std::string axis_name = {};
};
Arrays vmap_flat(const FlatFn& f, const Arrays& in, const VmapFlat& how);
/// An inner jit: one Call instruction.
Arrays call_program(const ProgramPtr&, const Arrays& in);
/// body: (carry, x) -> (carry, y). Returns the last carry, then the stacked ys. labels: of carry, then of x.
Arrays scan_flat(const FlatFn& body, const Arrays& init, const Arrays& xs, std::int64_t length, bool reverse,
                 const std::vector<std::string>& labels = {});
Arrays cond_flat(const Array& pred, const FlatFn& on_true, const FlatFn& on_false, const Arrays& operands);
Arrays while_flat(const FlatFn& cond, const FlatFn& body, const Arrays& init);
Arrays checkpoint_flat(const FlatFn&, const Arrays& in, ops::Keep keep, const std::vector<std::string>& names);
/// fwd: in -> (outputs, residuals); bwd: (residuals, ct of the outputs) -> one gradient per floating input.
Arrays custom_vjp_flat(const FlatFn& f, const FlatFn& fwd, const FlatFn& bwd, const Arrays& in);
/// A jit call: program staged already; `donated[i]` the caller gave up in[i]. Runs under the current interpreter.
Arrays run_jit(const ProgramPtr&, Arrays in, const Mask& donated);
/// Product of the sizes of these axes: of a surrounding vmap(axis_name), else of the mesh in force.
std::int64_t axis_size(const MeshAxes&);
}  // namespace bora::fx
