// core.h -- the transformations on flat lists of Arrays; the typed shells put trees on top.
#pragma once
#include "bora/array/rules.h"
#include "bora/array/saveable.h"

namespace bora::fx {
/// One gradient per primal: zeros where none flows, empty for primals that are not floating. Empty entries of ct are
/// zero.
struct VjpFlat {
  Arrays out;
  std::function<Arrays(const Arrays& ct)> pullback;
};
VjpFlat vjp_flat(const FlatFn& f, const Arrays& primals, const Mask& wrt);
/// f(primals) and its derivative as a function of tangents, which is recorded while f runs, once. Empty tangents are
/// zero, given and returned.
struct LinearizedFlat {
  Arrays out;
  std::function<Arrays(const Arrays& tangents)> push;
};
LinearizedFlat linearize_flat(const FlatFn& f, const Arrays& primals);
/// {f(primals), its derivative along tangents}. Empty tangents are zero, given and returned.
std::pair<Arrays, Arrays> jvp_flat(const FlatFn& f, const Arrays& primals, const Arrays& tangents);

struct VmapFlat {
  std::vector<std::optional<std::int64_t>> in;  // one per leaf; none: not mapped; negative axes count from the end
  std::vector<std::optional<std::int64_t>> out = {0};  // one per output leaf, or a single one for all
  std::int64_t size = -1;                              // needed only if nothing is mapped
  std::string axis_name = {};
  MappedOver over = {};
};
Arrays vmap_flat(const FlatFn& f, const Arrays& in, const VmapFlat& how);

/// body: (carry, x) -> (carry, y). xs have a leading dimension of `length`. labels: tree paths of the carry, for
/// errors.
Arrays scan_flat(const FlatFn& body, const Arrays& init, const Arrays& xs, std::int64_t length, bool reverse,
                 const std::vector<std::string>& labels = {});
Arrays cond_flat(const Array& pred, const FlatFn& on_true, const FlatFn& on_false, const Arrays& operands);
Arrays while_flat(const FlatFn& cond, const FlatFn& body, const Arrays& init);
Arrays checkpoint_flat(const FlatFn&, const Arrays& in, Saveable keep, const std::vector<std::string>& names = {});
/// bwd: (residuals, cotangents of floating results) -> a gradient for each floating input.
Arrays custom_vjp_flat(const FlatFn& f, const FlatFn& fwd, const FlatFn& bwd, const Arrays& in);
/// rule: (inputs, tangents of the floating ones) -> (results, tangents of the floating ones). It is staged before f.
Arrays custom_jvp_flat(const FlatFn& f, const FlatFn& rule, const Arrays& in);
/// The transpose of a linear f, as a function of cotangents; nothing of f is computed but what its captures need.
/// Throws TraceError where f is not linear, DtypeError where an input or a result is not floating.
std::function<Arrays(const Arrays& ct)> linear_transpose_flat(const FlatFn& f, const Types& in);
using LinearSolver = std::function<Arrays(const FlatFn& linear, const Arrays& b)>;
/// The solution x of matvec(x) = b that `solve` gives. transposed: solves with the transposed matvec, for derivatives;
/// empty: there is none.
Arrays linear_solve_flat(const FlatFn& matvec, const Arrays& b, const LinearSolver& solve,
                         const LinearSolver& transposed, bool symmetric);
/// The x with f(x) = 0 that solve(f, guess) gives; its derivative solves with the derivative of f at x.
Arrays root_flat(const FlatFn& f, const Arrays& guess, const LinearSolver& solve, const LinearSolver& tangent_solve);

/// An inner jit: a call of a staged Program under the current interpreter. donated[i]: the caller gave up in[i]; its
/// memory may be reused.
Arrays run_jit(const ProgramPtr&, Arrays in, const Mask& donated = {});
/// Size of a mesh axis, or of the vmap whose axis_name it is; the product for several. Throws ShardError for an unbound
/// name.
std::int64_t axis_size(const MeshAxes&);
}  // namespace bora::fx
