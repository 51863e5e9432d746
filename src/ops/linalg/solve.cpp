// a x = b, by LU with partial pivoting.
#include <cstdint>
#include <vector>
#include "bora/ops/contractions.h"
#include "ops/linalg/algorithms/small.h"
#include "ops/linalg/systems.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
/// Overwrites b [n, k] by x, and a [n, n], one system in each lane.
template <class V> void solve_lanes(V* a, V* b, Index n, Index k) {
  for (Index j = 0; j < n; ++j) {
    auto best = magnitudes(a[j * n + j]);
    for (auto i = j + 1; i < n; ++i) {  // the row with the largest number comes up, lane by lane
      auto size = magnitudes(a[i * n + j]);
      auto larger = size > best;
      best = larger ? size : best;
      auto swap = [&](V& x, V& y) {
        auto old = x;
        x = larger ? y : x;
        y = larger ? old : y;
      };
      for (auto c = j; c < n; ++c) swap(a[j * n + c], a[i * n + c]);
      for (Index c = 0; c < k; ++c) swap(b[j * k + c], b[i * k + c]);
    }
    for (auto i = j + 1; i < n; ++i) {
      auto factor = a[i * n + j] / a[j * n + j];
      for (auto c = j + 1; c < n; ++c) a[i * n + c] -= factor * a[j * n + c];
      for (Index c = 0; c < k; ++c) b[i * k + c] -= factor * b[j * k + c];
    }
  }
  for (auto j = n; j-- > 0;)
    for (Index c = 0; c < k; ++c) {
      auto x = b[j * k + c];
      for (auto i = j + 1; i < n; ++i) x -= a[j * n + i] * b[i * k + c];
      b[j * k + c] = x / a[j * n + j];
    }
}
}  // namespace

struct Solve {
  bool transposed;
  static constexpr std::string_view name = "solve";
  static constexpr int core = 2;
  Type infer(const Types& in) const {
    check_system(name, in);
    return in[1];
  }
  DimFactors factors(const Types& in) const { return system_factors(in); }
  void eval(InputViews in, OutputViews out) const {
    auto n = rows(in[0].type), columns_of_b = columns(in[1].type);
    auto small = n <= kSmallSize && columns_of_b <= kSmallSize && !is_complex(in[0].type.dtype);
    if (small && out[0].type.size() > 0)
      return each_small(in[0].type, [&]<class T, class V>(T, V, Index first) {
        V a[kSmallSize * kSmallSize], b[kSmallSize * kSmallSize];
        load(in[0].as<T>() + first * n * n, n * n, a);
        if (transposed)
          for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
        load(in[1].as<T>() + first * n * columns_of_b, n * columns_of_b, b);
        solve_lanes(a, b, n, columns_of_b);
        store(b, n * columns_of_b, out[0].as<T>() + first * n * columns_of_b);
      });
    each_of_numbers(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], k);
      auto x = matrix<T>(out[0], k);
      std::vector<T> memory(static_cast<std::size_t>(n * n));
      std::vector<std::int32_t> pivots(static_cast<std::size_t>(n));
      auto lu = by_rows(memory.data(), n, n);
      copy<T>(transposed ? a.turned() : a, lu);
      factor_lu(lu, pivots.data());
      copy<T>(matrix<T>(in[1], k), x);
      swap_rows(x, pivots.data(), 0, n);
      solve_triangular<T>(lu, Half::lower, Diagonal::ones, x);
      solve_triangular<T>(lu, Half::upper, Diagonal::given, x);
    });
  }
  Arrays vjp(const Vjp& v) const {
    auto gb = call_one(Solve{!transposed}, {v.in[0], v.ct[0]});
    if (!v.needs[0]) return {Array(), gb};
    return {-(transposed ? matmul(v.out[0], t(gb)) : matmul(gb, t(v.out[0]))), gb};
  }
  static SamplesOf<Solve> samples() {
    auto a = array({{2., 0.5}, {-0.3, 3.}}, f64), b = array({{1.}, {2.}}, f64);
    return {{{false}, {a, b}}, {{true}, {a, b}}};
  }
};
}  // namespace ops

namespace linalg {
Array solve(const Array& a, const Array& b) {
  return each_system("solve", a, b, [](const Array& m, const Array& c) { return call_one(ops::Solve{false}, {m, c}); });
}
}  // namespace linalg
}  // namespace bora
