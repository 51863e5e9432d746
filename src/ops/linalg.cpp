// Dense linear algebra on Eigen. Derivatives: M. Giles, "An extended collection of matrix derivative results", 2008.
#define EIGEN_DONT_PARALLELIZE
#include "bora/ops/linalg.h"
#include <Eigen/Dense>
#include "bora/array/primitive.h"
#include "bora/base/parallel.h"
#include "bora/ops/creation.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"

namespace bora {
namespace {
using Index = std::int64_t;
template <class T> constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using In = Eigen::Map<const Matrix<T>>;
template <class T> using Out = Eigen::Map<Matrix<T>>;
Index rows(const Type& t) { return t.shape[t.shape.size() - 2]; }
Index columns(const Type& t) { return t.shape.back(); }
Shape batch(const Type& t) {
  Shape s = t.shape;
  s.pop_back();
  s.pop_back();
  return s;
}
Type with(const Type& like, std::initializer_list<Index> last) {
  Type t{batch(like), like.dtype};
  for (auto n : last) t.shape.push_back(n);
  return t;
}
void check_matrix(std::string_view what, const Type& t) {
  check<ShapeError>(t.ndim() >= 2, what, ": needs matrices [.., m, n], got ", t);
  check<DtypeError>(t.dtype == f32 || t.dtype == f64, what, ": takes f32 or f64, got ", t, "; use astype(f32)");
}
void check_square(std::string_view what, const Type& t) {
  check_matrix(what, t);
  check<ShapeError>(rows(t) == columns(t), what, ": the matrix must be square, got ", t);
}
void check_system(std::string_view what, const Types& in) {
  check_square(what, in[0]);
  check_matrix(what, in[1]);
  check<DtypeError>(in[0].dtype == in[1].dtype, what, ": dtypes differ: ", in[0], " and ", in[1]);
  check<ShapeError>(batch(in[0]) == batch(in[1]) && rows(in[0]) == rows(in[1]), what, ": a ", in[0], " does not fit b ",
                    in[1], "; b is [.., n, k] with the batches of a (a vector: expand_dims(b, -1))");
}
template <class T> In<T> matrix(const InputView& in, Index k) {
  auto r = rows(in.type), c = columns(in.type);
  return {in.as<T>() + k * r * c, r, c};
}
template <class T> Out<T> matrix(const OutputView& out, Index k) {
  auto r = rows(out.type), c = columns(out.type);
  return {out.as<T>() + k * r * c, r, c};
}
/// f(T{}, k) for every matrix k of the batch. Empty matrices give empty results (Eigen would abort).
template <class F> void each(const Type& t, F f) {
  if (t.size() == 0) return;
  const auto grain = grain_for(100 + 0.5 * static_cast<double>(rows(t) * columns(t)));
  parallel_for(volume(batch(t)), grain, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      if (t.dtype == f64) f(double{}, k);
      else f(float{}, k);
    }
  });
}
/// Did the decomposition f succeed? If not (numbers that are not finite, too many iterations) its results are not set.
template <class F, class M> bool succeeded(const F& f, const M& of) {
  return f.info() == Eigen::Success && of.allFinite();
}
Array t(const Array& x) { return swapaxes(x, -1, -2); }
Array symmetric(const Array& a) { return (a + t(a)) * 0.5; }
/// The derivative by the entries that are read: each of those below the diagonal stands for two.
Array of_lower_half(const Array& both) { return tril(both) * (1 - 0.5 * eye(both.shape(-1), both.dtype())); }
}  // namespace

namespace ops {
struct Cholesky {
  static constexpr std::string_view name = "cholesky";
  Type infer(const Types& in) const {
    check_square(name, in[0]);
    return in[0];
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], k);
      Eigen::LLT<Matrix<T>> llt(a);
      auto l = matrix<T>(out[0], k);
      if (llt.info() == Eigen::Success) l = llt.matrixL();
      else l.setConstant(kNan<T>);
    });
  }
  Array vjp(const Vjp& v) const {
    auto& l = v.out[0];
    auto half = of_lower_half(matmul(t(l), v.ct[0]));
    auto left = linalg::triangular_solve(l, half, {.transposed = true});
    auto s = t(linalg::triangular_solve(l, t(left), {.transposed = true}));
    return of_lower_half(s + t(s));
  }
  Cholesky lift(Index) const { return *this; }
  static Samples<Cholesky> samples() { return {{Cholesky{}, {array({{4., 1.}, {1., 3.}}, f64)}}}; }
};
struct TriangularSolve {
  bool lower, transposed;
  static constexpr std::string_view name = "triangular_solve";
  Type infer(const Types& in) const {
    check_system(name, in);
    return in[1];
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], k);
      auto x = matrix<T>(out[0], k);
      x = matrix<T>(in[1], k);
      if (lower && !transposed) a.template triangularView<Eigen::Lower>().solveInPlace(x);
      else if (lower) a.transpose().template triangularView<Eigen::Upper>().solveInPlace(x);
      else if (!transposed) a.template triangularView<Eigen::Upper>().solveInPlace(x);
      else a.transpose().template triangularView<Eigen::Lower>().solveInPlace(x);
    });
  }
  Arrays vjp(const Vjp& v) const {
    auto gb = linalg::triangular_solve(v.in[0], v.ct[0], {.lower = lower, .transposed = !transposed});
    if (!v.needs[0]) return {Array(), gb};
    auto ga = -(transposed ? matmul(v.out[0], t(gb)) : matmul(gb, t(v.out[0])));
    return {lower ? tril(ga) : triu(ga), gb};
  }
  TriangularSolve lift(Index) const { return *this; }
  static Samples<TriangularSolve> samples() {
    auto a = array({{2., 0.5}, {0.3, 3.}}, f64), b = array({{1.}, {2.}}, f64);
    return {{{true, false}, {a, b}}, {{true, true}, {a, b}}, {{false, false}, {a, b}}, {{false, true}, {a, b}}};
  }
};
struct Solve {
  bool transposed;
  static constexpr std::string_view name = "solve";
  Type infer(const Types& in) const {
    check_system(name, in);
    return in[1];
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      Matrix<T> a = matrix<T>(in[0], k);
      if (transposed) a.transposeInPlace();
      matrix<T>(out[0], k) = a.partialPivLu().solve(matrix<T>(in[1], k));
    });
  }
  Arrays vjp(const Vjp& v) const {
    auto gb = call_one(Solve{!transposed}, {v.in[0], v.ct[0]});
    if (!v.needs[0]) return {Array(), gb};
    return {-(transposed ? matmul(v.out[0], t(gb)) : matmul(gb, t(v.out[0]))), gb};
  }
  Solve lift(Index) const { return *this; }
  static Samples<Solve> samples() {
    auto a = array({{2., 0.5}, {-0.3, 3.}}, f64), b = array({{1.}, {2.}}, f64);
    return {{{false}, {a, b}}, {{true}, {a, b}}};
  }
};
struct Qr {
  static constexpr std::string_view name = "qr";
  Types infer(const Types& in) const {
    check_matrix(name, in[0]);
    auto m = rows(in[0]), n = columns(in[0]), k = std::min(m, n);
    return {with(in[0], {m, k}), with(in[0], {k, n})};
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], i);
      auto k = std::min(a.rows(), a.cols());
      Eigen::HouseholderQR<Matrix<T>> f(a);
      matrix<T>(out[0], i) = f.householderQ() * Matrix<T>::Identity(a.rows(), k);
      matrix<T>(out[1], i) = f.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
    });
  }
  Qr lift(Index) const { return *this; }
  static Samples<Qr> samples() { return {{Qr{}, {array({{4., 1.}, {1., 3.}, {0., 2.}}, f64)}}}; }
};
struct Svd {
  static constexpr std::string_view name = "svd";
  Types infer(const Types& in) const {
    check_matrix(name, in[0]);
    auto m = rows(in[0]), n = columns(in[0]), k = std::min(m, n);
    return {with(in[0], {m, k}), with(in[0], {k}), with(in[0], {k, n})};
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], i);
      auto k = std::min(a.rows(), a.cols());
      Eigen::JacobiSVD<Eigen::Matrix<T, -1, -1>> f(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
      auto u = matrix<T>(out[0], i), v = matrix<T>(out[2], i);
      Eigen::Map<Eigen::Matrix<T, -1, 1>> s(out[1].as<T>() + i * k, k);
      if (succeeded(f, a)) {
        u = f.matrixU();
        s = f.singularValues();
        v = f.matrixV().transpose();
      } else {
        u.setConstant(kNan<T>);
        s.setConstant(kNan<T>);
        v.setConstant(kNan<T>);
      }
    });
  }
  Svd lift(Index) const { return *this; }
  static Samples<Svd> samples() {
    return {{Svd{}, {array({{4., 1.}, {1., 3.}, {0., 2.}}, f64)}}, {Svd{}, {zeros({0, 3}, f64)}}};
  }
};
struct Eigh {
  static constexpr std::string_view name = "eigh";
  Types infer(const Types& in) const {
    check_square(name, in[0]);
    return {with(in[0], {rows(in[0])}), in[0]};
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], i);
      Eigen::SelfAdjointEigenSolver<Eigen::Matrix<T, -1, -1>> f(a);
      Eigen::Map<Eigen::Matrix<T, -1, 1>> w(out[0].as<T>() + i * a.rows(), a.rows());
      auto x = matrix<T>(out[1], i);
      if (succeeded(f, a)) {
        w = f.eigenvalues();
        x = f.eigenvectors();
      } else {
        w.setConstant(kNan<T>);
        x.setConstant(kNan<T>);
      }
    });
  }
  Array vjp(const Vjp& v) const {
    auto &w = v.out[0], &x = v.out[1];
    auto n = w.shape(-1);
    auto one = eye(n, w.dtype());
    auto inner = zeros_like(x);
    if (v.ct[0].defined()) inner = inner + one * expand_dims(v.ct[0], -1);
    if (v.ct[1].defined()) {
      auto gap = expand_dims(w, -2) - expand_dims(w, -1);  // w_j - w_i
      inner = inner + (1.0 - one) / (gap + one) * matmul(t(x), v.ct[1]);
    }
    auto g = matmul(matmul(x, inner), t(x));
    return of_lower_half(g + t(g));
  }
  Eigh lift(Index) const { return *this; }
  static Samples<Eigh> samples() {
    return {{Eigh{}, {array({{4., 1.}, {1., 3.}}, f64)}}, {Eigh{}, {zeros({2, 0, 0}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
Array cholesky(const Array& a) {
  check_square("cholesky", a.type());
  return call_one(ops::Cholesky{}, {symmetric(a)});
}
Array triangular_solve(const Array& a, const Array& b, const TriangularSolve& o) {
  return call_one(ops::TriangularSolve{o.lower, o.transposed}, {a, b});
}
Array solve(const Array& a, const Array& b) { return call_one(ops::Solve{false}, {a, b}); }
Qr qr(const Array& a) {
  auto r = call(ops::Qr{}, {a});
  return {r[0], r[1]};
}
Svd svd(const Array& a) {
  auto r = call(ops::Svd{}, {a});
  return {r[0], r[1], r[2]};
}
Eigh eigh(const Array& a) {
  check_square("eigh", a.type());
  auto r = call(ops::Eigh{}, {symmetric(a)});
  return {r[0], r[1]};
}
}  // namespace linalg
}  // namespace bora
