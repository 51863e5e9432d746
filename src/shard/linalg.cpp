// Cholesky, LU and QR of matrices split by columns.
#include "bora/shard/linalg.h"
#include <algorithm>
#include "bora/ops/collectives.h"
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/shard/transforms.h"
#include "ops/api/collective_primitives.h"

namespace bora::linalg::sharded {
namespace {
using Index = std::int64_t;
Array adjoint(const Array& x) { return conj(matrix_transpose(x)); }
Array rows_of(const Array& x, Index begin, Index end) { return slice_in_dim(x, 0, begin, end); }

/// The columns of a matrix with n columns that this rank has, [first, first + width) of all.
struct Columns {
  MeshAxes axes;
  Index width;
  Array first;  // i32 []
  Array all;    // which of all columns each one is, i32 [width]
  Columns(const Array& local, Index n, const MeshAxes& axes)
      : axes(axes), width(local.shape(1)), first(ops::block_start(n, axes)),
        all(iota({width}, 0).astype(i32) + first) {}
  /// Whether each one lies in [begin, end), boolean [1, width].
  Array in(Index begin, Index end) const { return logical_and(from(begin), logical_not(from(end))); }
  Array from(Index begin) const { return expand_dims(all >= static_cast<int>(begin), 0); }
  /// Row i of x for each column begin + i of this rank, zeros for its other columns: [width, any].
  Array rows_for(const Array& x, Index begin) const { return picked(x, all - static_cast<int>(begin), 0); }
  /// Column i of x for each column begin + i of this rank, zeros elsewhere.
  Array columns_for(const Array& x, Index begin) const { return picked(x, all - static_cast<int>(begin), 1); }
  /// x has a row for each column of this rank: the rows [begin, end) of all, on every rank. One rank has each of them,
  /// the others add zeros.
  Array gathered_rows(const Array& x, Index begin, Index end) const { return gathered(x, begin, end, 0); }
  /// The columns [begin, end) of all, on every rank.
  Array gathered(const Array& local, Index begin, Index end, Index axis = 1) const {
    return psum(picked(local, iota({end - begin}, 0).astype(i32) + static_cast<int>(begin) - first, axis), axes);
  }
 private:
  /// Rows or columns of x, zeros where there is none.
  static Array picked(const Array& x, const Array& which, Index axis) {
    auto n = static_cast<int>(x.shape(axis));
    auto none = axis == 0 ? zeros({1, x.shape(1)}, x.dtype()) : zeros({x.shape(0), 1}, x.dtype());
    return take(concatenate({x, none}, axis), where(logical_and(which >= 0, which < n), which, n), axis,
                IndexMode::clamp);
  }
};
/// x = t^-1 b (adjoint: t^-H b), where local are the columns of a matrix whose `lower` or upper half is t.
Array substituted(const Array& local, const Array& b, const Columns& own, bool lower, bool adjoint_of, bool ones,
                  Index panel) {
  const auto n = b.shape(0);
  std::vector<Array> parts;
  std::vector<Index> begins;
  for (Index k = 0; k < n; k += panel) begins.push_back(k);
  const bool forward = lower != adjoint_of;
  if (!forward) std::reverse(begins.begin(), begins.end());
  // Forward: what the columns solved so far take from the rows that follow, this rank's share.
  Array share = zeros_like(b), x;
  for (auto k : begins) {
    const auto end = std::min(k + panel, n);
    auto strip = rows_of(local, k, end);
    auto square = own.gathered(strip, k, end);
    Array taken;
    if (!adjoint_of) taken = psum(rows_of(share, k, end), own.axes);
    else if (x.defined()) {
      // Known rows (x): below end in a lower triangle, above k in an upper one.
      auto beside = lower ? rows_of(local, end, n) : rows_of(local, 0, k);
      taken = own.gathered_rows(matmul(adjoint(beside), x), k, end);
    }
    auto right = rows_of(b, k, end);
    if (taken.defined()) right = right - taken;
    auto part = solve_triangular(adjoint_of ? conj(square) : square, right,
                                 {.lower = lower, .transposed = adjoint_of, .unit_diagonal = ones});
    if (!adjoint_of) share = share + matmul(local, own.rows_for(part, k));
    x = !x.defined() ? part : forward ? concatenate({x, part}, 0) : concatenate({part, x}, 0);
  }
  return x.defined() ? x : b;
}
void check_split(std::string_view what, const Array& a, const Options& o) {
  check<ShapeError>(a.ndim() == 2, what, ": takes one matrix [m, n], got ", a.type());
  check<DtypeError>(a.dtype() == f32 || a.dtype() == f64 || is_complex(a.dtype()), what,
                    ": takes f32, f64 or complex numbers, got ", a.type(), "; use astype(f32)");
  check<ValueError>(o.panel > 0, what, ": panel = ", o.panel, " must be positive");
}
void check_right(std::string_view what, const Array& a, const Array& b, Index n) {
  check<ShapeError>(b.ndim() == 2 && b.shape(0) == n && b.dtype() == a.dtype(), what, ": a ", a.type(),
                    " does not fit b ", b.type(), "; b is [", n, ", k] of a's dtype");
}
}  // namespace

Array cholesky(const Array& a, const Mesh& mesh, const MeshAxes& axes, const Options& options) {
  check_split("sharded::cholesky", a, options);
  const auto n = a.shape(0);
  check<ShapeError>(a.shape(1) == n, "sharded::cholesky: the matrix must be square, got ", a.type());
  auto f = [=](const Array& local) {
    Columns own(local, n, axes);
    Arrays strips;
    auto rest = local;  // rows from k on
    for (Index k = 0; k < n; k += options.panel) {
      const auto w = std::min(options.panel, n - k), left = n - k;
      auto panel = own.gathered(rest, k, k + w);
      auto square = tril(rows_of(panel, 0, w));
      auto below_diagonal = tril(square, -1);
      auto l = linalg::cholesky(below_diagonal + adjoint(below_diagonal) + real(square) * eye(w, a.dtype()));
      auto below = adjoint(triangular_solve(l, adjoint(rows_of(panel, w, left))));
      auto made = own.columns_for(concatenate({l, below}, 0), k), in = own.in(k, k + w);
      strips.push_back(where(own.in(0, k), rows_of(rest, 0, w), rows_of(made, 0, w)));
      // Columns that are done get zeros from rows_for.
      auto next = rows_of(rest, w, left) - matmul(below, adjoint(own.rows_for(below, k + w)));
      rest = where(in, rows_of(made, w, left), next);
    }
    return strips.empty() ? local : concatenate(strips, 0);
  };
  return shard_map(f, mesh, {Spec{none, axes}}, Spec{none, axes})(a);
}
LuFactor lu_factor(const Array& a, const Mesh& mesh, const MeshAxes& axes, const Options& options) {
  check_split("sharded::lu_factor", a, options);
  const auto m = a.shape(0), n = a.shape(1), count = std::min(m, n);
  auto f = [=](const Array& local) {
    Columns own(local, n, axes);
    Arrays strips, order;
    auto rest = local, rows = iota({m}, 0).astype(i32);
    for (Index k = 0; k < count; k += options.panel) {
      const auto w = std::min(options.panel, count - k), left = m - k;
      auto factor = linalg::lu_factor(own.gathered(rest, k, k + w));
      rest = take(rest, factor.permutation, 0, IndexMode::clamp);
      rows = take(rows, factor.permutation, 0, IndexMode::clamp);
      auto made = own.columns_for(factor.lu, k), in = own.in(k, k + w), after = own.from(k + w);
      auto top = rows_of(rest, 0, w);
      auto solved = solve_triangular(rows_of(factor.lu, 0, w), where(after, top, 0.0),
                                     {.lower = true, .unit_diagonal = true});
      strips.push_back(where(in, rows_of(made, 0, w), where(after, solved, top)));
      order.push_back(rows_of(rows, 0, w));
      auto next = rows_of(rest, w, left) - matmul(rows_of(factor.lu, w, left), solved);
      rest = where(in, rows_of(made, w, left), next);
      rows = rows_of(rows, w, left);
    }
    strips.push_back(rest), order.push_back(rows);
    return LuFactor{concatenate(strips, 0), concatenate(order, 0)};
  };
  return shard_map(f, mesh, {Spec{none, axes}}, {{"lu", Spec{none, axes}}, {"permutation", Spec{}}})(a);
}
Qr qr(const Array& a, const Mesh& mesh, const MeshAxes& axes, const Options& options) {
  check_split("sharded::qr", a, options);
  const auto m = a.shape(0), n = a.shape(1);
  check<ShapeError>(m >= n, "sharded::qr: ", a.type(), " has fewer rows than columns; factor its transpose");
  auto f = [=](const Array& local) {
    Columns own(local, n, axes);
    Arrays strips, factors;
    auto rest = local;
    for (Index k = 0; k < n; k += options.panel) {
      const auto w = std::min(options.panel, n - k), left = m - k;
      auto panel = linalg::qr_raw(own.gathered(rest, k, k + w));
      factors.push_back(panel.factors);
      // The reflections of a panel leave the columns before it: those hold the vectors of earlier ones.
      auto changed = linalg::reflected(panel, rest, {.turned = true});
      auto made = own.columns_for(panel.packed, k), in = own.in(k, k + w), after = own.from(k + w);
      auto next = where(in, made, where(after, changed, rest));
      strips.push_back(rows_of(next, 0, w));
      rest = rows_of(next, w, left);
    }
    strips.push_back(rest);
    auto packed = concatenate(strips, 0);
    auto rows = expand_dims(iota({m}, 0).astype(i32), -1), columns = expand_dims(own.all, 0);
    auto r = where(rows <= columns, packed, 0.0), q = (rows == columns).astype(a.dtype());
    for (auto i = static_cast<Index>(factors.size()); i-- > 0;) {
      const auto k = i * options.panel, w = factors[static_cast<std::size_t>(i)].shape(0);
      QrRaw panel{own.gathered(rows_of(packed, k, m), k, k + w), factors[static_cast<std::size_t>(i)]};
      q = concatenate({rows_of(q, 0, k), linalg::reflected(panel, rows_of(q, k, m))}, 0);
    }
    return Qr{q, rows_of(r, 0, n)};
  };
  return shard_map(f, mesh, {Spec{none, axes}}, {{"q", Spec{none, axes}}, {"r", Spec{none, axes}}})(a);
}
Array cho_solve(const Array& l, const Array& b, const Mesh& mesh, const MeshAxes& axes, const Options& options) {
  check_split("sharded::cho_solve", l, options);
  check_right("sharded::cho_solve", l, b, l.shape(1));
  auto f = [=, n = l.shape(1)](const Array& local, const Array& right) {
    Columns own(local, n, axes);
    auto y = substituted(local, right, own, true, false, false, options.panel);
    return substituted(local, y, own, true, true, false, options.panel);
  };
  return shard_map(f, mesh, {Spec{none, axes}, Spec{}}, Spec{})(l, b);
}
Array lu_solve(const LuFactor& factor, const Array& b, const Mesh& mesh, const MeshAxes& axes,
               const Options& options) {
  check_split("sharded::lu_solve", factor.lu, options);
  const auto n = factor.lu.shape(1);
  check<ShapeError>(factor.lu.shape(0) == n, "sharded::lu_solve: the matrix must be square, got ", factor.lu.type());
  check_right("sharded::lu_solve", factor.lu, b, n);
  auto f = [=](const Array& local, const Array& order, const Array& right) {
    Columns own(local, n, axes);
    auto y = substituted(local, take(right, order, 0, IndexMode::clamp), own, true, false, true, options.panel);
    return substituted(local, y, own, false, false, false, options.panel);
  };
  return shard_map(f, mesh, {Spec{none, axes}, Spec{}, Spec{}}, Spec{})(factor.lu, factor.permutation, b);
}
Array solve(const Array& a, const Array& b, const Mesh& mesh, const MeshAxes& axes, const Options& options) {
  check_split("sharded::solve", a, options);
  check<ShapeError>(a.shape(0) == a.shape(1), "sharded::solve: the matrix must be square, got ", a.type());
  check_right("sharded::solve", a, b, a.shape(0));
  return lu_solve(lu_factor(a, mesh, axes, options), b, mesh, axes, options);
}
Array lstsq(const Array& a, const Array& b, const Mesh& mesh, const MeshAxes& axes, const Options& options) {
  check_split("sharded::lstsq", a, options);
  check_right("sharded::lstsq", a, b, a.shape(0));
  auto both = qr(a, mesh, axes, options);
  auto f = [=, n = a.shape(1)](const Array& q, const Array& r, const Array& right) {
    Columns own(r, n, axes);
    auto product = own.gathered_rows(matmul(adjoint(q), right), 0, n);
    return substituted(r, product, own, false, false, false, options.panel);
  };
  return shard_map(f, mesh, {Spec{none, axes}, Spec{none, axes}, Spec{}}, Spec{})(both.q, both.r, b);
}
}  // namespace bora::linalg::sharded
