// Linear systems by iteration. The loops keep lists of arrays: x, r, .., then scalars.
#include "bora/fx/krylov.h"
#include "bora/fx/control.h"
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ravel.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"

namespace bora::fx {
namespace {
using Size = std::int64_t;
/// Vectors are lists of leaves.
Array vdot_of(const Arrays& a, const Arrays& b) {
  Array s;
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto t = sum(conj(a[i]) * b[i]);
    s = i == 0 ? t : s + t;
  }
  return s;
}
Array squared(const Arrays& a) { return real(vdot_of(a, a)); }
/// a + s b, of a's dtypes.
Arrays plus(const Arrays& a, const Array& s, const Arrays& b) {
  Arrays r;
  for (std::size_t i = 0; i < a.size(); ++i) r.push_back((a[i] + s * b[i]).astype(a[i].dtype()));
  return r;
}
Arrays minus(const Arrays& a, const Arrays& b) {
  Arrays r;
  for (std::size_t i = 0; i < a.size(); ++i) r.push_back(a[i] - b[i]);
  return r;
}
Arrays chosen_vectors(const Array& first, const Arrays& a, const Arrays& b) {
  Arrays r;
  for (std::size_t i = 0; i < a.size(); ++i) r.push_back(where(first, a[i], b[i]));
  return r;
}
void extend(Arrays& a, const Arrays& b) { a.insert(a.end(), b.begin(), b.end()); }
Arrays slot(const Arrays& all, std::size_t k, std::size_t n) {
  auto from = all.begin() + static_cast<std::ptrdiff_t>(k * n);
  return {from, from + static_cast<std::ptrdiff_t>(n)};
}
/// The problem as all methods know it: A, M, the right side and when to stop.
struct System {
  FlatFn a, m;
  Arrays b, x0;
  Size maxiter, restart;
  Array bound;  // of |r|^2
  Dtype dtype;  // of scalars
  Arrays precondition(const Arrays& r) const { return m ? m(r) : r; }
  Array number(double v) const { return constant(v, dtype); }
  Array more(const Array& rr, const Array& k) const { return rr > bound && k < maxiter; }
  /// 0 or the number of iterations, as a number that a derivative may pass through.
  Array info(const Array& rr, const Array& k) const {
    return where(rr <= bound, 0, where(k == 0, 1, k)).astype(f32);
  }
};
Arrays with_info(Arrays x, const Array& info) {
  x.push_back(info);
  return x;
}
Arrays conjugate_gradients(const System& s) {
  auto n = s.b.size();
  auto r = minus(s.b, s.a(s.x0));
  auto z = s.precondition(r);
  Arrays init = s.x0;  // x, r, p, gamma, |r|^2, k
  extend(init, r);
  extend(init, z);
  extend(init, {vdot_of(r, z).astype(s.dtype), squared(r), array(0)});
  auto out = while_flat([&](const Arrays& v) -> Arrays { return {s.more(v[3 * n + 1], v[3 * n + 2])}; },
                        [&](const Arrays& v) {
                          auto p = slot(v, 2, n), ap = s.a(p);
                          auto gamma = v[3 * n], alpha = gamma / vdot_of(p, ap).astype(s.dtype);
                          auto next = plus(slot(v, 0, n), alpha, p), r = plus(slot(v, 1, n), -alpha, ap);
                          auto z = s.precondition(r);
                          auto new_gamma = vdot_of(r, z).astype(s.dtype);
                          extend(next, r);
                          extend(next, plus(z, new_gamma / gamma, p));
                          extend(next, {new_gamma, squared(r), v[3 * n + 2] + 1});
                          return next;
                        },
                        init);
  return with_info(slot(out, 0, n), s.info(out[3 * n + 1], out[3 * n + 2]));
}
Arrays stabilized(const System& s) {
  auto n = s.b.size();
  auto r = minus(s.b, s.a(s.x0));
  Arrays init = s.x0;  // x, r, rhat, p, q, alpha, omega, rho, |r|^2, k
  for (int i = 0; i < 4; ++i) extend(init, r);
  extend(init, {s.number(1), s.number(1), s.number(1), squared(r), array(0)});
  auto body = [&](const Arrays& v) {
    auto x = slot(v, 0, n), r = slot(v, 1, n), start = slot(v, 2, n), p = slot(v, 3, n), q = slot(v, 4, n);
    auto *c = v.data() + 5 * n;
    auto k = c[4];
    auto rho = vdot_of(start, r).astype(s.dtype);
    auto beta = rho / c[2] * c[0] / c[1];
    p = plus(r, beta, plus(p, -c[1], q));
    auto phat = s.precondition(p);
    q = s.a(phat);
    auto alpha = rho / vdot_of(start, q).astype(s.dtype);
    auto half = plus(r, -alpha, q);
    auto early = squared(half) < s.bound;
    auto shat = s.precondition(half), t = s.a(shat);
    auto omega = (vdot_of(t, half) / vdot_of(t, t)).astype(s.dtype);
    auto x1 = plus(x, alpha, phat);
    auto next = chosen_vectors(early, x1, plus(x1, omega, shat));
    auto rest = chosen_vectors(early, half, plus(half, -omega, t));
    auto rr = squared(rest);
    auto broken = where(rho == 0, -10, where((omega == 0 || alpha == 0) && rr > s.bound, -11, k + 1));
    extend(next, rest);
    extend(next, start);
    extend(next, p);
    extend(next, q);
    extend(next, {alpha, omega, rho, rr, broken});
    return next;
  };
  auto out = while_flat(
      [&](const Arrays& v) -> Arrays {
        auto k = v[5 * n + 4];
        return {s.more(v[5 * n + 3], k) && k >= 0};
      },
      body, init);
  return with_info(slot(out, 0, n), s.info(out[5 * n + 3], out[5 * n + 4]));
}
/// On one vector v: leaves are raveled.
Arrays minimal_residuals(const System& s) {
  auto types = types_of(s.b);
  auto flat = [&](const Arrays& a) { return tree::ravel_leaves(a).flat.astype(s.dtype); };
  auto leaves = [&](const Array& v) { return tree::unravel_leaves(v, types); };
  auto size = flat(s.b).size();
  auto m = std::min(s.restart, size);
  auto real_type = real_dtype(s.dtype);
  auto length = [](const Array& v) { return sqrt(real(sum(conj(v) * v))); };
  auto unit = [&](const Array& v, const Array& n) { return v / where(n == 0, 1., n); };
  auto residual = [&](const Arrays& x) { return minus(s.b, s.a(x)); };
  auto cycle = [&](const Arrays& v) {  // x, |r|^2, k -> after m further directions
    auto x = leaves(v[0]);
    auto r = flat(s.precondition(residual(x)));
    auto beta = length(r);
    auto rows = iota({m + 1}, 0);
    Array basis = where(expand_dims(rows == 0, 1), expand_dims(unit(r, beta), 0), 0.);  // [m + 1, size]
    Array h = full_of({{m + 1, m}, s.dtype}, 0);
    // The direction that is left once the space is exhausted is rounding, and is dropped.
    auto least = real_type == f64 ? 1e-14 : 1e-6;
    auto out = fori_loop(0, m,
                         [&](const Array& j, const Arrays& c) -> Arrays {
                           auto w = flat(s.precondition(s.a(leaves(dynamic_index_in_dim(c[0], j)))));
                           auto before = length(w);
                           Array coefficients;
                           for (int pass = 0; pass < 2; ++pass) {  // twice is enough (Giraud et al. 2005)
                             auto along = matmul(conj(c[0]), w);
                             w = w - matmul(along, c[0]);
                             coefficients = pass == 0 ? along : coefficients + along;
                           }
                           auto n = length(w);
                           auto gone = n <= least * before;
                           n = where(gone, 0., n);
                           w = where(gone, 0., unit(w, n));
                           auto mine = expand_dims(rows == j + 1, 1);
                           auto column = where(rows == j + 1, n, coefficients);
                           return {where(mine, expand_dims(w, 0), c[0]),
                                   where(iota({m + 1, m}, 1) == j, expand_dims(column, 1), c[1])};
                         },
                         Arrays{basis, h});
    auto right = where(rows == 0, beta, 0.).astype(s.dtype);
    auto y = bora::linalg::lstsq(out[1], right).x;
    auto next = v[0] + matmul(y, slice_in_dim(out[0], 0, 0, m));
    // A step that rounding made useless or infinite is not taken.
    auto rr = squared(residual(leaves(next)));
    auto better = rr < v[1];
    return Arrays{where(better, next, v[0]), where(better, rr, v[1]), v[2] + 1, better};
  };
  auto x0 = flat(s.x0);
  auto out = while_flat([&](const Arrays& v) -> Arrays { return {s.more(v[1], v[2]) && v[3]}; }, cycle,
                        {x0, squared(residual(s.x0)), array(0), array(true)});
  return with_info(leaves(out[0]), s.info(out[1], out[2]));
}
}  // namespace

Arrays krylov_flat(Krylov method, const FlatFn& a, const FlatFn& m, const Arrays& b, const Arrays& x0,
                   const KrylovSettings& o) {
  constexpr std::string_view names[] = {"cg", "bicgstab", "gmres"};
  auto what = names[static_cast<std::size_t>(method)];
  check<ShapeError>(!b.empty(), what, ": b has no leaves");
  check<ValueError>(o.tol >= 0 && o.atol >= 0, what, ": tol = ", o.tol, " and atol = ", o.atol,
                    " must not be negative");
  check<ValueError>(o.maxiter.value_or(0) >= 0, what, ": maxiter = ", o.maxiter.value_or(0), " must not be negative");
  check<ValueError>(o.restart >= 1, what, ": restart = ", o.restart, " must be positive");
  Size elements = 0;
  auto dtype = b[0].dtype();
  for (auto& x : b) {
    check<DtypeError>(is_inexact(x.dtype()), what, ": b is ", x.type(), ", which is not floating; say b.astype(f32)");
    elements += x.size();
    dtype = promote(dtype, x.dtype());
  }
  if (!is_complex(dtype) && dtype != f64) dtype = f32;
  auto n = b.size();
  auto first = [n](const Arrays& v) { return Arrays(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(n)); };
  // The equation has one more unknown, info: its part of the matrix is 1, and the solver says what it is.
  auto matvec = [&](const Arrays& v) {
    auto y = a(first(v));
    check<ShapeError>(y.size() == n, what, ": A gives ", y.size(), " arrays for the ", n, " of b");
    for (std::size_t i = 0; i < n; ++i) {
      check<ShapeError>(y[i].shape() == b[i].shape(), what, ": A gives ", y[i].type(), " for b ", b[i].type(),
                        "; they must have one shape");
      check<DtypeError>(y[i].dtype() == b[i].dtype(), what, ": A gives ", y[i].type(), " for b ", b[i].type(),
                        "; say b.astype(", y[i].dtype(), ")");
    }
    return with_info(y, v.back());
  };
  auto solve = [&](const FlatFn& f, const Arrays& right) {
    System s;
    s.a = [&f, first](const Arrays& x) { return first(f(with_info(x, array(0.)))); };
    s.m = m;
    s.b = first(right);
    for (auto& x : s.b) s.x0.push_back(zeros_like(x));
    if (!x0.empty()) {
      s.x0.clear();
      for (auto& x : x0) s.x0.push_back(stop_gradient(x));
    }
    s.maxiter = o.maxiter.value_or(10 * elements);
    s.restart = o.restart;
    s.dtype = dtype;
    s.bound = maximum(o.tol * o.tol * squared(s.b), o.atol * o.atol);
    return method == Krylov::cg         ? conjugate_gradients(s)
           : method == Krylov::bicgstab ? stabilized(s)
                                        : minimal_residuals(s);
  };
  bool symmetric = method == Krylov::cg && !is_complex(dtype);  // a Hermitian matrix is not its own transpose
  auto r = linear_solve_flat(matvec, with_info(b, array(0.)), solve, symmetric ? LinearSolver{} : solve, symmetric);
  r.back() = stop_gradient(r.back()).astype(i32);
  return r;
}
}  // namespace bora::fx
