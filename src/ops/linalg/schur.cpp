// Schur's form of general matrices and what follows from it, in f64. None of them has a derivative of its own but
// solve_sylvester and sqrtm.
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/linalg.h"
#include "ops/linalg/algorithms/general.h"
#include "ops/linalg/algorithms/schur_form.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
using Eigen::MatrixXcd;
struct Triangle {
  MatrixXcd t, z;
  bool found = false;
};
template <class M> auto copy_of(const M& a) {
  using T = typename M::Scalar;
  Owned<T> r(a.rows(), a.cols(), Fill::none);
  Eigen::Map<M>(r.block.data, a.rows(), a.cols()) = a;
  return r;
}
template <class T> auto map_of(const Owned<T>& a) {
  return Eigen::Map<const Eigen::Matrix<T, -1, -1>>(a.block.data, a.block.rows, a.block.columns);
}
template <class M> Triangle triangle_of(const M& a) {
  if (a.rows() == 0 || !a.allFinite()) return {a.template cast<std::complex<double>>(), {}, false};
  auto s = schur_form(copy_of<MatrixXcd>(a.template cast<std::complex<double>>()));
  if (!s.found) return {};
  return {map_of(s.t), map_of(s.z), true};
}
}  // namespace

struct Schur {
  bool complex;
  static constexpr std::string_view name = "schur";
  static constexpr int core = 2;
  Types infer(const Types& in) const {
    check_square(name, in[0]);
    Type t{in[0].shape, complex ? complex_of(in[0].dtype) : in[0].dtype};
    return {t, t};
  }
  void eval(InputViews in, OutputViews out) const {
    each_general(in[0], [&](auto a, Index k) {
      bool found = false;
      if constexpr (std::is_same_v<typename decltype(a)::Scalar, double>) {
        if (!complex && a.allFinite()) {
          auto s = schur_form(copy_of<Eigen::MatrixXd>(a));
          found = s.found;
          if (found) return put(out[0], k, map_of(s.t)), put(out[1], k, map_of(s.z));
        }
      }
      if (is_complex(out[0].type.dtype)) {
        auto s = triangle_of(a);
        found = s.found;
        if (found) put(out[0], k, s.t), put(out[1], k, s.z);
      }
      if (found) return;
      a.setConstant(kNanOf<double>);
      put(out[0], k, a), put(out[1], k, a);
    });
  }
  static SamplesOf<Schur> samples() {
    auto a = array({{4., 1., 0.}, {0.5, -1., 2.}, {1., -0.5, 0.3}}, f64);
    return {{{false}, {a}}, {{true}, {a}}, {{true}, {zeros({2, 0, 0}, f64)}}};
  }
};

struct Sylvester {
  static constexpr std::string_view name = "solve_sylvester";
  static constexpr int core = 2;
  Type infer(const Types& in) const {
    check_square(name, in[0]);
    check_square(name, in[1]);
    check_numbers(name, in[2]);
    bool fits = in[0].dtype == in[2].dtype && in[1].dtype == in[2].dtype && batch(in[0]) == batch(in[2]) &&
                batch(in[1]) == batch(in[2]) && rows(in[0]) == rows(in[2]) && rows(in[1]) == columns(in[2]);
    check<ShapeError>(fits, "solve_sylvester: a ", in[0], " and b ", in[1], " do not fit q ", in[2],
                      "; q is [.., rows of a, columns of b], all of one dtype and with the same batches");
    return in[2];
  }
  void eval(InputViews in, OutputViews out) const {
    each_general(in[2], [&](auto q, Index k) {
      using M = decltype(q);
      auto read = [&](const InputView& x) {
        M r(rows(x.type), rows(x.type));
        switch (x.type.dtype) {
          case Dtype::f32:
            if constexpr (std::is_same_v<typename M::Scalar, double>)
              r = eigen_matrix<float>(x, k).template cast<double>();
            break;
          case Dtype::f64:
            if constexpr (std::is_same_v<typename M::Scalar, double>) r = eigen_matrix<double>(x, k);
            break;
          case Dtype::complex64:
            if constexpr (!std::is_same_v<typename M::Scalar, double>)
              r = eigen_matrix<std::complex<float>>(x, k).template cast<std::complex<double>>();
            break;
          default:
            if constexpr (!std::is_same_v<typename M::Scalar, double>) r = eigen_matrix<std::complex<double>>(x, k);
        }
        return r;
      };
      auto a = triangle_of(read(in[0])), b = triangle_of(read(in[1]));
      if (!a.found || !b.found) return put(out[0], k, M::Constant(q.rows(), q.cols(), kNanOf<double>).eval());
      // t y + y s = u^H q v, column after column of y.
      MatrixXcd y = a.z.adjoint() * q * b.z;
      for (Index j = 0; j < y.cols(); ++j) {
        if (j > 0) y.col(j) -= y.leftCols(j) * b.t.col(j).head(j);
        MatrixXcd shifted = a.t;
        shifted.diagonal().array() += b.t(j, j);
        y.col(j) = shifted.triangularView<Eigen::Upper>().solve(y.col(j)).eval();
      }
      put(out[0], k, (a.z * y * b.z.adjoint()).eval());
    });
  }
  Arrays vjp(const Vjp& v) const {
    auto g = call_one(*this, {t(v.in[0]), t(v.in[1]), v.ct[0]});
    return {-matmul(g, t(v.out[0])), -matmul(t(v.out[0]), g), g};
  }
  static SamplesOf<Sylvester> samples() {
    auto a = array({{4., 1.}, {0.5, 3.}}, f64), b = array({{2., 0.3, 0.}, {-1., 1., 0.2}, {0.1, 0., 5.}}, f64);
    return {{Sylvester{}, {a, b, array({{1., 2., 3.}, {-1., 0.5, 4.}}, f64)}}};
  }
};

/// A. Bjorck, S. Hammarling, "A Schur method for the square root of a matrix", 1983.
struct Sqrtm {
  static constexpr std::string_view name = "sqrtm";
  static constexpr int core = 2;
  Type infer(const Types& in) const {
    check_square(name, in[0]);
    return {in[0].shape, complex_of(in[0].dtype)};
  }
  void eval(InputViews in, OutputViews out) const {
    each_general(in[0], [&](auto a, Index k) {
      auto s = triangle_of(a);
      if (!s.found) return put(out[0], k, MatrixXcd::Constant(a.rows(), a.cols(), kNanOf<double>).eval());
      MatrixXcd r = MatrixXcd::Zero(a.rows(), a.cols());
      for (Index j = 0; j < r.cols(); ++j) {
        r(j, j) = std::sqrt(s.t(j, j));
        for (auto i = j; i-- > 0;) {
          auto x = s.t(i, j);
          for (auto c = i + 1; c < j; ++c) x -= r(i, c) * r(c, j);
          auto both = r(i, i) + r(j, j);
          r(i, j) = x == 0.0 ? 0.0 : x / both;
        }
      }
      put(out[0], k, (s.z * r * s.z.adjoint()).eval());
    });
  }
  /// x dx + dx x = da.
  Array vjp(const Vjp& v) const {
    auto x = t(v.out[0]);
    auto g = linalg::solve_sylvester(x, x, v.ct[0]);
    return is_complex(v.in[0].dtype()) ? g : real(g);
  }
  static SamplesOf<Sqrtm> samples() {
    return {{Sqrtm{}, {array({{4., 1., 0.}, {0.5, 3., 2.}, {1., -0.5, 5.}}, f64)}},
            {Sqrtm{}, {zeros({2, 0, 0}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
Schur schur(const Array& a, const SchurOptions& options) {
  check_square("schur", a.type());
  auto r = call(ops::Schur{options.complex || is_complex(a.dtype())}, {a});
  return {r[0], r[1]};
}
Schur rsf2csf(const Schur& real) {
  auto s = schur(real.t, {.complex = true});
  return {s.t, matmul(real.z.astype(s.z.dtype()), s.z)};
}
Array solve_sylvester(const Array& a, const Array& b, const Array& q) {
  return call_one(ops::Sylvester{}, {a, b, q});
}
Array sqrtm(const Array& a) {
  check_square("sqrtm", a.type());
  return call_one(ops::Sqrtm{}, {a});
}
}  // namespace linalg
}  // namespace bora
