// Products of a few rows with weights of 8 and 4 bits beside f32 and bf16, one thread and all: bytes of weights a
// second, and their part of the bandwidth of a loop that only reads, measured in the same run. The weights are 8
// matrices of 2048 x 5632, more than the caches hold.
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <vector>
#include "bora/base/dtype.h"
#include "bora/base/parallel.h"
#include "kernels/api/gemm.h"
#include "kernels/api/lowbit.h"
#include "kernels/api/memory.h"

namespace {
using namespace bora;
using I = std::int64_t;
constexpr I kOut = 5632, kIn = 2048, kMatrices = 8;

std::shared_ptr<void> bytes_of(I n) {
  auto x = kernels::allocate(static_cast<std::size_t>(n));
  auto* p = static_cast<unsigned char*>(x.get());
  parallel_for(n, 1 << 16, [&](I begin, I end) {
    for (I i = begin; i < end; ++i) p[i] = static_cast<unsigned char>(i * 7 % 120 / 2);  // small numbers in any format
  });
  return x;
}
/// GB/s of reading.
double read_bandwidth(const void* p, I bytes) {
  double best = 0;
  for (int k = 0; k < 5; ++k) {
    auto begin = std::chrono::steady_clock::now();
    parallel_for(bytes / 4096, 1, [&](I b, I e) {
      std::uint64_t sum[8] = {};
      for (auto *x = static_cast<const std::uint64_t*>(p) + b * 512, *end = x + (e - b) * 512; x < end; x += 8)
        for (int i = 0; i < 8; ++i) sum[i] += x[i];
      for (auto s : sum) benchmark::DoNotOptimize(s);
    });
    auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, 1e-9 * static_cast<double>(bytes) / seconds);
  }
  return best;
}
void report(benchmark::State& state, const void* weights, I bytes, int threads, I rows) {
  auto each = static_cast<double>(bytes) / static_cast<double>(kMatrices);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * each, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GMAC/s"] = benchmark::Counter(1e-9 * static_cast<double>(rows * kOut * kIn),
                                                benchmark::Counter::kIsIterationInvariantRate);
  set_thread_count(threads);
  state.counters["read GB/s"] = read_bandwidth(weights, bytes);
  set_thread_count(0);
}
void lowbit(benchmark::State& state, kernels::Lowbit f, I rows, int threads) {
  auto each = f.bytes(kOut, kIn), k = I{0};
  auto w = bytes_of(kMatrices * each);
  std::vector<float> x(static_cast<std::size_t>(rows * kIn), 0.5f), y(static_cast<std::size_t>(rows * kOut));
  set_thread_count(threads);
  for (auto _ : state)
    kernels::lowbit_product(
        {f, rows, kOut, kIn, x.data(), static_cast<char*>(w.get()) + k++ % kMatrices * each, y.data()});
  report(state, w.get(), kMatrices * each, threads, rows);
}
void floats(benchmark::State& state, Dtype d, I rows, int threads) {
  auto size = static_cast<I>(dtype_size(d)), each = kOut * kIn * size, k = I{0};
  auto w = bytes_of(kMatrices * each), x = bytes_of(rows * kIn * size), y = bytes_of(rows * kOut * size);
  set_thread_count(threads);
  for (auto _ : state)
    kernels::gemm({.dtype = d,
                   .m = rows,
                   .n = kOut,
                   .k = kIn,
                   .a = x.get(),
                   .a_row = kIn,
                   .b = static_cast<char*>(w.get()) + k++ % kMatrices * each,
                   .b_row = kOut,
                   .c = y.get(),
                   .ldc = kOut});
  report(state, w.get(), kMatrices * each, threads, rows);
}
}  // namespace

int main(int argc, char** argv) {
  for (int threads : {1, 0})
    for (I rows : {1, 8, 16, 128}) {
      auto add = [&](const std::string& name, auto f) {
        auto label = name + "/rows:" + std::to_string(rows) + (threads ? "/1 thread" : "/all");
        benchmark::RegisterBenchmark(label.c_str(), f)->UseRealTime();
      };
      for (auto f : {kernels::Lowbit{8, 32}, kernels::Lowbit{4, 32}, kernels::Lowbit{4, 128}})
        add("int" + std::to_string(f.bits) + ":" + std::to_string(f.group),
            [=](benchmark::State& s) { lowbit(s, f, rows, threads); });
      for (auto d : {f32, bf16})
        add(std::string(dtype_name(d)), [=](benchmark::State& s) { floats(s, d, rows, threads); });
    }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
