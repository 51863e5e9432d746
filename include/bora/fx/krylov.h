// krylov.h -- linear systems by iteration, with the names of scipy.sparse.linalg and jax.scipy.sparse.linalg: matrices,
// sparse matrices and linear functions of trees.
#pragma once
#include "bora/fx/implicit.h"
#include "bora/ops/contractions.h"
#include "bora/ops/sparse.h"

namespace bora::sparse::linalg {
/// The x that a solver found, and info, i32: 0 where it converged, the number of iterations where it did not, below 0
/// where bicgstab broke down (-10: rho = 0, -11: omega or alpha = 0).
template <class X> struct Solution {
  X x;
  Array info;
};
template <class X> struct KrylovOptions {      // of cg, bicgstab and gmres
  std::optional<X> x0 = none;                  // the start; default: zeros
  double tol = 1e-5, atol = 0;                 // until |b - A x| <= max(tol |b|, atol)
  std::optional<std::int64_t> maxiter = none;  // default: 10 times the number of elements
  std::function<X(const X&)> M = {};           // about the inverse of A
  std::int64_t restart = 20;                   // gmres: iterations between restarts, which maxiter counts
};
}  // namespace bora::sparse::linalg

namespace bora::fx {
enum class Krylov : std::uint8_t { cg, bicgstab, gmres };
struct KrylovSettings {
  double tol, atol;
  std::optional<std::int64_t> maxiter;
  std::int64_t restart;
};
/// The leaves of x, then info. x0: like b, or empty: zeros; m empty: the identity.
Arrays krylov_flat(Krylov, const FlatFn& a, const FlatFn& m, const Arrays& b, const Arrays& x0, const KrylovSettings&);
template <class A, class X>
sparse::linalg::Solution<X> krylov(Krylov method, const A& a, const X& b, const sparse::linalg::KrylovOptions<X>& o) {
  std::optional<X> applied, solved;
  FlatFn apply, precondition;
  if constexpr (std::is_same_v<A, Array>) {
    static_assert(std::is_same_v<X, Array>, "a matrix is applied to an Array; for trees give a function");
    apply = [&a](const Arrays& x) -> Arrays { return {matmul(a, x[0])}; };
  } else if constexpr (std::is_same_v<A, sparse::BCOO> || std::is_same_v<A, sparse::CSR>) {
    static_assert(std::is_same_v<X, Array>, "a sparse matrix is applied to an Array; for trees give a function");
    apply = [&a](const Arrays& x) -> Arrays { return {sparse::matmul(a, x[0])}; };
  } else {
    static_assert(Callable<A, X> && std::is_same_v<result_t<A, X>, X>,
                  "cg, bicgstab, gmres: A is a matrix, a sparse matrix, or a linear function of a value like b that "
                  "returns one");
    apply = endomorphism(a, applied, b, "cg, bicgstab, gmres: A must give a value like b");
  }
  if (o.M) precondition = endomorphism(o.M, solved, b, "cg, bicgstab, gmres: M must give a value like b");
  if (o.x0) check_same("cg, bicgstab, gmres: x0 must be like b", tree::node(b), tree::node(*o.x0));
  auto r = krylov_flat(method, apply, precondition, pack(b), o.x0 ? pack(*o.x0) : Arrays{},
                       {o.tol, o.atol, o.maxiter, o.restart});
  auto info = r.back();
  r.pop_back();
  return {tree::unflatten(b, r), info};
}
}  // namespace bora::fx

namespace bora::sparse::linalg {
/// The x with A x = b for a symmetric (Hermitian) positive definite A: conjugate gradients (Hestenes & Stiefel 1952).
/// A: a matrix, a BCOO, a CSR, or a linear function of values like b. Derivatives by b and by what A holds are those of
/// the equation: they solve with A once more. Throws ShapeError where A does not fit b, DtypeError for a b of integers,
/// ValueError for options out of range.
template <class A, class X>
Solution<X> cg(const A& a, const X& b, const KrylovOptions<std::type_identity_t<X>>& options = {}) {
  return fx::krylov(fx::Krylov::cg, a, b, options);
}
/// The same for any A: the stabilized bi-conjugate gradients (van der Vorst 1992).
template <class A, class X>
Solution<X> bicgstab(const A& a, const X& b, const KrylovOptions<std::type_identity_t<X>>& options = {}) {
  return fx::krylov(fx::Krylov::bicgstab, a, b, options);
}
/// The same for any A: minimal residuals over a space that grows until a restart, preconditioned from the left (Saad &
/// Schultz 1986). Holds `restart` vectors like b.
template <class A, class X>
Solution<X> gmres(const A& a, const X& b, const KrylovOptions<std::type_identity_t<X>>& options = {}) {
  return fx::krylov(fx::Krylov::gmres, a, b, options);
}
}  // namespace bora::sparse::linalg
