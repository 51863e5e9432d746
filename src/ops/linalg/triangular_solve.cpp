// a x = b with a triangular a.
#include "bora/ops/contractions.h"
#include "ops/linalg/algorithms/small.h"
#include "ops/linalg/systems.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/indexing.h"
#include "bora/ops/linalg.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
/// Overwrites b [n, k] by x, one system in each lane. at(i, j): an element of the triangular matrix.
template <class V, class At> void substitute(const At& at, bool lower, V* b, Index n, Index k) {
  for (Index step = 0; step < n; ++step) {
    auto i = lower ? step : n - 1 - step;
    for (Index c = 0; c < k; ++c) {
      auto x = b[i * k + c];
      for (Index before = 0; before < step; ++before) {
        auto j = lower ? before : n - 1 - before;
        x -= at(i, j) * b[j * k + c];
      }
      b[i * k + c] = x / at(i, i);
    }
  }
}
}  // namespace

struct TriangularSolve {
  bool lower, transposed;
  static constexpr std::string_view name = "triangular_solve";
  static constexpr int core = 2;
  Type infer(const Types& in) const {
    check_system(name, in);
    return in[1];
  }
  DimFactors factors(const Types& in) const { return system_factors(in); }
  void eval(InputViews in, OutputViews out) const {
    auto n = rows(in[0].type), k = columns(in[1].type);
    auto small = n <= kSmallSize && k <= kSmallSize && !is_complex(in[0].type.dtype);
    if (small && out[0].type.size() > 0)
      return each_small(in[0].type, [&]<class T, class V>(T, V, Index first) {
        V a[kSmallSize * kSmallSize], b[kSmallSize * kSmallSize];
        load(in[0].as<T>() + first * n * n, n * n, a);
        load(in[1].as<T>() + first * n * k, n * k, b);
        auto at = [&](Index i, Index j) { return transposed ? a[j * n + i] : a[i * n + j]; };
        substitute(at, lower != transposed, b, n, k);
        store(b, n * k, out[0].as<T>() + first * n * k);
      });
    each_of_numbers(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], k);
      auto x = matrix<T>(out[0], k);
      copy<T>(matrix<T>(in[1], k), x);
      auto half = lower != transposed ? Half::lower : Half::upper;
      solve_triangular<T>(transposed ? a.turned() : a, half, Diagonal::given, x);
    });
  }
  Arrays vjp(const Vjp& v) const {
    auto gb = linalg::triangular_solve(v.in[0], v.ct[0], {.lower = lower, .transposed = !transposed});
    if (!v.needs[0]) return {Array(), gb};
    auto ga = -(transposed ? matmul(v.out[0], t(gb)) : matmul(gb, t(v.out[0])));
    return {lower ? tril(ga) : triu(ga), gb};
  }
  static SamplesOf<TriangularSolve> samples() {
    auto a = array({{2., 0.5}, {0.3, 3.}}, f64), b = array({{1.}, {2.}}, f64);
    return {{{true, false}, {a, b}}, {{true, true}, {a, b}}, {{false, false}, {a, b}}, {{false, true}, {a, b}}};
  }
};
}  // namespace ops

namespace linalg {
Array triangular_solve(const Array& a, const Array& b, const TriangularSolveOptions& o) {
  return each_system("triangular_solve", a, b, [&](const Array& m, const Array& c) {
    return call_one(ops::TriangularSolve{o.lower, o.transposed}, {m, c});
  });
}
}  // namespace linalg
}  // namespace bora
