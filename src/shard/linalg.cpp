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
Array beside(const Array& a, const Array& b) { return concatenate({a, b}, 1); }
/// The columns of a triangular factor that this rank keeps while the factor is made, in runs of ever more of them:
/// products of many columns are faster, and a column is copied a few times only.
class Known {
 public:
  /// Columns of the factor from row `first` on.
  void add(Array columns, Index first) {
    runs_.push_back({std::move(columns), first});
    while (runs_.size() > 1) {
      auto &last = runs_.back(), &before = runs_[runs_.size() - 2];
      if (before.columns.shape(1) != last.columns.shape(1) || last.columns.shape(1) >= kLongRun) break;
      before = {beside(from(before, last.first), last.columns), last.first};
      runs_.pop_back();
    }
  }
  /// x, columns from row k on, without what the known columns contribute to them.
  Array taken_from(Array x, Index k) {
    for (auto& r : runs_) {
      if (8 * (k - r.first) > r.columns.shape(0)) r = {from(r, k), k};  // few rows too many cost less than a copy
      auto top = k - r.first;
      auto product = matmul(r.columns, adjoint(rows_of(r.columns, top, top + x.shape(1))));
      x = x - (top == 0 ? product : rows_of(product, top, product.shape(0)));
    }
    return x;
  }

 private:
  static constexpr Index kLongRun = 256;
  struct Run {
    Array columns;
    Index first;  // row of the matrix
  };
  static Array from(const Run& r, Index k) { return rows_of(r.columns, k - r.first, r.columns.shape(0)); }
  std::vector<Run> runs_;
};
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
  auto f = [=, shape = mesh.shape()](const Array& local) {
    const Index parts = shape.parts(axes);
    std::vector<BlockRange> blocks;
    for (Index r = 0; r < parts; ++r) blocks.push_back(shape.block(n, axes, r));
    Index widest = 0;
    for (auto& b : blocks) widest = std::max(widest, b.size());
    // Panels lie within one rank's columns each, and have the same place there on every rank.
    const Index share = (std::min(options.panel, std::max<Index>(widest, 1)) + parts - 1) / parts;
    const Index panel = share * parts;
    const Index panels = (widest + panel - 1) / panel;
    const auto me = axis_index(axes);
    auto widened = [&](const Array& x) { return beside(x, zeros({x.shape(0), panel - x.shape(1)}, a.dtype())); };
    const auto columns = n == parts * panels * panel
                             ? local : beside(local, zeros({n, panels * panel - local.shape(1)}, a.dtype()));
    Known known;
    Arrays results;
    for (Index r = 0; r < parts; ++r)
      for (Index j = 0; j < panels; ++j) {
        const auto k = blocks[static_cast<std::size_t>(r)].begin + j * panel;
        const auto w = std::clamp<Index>(blocks[static_cast<std::size_t>(r)].end - k, 0, panel);
        auto mine = zeros({n, share}, a.dtype());
        if (w > 0) {
          auto given = slice(columns, {k, j * panel}, {n, j * panel + w});
          auto rest = known.taken_from(where(me == static_cast<int>(r), given, 0.0), k);  // its sum over the ranks
          auto square = tril(psum(rows_of(rest, 0, w), axes)), below_diagonal = tril(square, -1);
          auto l = linalg::cholesky(below_diagonal + adjoint(below_diagonal) + real(square) * eye(w, a.dtype()));
          auto part = dynamic_slice(w < panel ? widened(l) : l, {constant(0, i32), me * static_cast<int>(share)},
                                    {w, share});
          if (const auto below = n - k - w; below > 0) {
            // A rank solves for some of the rows, and keeps its share of the columns of all.
            const auto rows = (below + parts - 1) / parts * parts;
            auto given_rows = rows_of(rest, w, n - k);
            if (rows > below) given_rows = concatenate({given_rows, zeros({rows - below, w}, a.dtype())}, 0);
            auto solved = adjoint(triangular_solve(l, adjoint(psum_scatter(given_rows, axes, {.tiled = true}))));
            if (w < panel) solved = widened(solved);
            part = concatenate({part, rows_of(all_to_all(solved, axes, 1, 0), 0, below)}, 0);
          }
          known.add(part, k);
          mine = concatenate({zeros({k, share}, a.dtype()), part}, 0);
        }
        results.push_back(mine);
      }
    if (results.empty()) return local;
    // Each rank has its share of every panel, and wants every share of its own panels.
    auto shares = all_to_all(concatenate(results, 1), axes, 1, 1);
    auto in_order = transpose(reshape(shares, {n, parts, panels, share}), {0, 2, 1, 3});
    return slice_in_dim(reshape(in_order, {n, panels * panel}), 1, 0, local.shape(1));
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
