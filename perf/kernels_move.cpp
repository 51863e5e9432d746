// Kernels that are bound by memory: copies, transposes, reductions, take, scatter_add, sorting, and the pool.
#include <benchmark/benchmark.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>
#include "kernels/api/index.h"
#include "kernels/api/memory.h"
#include "kernels/api/move.h"
#include "kernels/api/order.h"
#include "kernels/api/reduce.h"

namespace {
using namespace bora;
using namespace bora::kernels;
using I = std::int64_t;

void add(const std::string& name, double bytes, std::function<void()> f) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    f();
    for (auto _ : state) f();
    state.counters["GB/s"] = benchmark::Counter(1e-9 * bytes, benchmark::Counter::kIsIterationInvariantRate);
  })->UseRealTime();
}
std::shared_ptr<void> numbers(I n) {
  auto p = allocate(static_cast<std::size_t>(n) * 4);
  std::mt19937 rng(1);
  for (I i = 0; i < n; ++i) static_cast<float*>(p.get())[i] = static_cast<float>(rng()) * 1e-9f;
  return p;
}
}  // namespace

int main(int argc, char** argv) {
  for (I rows : {256, 4096}) {
    I cols = 1024, n = rows * cols;
    auto x = numbers(n), y = numbers(n);
    auto size = "/" + std::to_string(rows) + "x1024";
    double bytes = static_cast<double>(n) * 4;
    add("copy" + size, 2 * bytes, [=] { copy(y.get(), {cols, 1}, x.get(), {cols, 1}, {rows, cols}, 4); });
    add("transpose" + size, 2 * bytes, [=] { copy(y.get(), {rows, 1}, x.get(), {1, cols}, {cols, rows}, 4); });
    add("heads" + size, 2 * bytes, [=] {
      copy(y.get(), {16 * cols, 64, cols, 1}, x.get(), {16 * cols, cols, 64, 1}, {rows / 16, 16, 16, 64}, 4);
    });
    add("sum_rows" + size, bytes, [=] { reduce(Reduction::sum, f32, x.get(), y.get(), rows, cols, 1); });
    add("sum_columns" + size, bytes, [=] { reduce(Reduction::sum, f32, x.get(), y.get(), 1, rows, cols); });
    add("max_rows" + size, bytes, [=] { reduce(Reduction::max, f32, x.get(), y.get(), rows, cols, 1); });
    add("argmax_rows" + size, bytes,
        [=] { arg_reduce(true, f32, x.get(), static_cast<std::int32_t*>(y.get()), rows, cols, 1); });
    add("cumsum_columns" + size, 2 * bytes, [=] { cumsum(f32, x.get(), y.get(), 1, rows, cols, false); });
    add("argsort_rows" + size, 2 * bytes,
        [=] { argsort(f32, x.get(), static_cast<std::int32_t*>(y.get()), rows, cols); });
  }
  constexpr I vocabulary = 50257, tokens = 8192, width = 768;
  auto table = numbers(vocabulary * width), rows = numbers(tokens * width);
  std::vector<std::int32_t> at(tokens);
  std::mt19937 rng(2);
  std::uniform_real_distribution<> log2_rank(0, 15.6);  // few tokens are most of a text
  for (auto& i : at) i = static_cast<std::int32_t>(std::min<double>(vocabulary - 1, std::exp2(log2_rank(rng))));
  double bytes = tokens * width * 4;
  add("take/8192x768", 2 * bytes,
      [=] { take(table.get(), at.data(), rows.get(), 1, vocabulary, tokens, width, 4, OutOfRange::clamp, 0); });
  add("scatter_add/8192x768", 3 * bytes, [=] {
    scatter(ScatterMode::add, f32, table.get(), at.data(), rows.get(), table.get(), 1, vocabulary, tokens, width);
  });
  auto best = numbers(64), where = numbers(64);
  add("top_k/50257", vocabulary * 4.0,
      [=] { top_k(f32, table.get(), best.get(), static_cast<std::int32_t*>(where.get()), 1, vocabulary, 40); });
  add("allocate/256", 0, [] { benchmark::DoNotOptimize(allocate(256)); });
  add("allocate/8MiB", 0, [] { benchmark::DoNotOptimize(allocate(8 << 20)); });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
