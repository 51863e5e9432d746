// a[permutation] = l u, by Gaussian elimination with partial pivoting.
#include "ops/linalg/algorithms/matrix.h"
#include <numeric>
#include "bora/ops/contractions.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/sorting.h"
#include "ops/linalg/systems.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/reductions.h"
#include "bora/ops/indexing.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
/// x at [.., rows, columns] from the corner (row, column).
Array part_of_matrix(const Array& x, Index row, Index column, Index rows, Index columns) {
  return slice_in_dim(slice_in_dim(x, -2, row, row + rows), -1, column, column + columns);
}
}  // namespace

struct Lu {
  static constexpr std::string_view name = "lu";
  static constexpr int core = 2;
  Types infer(const Types& in) const {
    check_numbers(name, in[0]);
    auto pivots = with(in[0], {std::min(rows(in[0]), columns(in[0]))}), permutation = with(in[0], {rows(in[0])});
    pivots.dtype = permutation.dtype = i32;
    return {in[0], pivots, permutation};
  }
  void eval(InputViews in, OutputViews out) const {
    auto m = rows(in[0].type), k = std::min(m, columns(in[0].type));
    if (in[0].type.size() == 0)
      for (Index i = 0; i < out[2].type.size(); ++i) out[2].as<std::int32_t>()[i] = static_cast<std::int32_t>(i % m);
    each_of_numbers(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = matrix<T>(out[0], i);
      auto pivots = out[1].as<std::int32_t>() + i * k, permutation = out[2].as<std::int32_t>() + i * m;
      copy<T>(matrix<T>(in[0], i), a);
      factor_lu(a, pivots);
      std::iota(permutation, permutation + m, 0);
      for (Index j = 0; j < k; ++j) std::swap(permutation[j], permutation[pivots[j]]);
    });
  }
  /// The square part l u gets l^-T (strict lower part of l^T dl, upper part of du u^T) u^-T. Columns to its right are
  /// l^-1 b, rows below it are b u^-1.
  Array vjp(const Vjp& v) const {
    auto m = v.out[0].shape(-2), n = v.out[0].shape(-1), k = std::min(m, n);
    auto square = part_of_matrix(v.out[0], 0, 0, k, k), ct = part_of_matrix(v.ct[0], 0, 0, k, k);
    auto u = triu(square), l = tril(square, -1) + eye(k, square.dtype());
    auto after_l = [&](const Array& x) { return triangular_solve(l, x, {.transposed = true}); };
    auto after_u = [&](const Array& x) { return t(triangular_solve(u, t(x), {.lower = false})); };
    auto dl = tril(ct, -1), du = triu(ct);
    Array right, below;
    if (n > k) {
      auto of_right = part_of_matrix(v.ct[0], 0, k, k, n - k);
      right = after_l(of_right);
      dl = dl - tril(matmul(right, t(part_of_matrix(v.out[0], 0, k, k, n - k))), -1);
    }
    if (m > k) {
      auto of_below = part_of_matrix(v.ct[0], k, 0, m - k, k);
      below = after_u(of_below);
      du = du - triu(matmul(t(part_of_matrix(v.out[0], k, 0, m - k, k)), below));
    }
    auto g = after_u(after_l(tril(matmul(t(l), dl), -1) + triu(matmul(du, t(u)))));
    if (n > k) g = concatenate({g, right}, -1);
    if (m > k) g = concatenate({g, below}, -2);
    // Row i of the result came from row permutation[i].
    auto back = broadcast_to(expand_dims(argsort(v.out[2]), -1), g.shape());
    return take_along_axis(g, back, -2);
  }
  static SamplesOf<Lu> samples() {
    auto wide = array({{0.2, 1., 3.}, {4., 1., -1.}}, f64), tall = array({{0.2, 1.}, {4., 1.}, {-2., 3.}}, f64);
    return {{Lu{}, {wide}}, {Lu{}, {tall}}, {Lu{}, {array({{1., 2.}, {3., 5.}}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
LuFactor lu_factor(const Array& a) {
  auto r = call(ops::Lu{}, {a});
  return {r[0], r[1], r[2]};
}
Lu lu(const Array& a) {
  auto f = lu_factor(a);
  auto m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
  auto l = tril(slice_in_dim(f.lu, -1, 0, k), -1) + eye(m, k, a.dtype());
  // a = p l u: column i of p has its 1 in row permutation[i].
  auto p = t(one_hot(f.permutation, m, a.dtype()));
  return {p, l, triu(slice_in_dim(f.lu, -2, 0, k))};
}
Array lu_solve(const LuFactor& f, const Array& b, bool transposed) {
  if (b.ndim() == 1)
    return each_system("lu_solve", f.lu, b, [&](const Array&, const Array& c) { return lu_solve(f, c, transposed); });
  check_system("lu_solve", {f.lu.type(), b.type()});
  auto along = [&](const Array& order, const Array& x) {
    return take_along_axis(x, broadcast_to(expand_dims(order, -1), x.shape()), -2);
  };
  auto l = tril(f.lu, -1) + eye(f.lu.shape(-1), f.lu.dtype());
  if (!transposed) return triangular_solve(f.lu, triangular_solve(l, along(f.permutation, b)), {.lower = false});
  auto x = triangular_solve(l, triangular_solve(f.lu, b, {.lower = false, .transposed = true}), {.transposed = true});
  return along(argsort(f.permutation), x);
}
namespace {
/// 1 for an even number of swaps of rows, else -1; i32.
Array parity(const LuFactor& f) {
  auto swaps = f.pivots != iota(f.pivots.shape(), f.pivots.ndim() - 1);
  return 1 - 2 * bitwise_and(sum(swaps.astype(i32), -1), 1);
}
}  // namespace

Slogdet slogdet(const Array& a) {
  check_square("slogdet", a.type());
  auto f = lu_factor(a);
  auto d = diagonal(f.lu, 0, -2, -1);
  if (is_complex(a.dtype())) {
    auto size = abs(d);
    auto phases = d / where(size == 0.0, 1.0, size).astype(a.dtype());
    return {prod(phases, -1) * parity(f).astype(a.dtype()), sum(log(size), -1)};
  }
  auto swaps = (f.pivots != iota(f.pivots.shape(), f.pivots.ndim() - 1)) != (d < 0.0);
  auto odd = bitwise_and(sum(swaps.astype(i32), -1), 1);
  auto signs = where(any(d == 0.0, -1), 0.0, 1.0 - 2.0 * odd.astype(a.dtype()));
  return {signs.astype(a.dtype()), sum(log(abs(d)), -1)};
}
Array det(const Array& a) {
  check_square("det", a.type());
  auto n = a.shape(-1);
  auto at = [&](Index i, Index j) { return squeeze(ops::part_of_matrix(a, i, j, 1, 1), {-2, -1}); };
  auto minor = [&](Index i, Index j) { return at(1, i) * at(2, j) - at(1, j) * at(2, i); };
  // Small ones by their formula, whose derivative is right for singular matrices too.
  if (n == 0) return ones(ops::batch(a.type()), a.dtype());
  if (n == 1) return at(0, 0);
  if (n == 2) return at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
  if (n == 3) return at(0, 0) * minor(1, 2) - at(0, 1) * minor(0, 2) + at(0, 2) * minor(0, 1);
  auto f = lu_factor(a);
  return prod(diagonal(f.lu, 0, -2, -1), -1) * parity(f).astype(a.dtype());
}
}  // namespace linalg
}  // namespace bora
