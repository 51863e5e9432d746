// Batches of 10,000 matrices of 2, 4 and 8 rows: Bora's operations, and a loop over Eigen's matrices of fixed sizes, on
// one thread. --benchmark_enable_random_interleaving=true --benchmark_repetitions=9 lets the two take turns.
#include <benchmark/benchmark.h>
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <random>
#include <string>
#include <vector>
#include "bora/bora.h"

namespace bora {
namespace {
constexpr std::int64_t kBatch = 10'000;
template <class T, int N> using Small = Eigen::Matrix<T, N, N, Eigen::RowMajor>;
template <class T> Array random_matrices(std::int64_t n, bool positive) {
  std::mt19937 g(1);
  std::normal_distribution<T> normal;
  std::vector<T> x(static_cast<std::size_t>(kBatch * n * n));
  for (auto& v : x) v = normal(g);
  auto a = asarray(x, Shape{kBatch, n, n});
  auto one = eye(n, dtype_of<T>);
  return positive ? matmul(a, swapaxes(a, -1, -2)) + one : a;
}
template <class F> void of_bora(benchmark::State& s, const F& f, const Array& a, const Array& b) {
  ThreadScope one(1);
  for (auto _ : s) benchmark::DoNotOptimize(f(a, b).bytes());
}
template <class T, int N, class F> void of_eigen(benchmark::State& s, const F& f, const Array& a, const Array& b) {
  std::vector<T> out(static_cast<std::size_t>(kBatch * N * N));
  using In = Eigen::Map<const Small<T, N>>;
  for (auto _ : s) {
    for (std::int64_t k = 0; k < kBatch * N * N; k += N * N)
      Eigen::Map<Small<T, N>>(out.data() + k) = f(In(a.data<T>() + k), In(b.data<T>() + k));
    benchmark::ClobberMemory();
  }
}
template <class T, int N> void add() {
  auto general = random_matrices<T>(N, false), positive = random_matrices<T>(N, true);
  auto pair = [&](const std::string& op, const Array& a, auto ours, auto theirs) {
    auto name = op + "/" + std::string(dtype_name(dtype_of<T>)) + "/" + std::to_string(N);
    benchmark::RegisterBenchmark((name + "/bora").c_str(),
                                 [=](benchmark::State& s) { of_bora(s, ours, a, general); });
    benchmark::RegisterBenchmark((name + "/eigen").c_str(),
                                 [=](benchmark::State& s) { of_eigen<T, N>(s, theirs, a, general); });
  };
  using M = Small<T, N>;
  pair("matmul", general, [](const Array& a, const Array& b) { return matmul(a, b); },
       [](const auto& a, const auto& b) -> M { return a.lazyProduct(b); });
  pair("solve", general, [](const Array& a, const Array& b) { return linalg::solve(a, b); },
       [](const auto& a, const auto& b) -> M { return a.partialPivLu().solve(b); });
  pair("inv", general, [](const Array& a, const Array&) { return linalg::inv(a); },
       [](const auto& a, const auto&) -> M { return a.inverse(); });
  pair("cholesky", positive, [](const Array& a, const Array&) { return linalg::cholesky(a); },
       [](const auto& a, const auto&) -> M { return M((a + a.transpose()) * T(0.5)).llt().matrixL(); });
}
[[maybe_unused]] const bool added = [] {
  [&]<int... N>(std::integer_sequence<int, N...>) {
    (add<float, N>(), ...);
    (add<double, N>(), ...);
  }
  (std::integer_sequence<int, 2, 4, 8>{});
  return true;
}();
}  // namespace
}  // namespace bora
BENCHMARK_MAIN();
