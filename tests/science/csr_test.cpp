// Matrices by rows: the dense matrix, products, and systems by Eigen's LU with their derivatives.
#include "bora/fx/krylov.h"
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::csr_test {
namespace {
using namespace sparse;
using test::says_line;
Array some(const Shape& shape, int seed) {
  auto x = rnd(shape, seed);
  return where(abs(x) < 0.4, 0., x);
}
TEST(Csr, IsTheDenseMatrix) {
  for (Shape shape : {Shape{4, 3}, Shape{1, 1}, Shape{5, 2}, Shape{3, 7}}) {
    auto x = some(shape, 4);
    auto m = to_csr(fromdense(x));
    close({m.todense(), to_bcoo(m).todense()}, {x, x}, 0, "there and back");
    auto v = rnd({shape[1]}, 6), w = rnd({3, shape[0]}, 7), u = rnd({shape[1], 2}, 8);
    close({sparse::matmul(m, v), sparse::matvec(m, v), sparse::matmul(m, u), sparse::matmul(w, m)},
          {matmul(x, v), matmul(x, v), matmul(x, u), matmul(w, x)}, 1e-14, "products");
    close({(m * 2.).todense()}, {x * 2.}, 0, "twice");
    auto staged = jit([](const Array& y) { return to_csr(fromdense(y, {.nse = 24})); })(x);
    close({staged.todense(), sparse::matmul(staged, u)}, {x, matmul(x, u)}, 1e-14, "filled up");
    auto loss = [&](const Array& data) { return sum(sin(sparse::matmul(CSR{data, m.indices, m.indptr, m.shape}, u))); };
    auto dense = grad([&](const Array& y) { return sum(sin(matmul(y, u))); })(x);
    close({grad(loss)(m.data)}, {take(ravel(dense), flatnonzero(x))}, 1e-14, "derivative by data");
  }
  BCOO unsorted{array({1., 2., 4., 8., 16.}, f64), array({{2, 1}, {0, 0}, {2, 1}, {0, 2}, {5, 0}}), {3, 3}};
  auto m = to_csr(unsorted);
  close({m.todense()}, {unsorted.todense()}, 0, "equal places add, others outside are left out");
  EXPECT_EQ(m.indptr.to_vector<int>(), (std::vector<int>{0, 2, 2, 4}));
}
TEST(Csr, SolvesByLu) {
  for (std::int64_t n : {1, 2, 12}) {
    auto dense = some({n, n}, 5) + 4. * eye(n, f64), b = rnd({n}, 6), many = rnd({n, 3}, 7);
    auto m = to_csr(fromdense(dense));
    auto solved = [&](const Array& right) { return sparse::linalg::spsolve(m, right); };
    auto want = [&](const Array& a, const Array& right) {
      return right.ndim() == 1 ? squeeze(bora::linalg::solve(a, expand_dims(right, 1)), 1)
                               : bora::linalg::solve(a, right);
    };
    close({solved(b), solved(many)}, {want(dense, b), want(dense, many)}, 1e-12, "solutions");
    close({jit(solved)(many)}, {solved(many)}, 0, "staged");
    close({vmap(solved)(transpose(many))}, {transpose(solved(many))}, 1e-13, "mapped");
    for (auto& right : {b, many}) {
      auto by_b = [](auto f) { return grad([f](const Array& x) { return sum(sin(f(x))); }); };
      close({by_b(solved)(right)}, {by_b([&](const Array& x) { return want(dense, x); })(right)}, 1e-12, "by b");
      auto of_data = [&](const Array& data) {
        return sum(sin(sparse::linalg::spsolve(CSR{data, m.indices, m.indptr, m.shape}, right)));
      };
      auto of_dense = [&](const Array& a) { return sum(sin(want(a, right))); };
      close({grad(of_data)(m.data)}, {take(ravel(grad(of_dense)(dense)), flatnonzero(dense))}, 1e-11, "by data");
      auto twice = [](auto f) { return grad([f](const Array& x) { return sum(square(grad(f)(x))); }); };
      auto at = [&](const Array& data) { return of_dense(CSR{data, m.indices, m.indptr, m.shape}.todense()); };
      close({twice(of_data)(m.data)}, {twice(at)(m.data)}, 1e-9, "twice by data");
    }
    auto x = sparse::linalg::cg(to_csr(fromdense(matmul(dense, transpose(dense)))), b, {.tol = 1e-13}).x;
    close({x}, {want(matmul(dense, transpose(dense)), b)}, 1e-8, "by cg");
    CSR z{complex(m.data, 0.3 * cos(m.data)), m.indices, m.indptr, m.shape};
    auto w = complex(b, 2. * b);
    close({sparse::linalg::spsolve(z, w)}, {want(z.todense(), w)}, 1e-12, "of complex numbers");
  }
  auto singular = to_csr(fromdense(array({{1., 2.}, {2., 4.}}, f64)));
  auto x = sparse::linalg::spsolve(singular, ones({2}, f64));
  EXPECT_FALSE(all(isfinite(x)).item<bool>()) << x;
}
TEST(Csr, SaysWhatIsWrong) {
  auto m = to_csr(fromdense(eye(3)));
  says_line<ShapeError>([&] { return sparse::linalg::spsolve(m, ones({2})); },
                        "spsolve: a matrix [3, 3] does not fit f32[2]");
  says_line<DtypeError>([&] { return sparse::linalg::spsolve(to_csr(fromdense(eye(3, bf16))), ones({3}, bf16)); },
                        "spsolve: takes f32, f64 and complex numbers, not bf16");
  says_line<ShapeError>([&] { return (CSR{ones({3}), m.indices, ones({3}, i32), {3, 3}}.todense()); },
                        "todense: data f32[3], indices i32[3] and indptr i32[3] do not fit the shape [3, 3]");
  says_line<ShapeError>([&] { return to_csr(fromdense(ones({2, 2, 2}))).data; },
                        "to_csr: the sparse array must be a matrix");
}
}  // namespace
}  // namespace bora::laws::csr_test
