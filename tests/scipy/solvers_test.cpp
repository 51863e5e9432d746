// Linear systems by iteration, sparse arrays, minima, zeros, differential equations: against dense solutions and closed
// forms, staged, mapped and differentiated.
#include "bora/fx/krylov.h"
#include "bora/fx/ode.h"
#include "bora/fx/optimize.h"
#include "bora/ops/interpolate.h"
#include "laws/laws.h"

namespace bora::laws::solvers_test {
namespace {
using namespace sparse::linalg;
Array dense_solution(const Array& a, const Array& b) {
  return squeeze(linalg::solve(a, expand_dims(b, 1)), 1);
}
/// Symmetric positive definite, and any, both well-conditioned.
Array definite(std::int64_t n) {
  auto r = rnd({n, n}, 3);
  return matmul(r, transpose(r)) + 2 * eye(n, f64);
}
Array general(std::int64_t n) { return rnd({n, n}, 5) + 4 * eye(n, f64); }
struct Solver {
  std::string name;
  std::function<Solution<Array>(const Array&, const Array&, const KrylovOptions<Array>&)> f;
  Array matrix;
};
std::vector<Solver> solvers(std::int64_t n) {
  auto call = [](auto method) {
    return [method](const Array& a, const Array& b, const KrylovOptions<Array>& o) { return method(a, b, o); };
  };
  return {{"cg", call([](auto&... x) { return cg(x...); }), definite(n)},
          {"bicgstab", call([](auto&... x) { return bicgstab(x...); }), general(n)},
          {"gmres", call([](auto&... x) { return gmres(x...); }), general(n)}};
}
TEST(Krylov, SolvesAndSaysSo) {
  for (std::int64_t n : {1, 2, 7, 30})
    for (auto& s : solvers(n)) {
      auto b = rnd({n}, 9), want = dense_solution(s.matrix, b);
      auto r = s.f(s.matrix, b, {.tol = 1e-12});
      close({r.x}, {want}, 1e-9, s.name);
      EXPECT_EQ(r.info.item<int>(), 0) << s.name;
      r = s.f(s.matrix, b, {.x0 = want, .tol = 1e-9});
      close({r.x}, {want}, 1e-12, s.name + " from the solution");
      auto diagonal = diag(s.matrix);
      r = s.f(s.matrix, b, {.tol = 1e-12, .M = [&](const Array& v) { return v / diagonal; }});
      close({r.x}, {want}, 1e-9, s.name + " preconditioned");
      r = s.f(s.matrix, b * 0., {});
      close({r.x}, {b * 0.}, 0, s.name + " of zeros");
      EXPECT_EQ(r.info.item<int>(), 0) << s.name;
      if (n == 30) {
        EXPECT_EQ(s.f(s.matrix, b, {.tol = 1e-12, .maxiter = 1, .restart = 3}).info.item<int>(), 1) << s.name;
        r = s.f(s.matrix, b, {.tol = 1e-10, .restart = 4});
        close({r.x}, {want}, 1e-7, s.name + " restarted");
      }
    }
}
TEST(Krylov, StagedMappedAndDifferentiated) {
  for (auto& s : solvers(5)) {
    auto b = rnd({5}, 9);
    auto f = [&](const Array& a, const Array& v) { return s.f(a, v, {.tol = 1e-13}).x; };
    auto g = [](const Array& a, const Array& v) { return dense_solution(a, v); };
    close({jit(f)(s.matrix, b)}, {f(s.matrix, b)}, 1e-14, s.name + " staged");
    auto rows = stack({b, b * 2, b * 0.});
    auto mapped = vmap([&](const Array& v) { return f(s.matrix, v); })(rows);
    close({mapped}, {stack({f(s.matrix, b), f(s.matrix, b * 2), b * 0.})}, 1e-11, s.name + " mapped");
    auto loss = [](auto h) { return [h](const Array& a, const Array& v) { return sum(sin(h(a, v))); }; };
    for (bool by_matrix : {true, false}) {
      // The derivative of cg is that of the symmetric matrix: its parts are compared as such.
      auto both = [&](auto h) {
        auto x = by_matrix ? grad(h)(s.matrix, b) : grad([&](const Array& v) { return h(s.matrix, v); })(b);
        return by_matrix && s.name == "cg" ? x + transpose(x) : x;
      };
      close({both(loss(f))}, {both(loss(g))}, 1e-9, s.name + " in reverse");
    }
    auto push = [&](auto h) { return jvp([&](const Array& v) { return h(s.matrix * sum(v), v); }, b, b + 1).second; };
    close({push(f)}, {push(g)}, 1e-9, s.name + " forward");
  }
}
struct Pair {
  Array u, v;
};
TEST(Krylov, TakesTreesFunctionsAndSparseMatrices) {
  auto a = definite(5), b = rnd({5}, 2), want = dense_solution(a, b);
  auto apply = [&](const Pair& p) {
    auto y = matmul(a, concatenate({p.u, ravel(p.v)}));
    return Pair{slice_in_dim(y, 0, 0, 2), reshape(slice_in_dim(y, 0, 2, 5), {3, 1})};
  };
  Pair right{slice_in_dim(b, 0, 0, 2), reshape(slice_in_dim(b, 0, 2, 5), {3, 1})};
  for (auto& x : {cg(apply, right, {.tol = 1e-12}).x, bicgstab(apply, right, {.tol = 1e-12}).x,
                  gmres(apply, right, {.tol = 1e-12}).x})
    close({concatenate({x.u, ravel(x.v)})}, {want}, 1e-9, "a tree");
  auto m = sparse::fromdense(where(abs(a) > 0.5, a, 0.));
  auto of_data = [&](const Array& data) {
    return sum(square(cg(sparse::BCOO{data, m.indices, m.shape}, b, {.tol = 1e-12}).x));
  };
  auto of_dense = [&](const Array& data) {
    return sum(square(dense_solution(sparse::BCOO{data, m.indices, m.shape}.todense(), b)));
  };
  close({of_data(m.data)}, {of_dense(m.data)}, 1e-9, "a sparse matrix");
  auto columns = index_in_dim(m.indices, 1, 0) == index_in_dim(m.indices, 1, 1);
  close({where(columns, grad(of_data)(m.data), 0.)}, {where(columns, grad(of_dense)(m.data), 0.)}, 1e-8, "its data");
  auto z = complex(a, rnd({5, 5}, 8) * 0.3), w = complex(b, b * 0.5);
  auto hermitian = z + conj(transpose(z));
  close({matmul(hermitian, cg(hermitian, w, {.tol = 1e-12}).x)}, {w}, 1e-9, "cg of complex numbers");
  close({matmul(z, bicgstab(z, w, {.tol = 1e-12}).x)}, {w}, 1e-8, "bicgstab of complex numbers");
}
TEST(Sparse, IsTheDenseArray) {
  for (Shape shape : {Shape{4, 3}, Shape{1, 1}, Shape{5, 2}}) {
    auto x = rnd(shape, 4);
    x = where(abs(x) < 0.4, 0., x);
    auto m = sparse::fromdense(x);
    close({m.todense()}, {x}, 0, "there and back");
    close({m.transpose().todense()}, {transpose(x)}, 0, "transposed");
    auto v = rnd({shape[1]}, 6), w = rnd({3, shape[0]}, 7), u = rnd({shape[1], 2}, 8);
    close({sparse::matmul(m, v), sparse::matvec(m, v)}, {matmul(x, v), matmul(x, v)}, 1e-14, "times a vector");
    close({sparse::matmul(m, u)}, {matmul(x, u)}, 1e-14, "times a matrix");
    close({sparse::matmul(w, m)}, {matmul(w, x)}, 1e-14, "a matrix times it");
    close({(m + m * 2.).todense()}, {x * 3.}, 1e-15, "sums");
    auto once = sparse::sum_duplicates(m + m * 2.);
    EXPECT_EQ(once.nse(), m.nse());
    close({once.todense(), once.indices}, {x * 3., m.indices}, 1e-15, "sums of duplicates");
    auto staged = jit([](const Array& y) { return sparse::fromdense(y, {.nse = 14}); })(x);
    EXPECT_EQ(staged.nse(), 14);
    close({staged.todense(), sparse::matmul(staged, u), sparse::matmul(w, staged)}, {x, matmul(x, u), matmul(w, x)},
          1e-14, "filled up");
    auto loss = [&](const Array& data) {
      return sum(sin(sparse::matmul(sparse::BCOO{data, m.indices, m.shape}, u)));
    };
    auto dense = grad([&](const Array& y) { return sum(sin(matmul(y, u))); })(x);
    auto at_them = take(ravel(dense), flatnonzero(x));
    close({grad(loss)(m.data)}, {at_them}, 1e-14, "derivative by data");
  }
  auto cube = where(rnd({2, 3, 2}, 1) > 0, rnd({2, 3, 2}, 1), 0.);
  auto m = sparse::fromdense(cube);
  close({m.transpose({1, 2, 0}).todense()}, {transpose(cube, {1, 2, 0})}, 0, "three dimensions");
  EXPECT_EQ(sparse::fromdense(zeros({2, 2})).nse(), 0);
}
Array rosenbrock(const Array& x) {
  auto n = x.size();
  auto a = slice_in_dim(x, 0, 0, n - 1), b = slice_in_dim(x, 0, 1, n);
  return sum(100 * square(b - square(a)) + square(1 - a));
}
TEST(Minimize, FindsMinimaFromAnyStart) {
  using optimize::Method;
  for (auto method : {Method::bfgs, Method::lbfgs}) {
    optimize::MinimizeOptions o{.method = method, .gtol = 1e-7, .ftol = 0};
    for (auto start : {array({-1.2, 1.}, f64), array({0., 0., 0., 0.}, f64), array({1., 1.}, f64),
                       array({3., -20., 7.}, f64), array({-80., 50.}, f64)}) {
      auto r = optimize::minimize(rosenbrock, start, o);
      auto all_of = [&](const optimize::OptimizeResults& r) { return Arrays{r.x, r.fun, r.nit, r.nfev, r.status}; };
      EXPECT_TRUE(r.success.item<bool>()) << r.message() << " " << r.x << " " << r.nit;
      close({r.x}, {ones_like(start)}, 1e-5, "the minimum");
      close({r.fun, r.jac}, {array(0., f64), zeros_like(start)}, 1e-6, "value and gradient");
      close(jit([&](const Array& x) { return all_of(optimize::minimize(rosenbrock, x, o)); })(start), all_of(r), 1e-8,
            "staged");
    }
    auto starts = array({{-1.2, 1.}, {1., 1.}, {2., 2.}}, f64);
    auto many = vmap([&](const Array& x) { return optimize::minimize(rosenbrock, x, o).x; })(starts);
    close({many}, {ones_like(starts)}, 1e-5, "mapped");
    auto quartic = [](const Array& x) { return sum(power(x - 3, 4)) + 1; };
    auto r = optimize::minimize(quartic, array({0., 10.}), {.method = method, .gtol = 1e-4});
    close({r.x}, {array({3., 3.})}, 0.03, "f32");
    r = optimize::minimize(rosenbrock, array({-1.2, 1.}, f64), {.method = method, .maxiter = 2});
    EXPECT_EQ(r.status.item<int>(), 1);
    EXPECT_EQ(r.nit.item<int>(), 2);
    r = optimize::minimize([](const Array& x) { return sum(log(x)); }, array({-1.}), {.method = method});
    EXPECT_EQ(r.status.item<int>(), 2);
    EXPECT_FALSE(r.success.item<bool>());
    r = optimize::minimize([](const Array& x) { return sum(x - log(x)); }, array({30., 0.1}, f64), o);
    close({r.x}, {array({1., 1.}, f64)}, 1e-6, "a function that is not finite everywhere");
    auto p = array(2., f64);
    r = optimize::minimize([&](const Array& x) { return sum(square(x - p)); }, array({9.}, f64), {.method = method});
    close({r.x}, {array({2.}, f64)}, 1e-6, "a parabola");
  }
}
TEST(Roots, AreZerosWithDerivatives) {
  auto a = array({2., 5.}, f64);
  auto cube = [](const Array& a) { return [a](const Array& x) { return x * x * x - a; }; };
  auto want = cbrt(a), slope = 1 / (3 * square(cbrt(a)));
  auto by_newton = [&](const Array& a) { return optimize::newton(cube(a), array({1., 2.}, f64)).x; };
  auto by_halving = [&](const Array& a) {
    return optimize::bisect(cube(a), array({0., 0.}, f64), array({9., 3.}, f64), {.tol = 1e-13}).x;
  };
  auto by_root = [&](const Array& a) { return optimize::root(cube(a), array({1., 2.}, f64)).x; };
  for (auto f : std::initializer_list<std::function<Array(const Array&)>>{by_newton, by_halving, by_root}) {
    close({f(a)}, {want}, 1e-11, "the zero");
    close({jit(f)(a)}, {f(a)}, 1e-14, "staged");
    close({vmap(f)(stack({a, a * 2}))}, {stack({f(a), f(a * 2)})}, 1e-11, "mapped");
    close({grad([&](const Array& a) { return sum(f(a)); })(a)}, {slope}, 1e-9, "its derivative");
  }
  auto r = optimize::newton(cube(a), array({1., 2.}, f64));
  EXPECT_TRUE(r.converged.item<bool>());
  EXPECT_LT(r.iterations.item<int>(), 12);
  r = optimize::newton([](const Array& x) { return x * x + 1; }, array({0.7}, f64), {.maxiter = 5});
  EXPECT_FALSE(r.converged.item<bool>());
  EXPECT_EQ(r.iterations.item<int>(), 5);
  r = optimize::bisect(cube(a), array({2., 0.}, f64), array({9., 3.}, f64));
  EXPECT_FALSE(r.converged.item<bool>()) << "no change of sign";
  r = optimize::bisect([](const Array& x) { return x; }, array({0., -1.}, f64), array({3., 0.}, f64));
  close({r.x}, {array({0., 0.}, f64)}, 0, "zeros at the ends");
  auto circle = [](const Array& x) {
    return stack({square(view(x, 0)) + square(view(x, 1)) - 4, view(x, 0) - exp(view(x, 1)) + 1});
  };
  auto s = optimize::root(circle, array({10., -3.}, f64));
  EXPECT_TRUE(s.converged.item<bool>()) << s.x;
  close({circle(s.x)}, {zeros({2}, f64)}, 1e-9, "two equations");
}
TEST(Odeint, HasTheDerivativesOfTheSolution) {
  auto t = array({0., 0.5, 2.}, f64), y0 = array({1., -2.}, f64), k = array({0.3, 1.2}, f64);
  auto exact = [](const Array& k, const Array& y0, const Array& t) {
    return exp(-expand_dims(t - view(t, 0), 1) * k) * y0;
  };
  for (auto how : {integrate::OdeDerivative::reverse, integrate::OdeDerivative::forward}) {
    auto f = [&](const Array& k, const Array& y0, const Array& t) {
      return integrate::odeint([&](const Array& y, const Array&) { return -k * y; }, y0, t,
                               {.rtol = 1e-10, .atol = 1e-11, .derivative = how});
    };
    close({f(k, y0, t)}, {exact(k, y0, t)}, 1e-8, "the solution");
    close({jit(f)(k, y0, t)}, {f(k, y0, t)}, 1e-13, "staged");
    auto w = rnd({3, 2}, 4);
    auto loss = [&](auto g) {
      return [&w, g](const Array& k, const Array& y0, const Array& t) { return sum(w * square(g(k, y0, t))); };
    };
    if (how == integrate::OdeDerivative::reverse) {
      close({grad(loss(f))(k, y0, t)}, {grad(loss(exact))(k, y0, t)}, 1e-6, "by what f closes over");
      auto by = [&](auto g, int which) {
        return grad([&](const Array& x) { return which == 0 ? loss(g)(k, x, t) : loss(g)(k, y0, x); })(which ? t : y0);
      };
      for (int which : {0, 1}) close({by(f, which)}, {by(exact, which)}, 1e-6, which ? "by times" : "by the start");
    } else {
      auto push = [&](auto g) { return jvp([&](const Array& k) { return g(k, y0 * k, t); }, k, k + 1).second; };
      close({push(f)}, {push(exact)}, 1e-6, "forward");
    }
  }
  Pair start{array({1.}, f64), array({{0.}}, f64)};
  auto turn = [](const Pair& p, const Array&) { return Pair{-reshape(p.v, {1}), reshape(p.u, {1, 1})}; };
  auto circle = integrate::odeint(turn, start, t);
  close({circle.u, circle.v}, {reshape(cos(t), {3, 1}), reshape(sin(t), {3, 1, 1})}, 1e-6, "a tree");
  auto explodes = integrate::odeint([](const Array& y, const Array&) { return y * y; }, array({1.}, f64), t,
                                    {.mxstep = 300});
  EXPECT_TRUE(std::isnan(view(explodes, 2, 0).item<double>())) << explodes;
}
TEST(Interpolators, HaveDerivatives) {
  interpolate::RegularGridInterpolator f{{array({0., 1., 3.}, f64), array({0., 2.}, f64)}, rnd({3, 2}, 2)};
  auto plane = f;
  plane.values = expand_dims(plane.points[0], 1) * 2. - plane.points[1] * 0.5;
  auto x = array({{0.3, 0.4}, {2., 1.5}}, f64);
  close({plane(x)}, {view(x, all(), 0) * 2. - view(x, all(), 1) * 0.5}, 1e-14, "a plane");
  auto by_x = grad([&](const Array& x) { return sum(plane(x)); })(x);
  close({by_x}, {broadcast_to(array({2., -0.5}, f64), {2, 2})}, 1e-13, "by x");
  auto mapped = vmap([&](const Array& v) { return f(v); })(x);
  close({mapped}, {f(x)}, 1e-15, "mapped");
}
}  // namespace
}  // namespace bora::laws::solvers_test
