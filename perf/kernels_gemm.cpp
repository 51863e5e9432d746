// Products of the demo and of GPT-2: forward, dX (b transposed), dW (a transposed), attention; vectors, tiny and odd
// ones; f32 and bf16, one thread and all.
#include <benchmark/benchmark.h>
#include <string>
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "kernels/api/gemm.h"
#include "kernels/api/memory.h"
#include "kernels/api/move.h"

namespace {
using namespace bora;
using I = std::int64_t;
struct Product {
  std::string name;
  I batch, m, n, k;
  bool ta, tb;
};

void measure(benchmark::State& state, const Product& p, Dtype dtype, int threads) {
  auto size = dtype_size(dtype);
  auto make = [&](I n) {
    auto x = kernels::allocate(static_cast<std::size_t>(n) * size);
    const std::uint64_t one = dtype == f32 ? 0x3f800000u : dtype == bf16 ? 0x3f80u : 0x3ff0000000000000u;
    kernels::fill(x.get(), n, size, &one);
    return x;
  };
  auto a = make(p.batch * p.m * p.k), b = make(p.batch * p.k * p.n), c = make(p.batch * p.m * p.n);
  set_thread_count(threads);
  for (auto _ : state)
    kernels::gemm({.dtype = dtype,
                   .batch = p.batch,
                   .m = p.m,
                   .n = p.n,
                   .k = p.k,
                   .a = a.get(),
                   .a_batch = p.m * p.k,
                   .a_row = p.ta ? 1 : p.k,
                   .a_col = p.ta ? p.m : 1,
                   .b = b.get(),
                   .b_batch = p.k * p.n,
                   .b_row = p.tb ? 1 : p.n,
                   .b_col = p.tb ? p.k : 1,
                   .c = c.get(),
                   .c_batch = p.m * p.n,
                   .ldc = p.n});
  set_thread_count(0);
  state.counters["GF/s"] = benchmark::Counter(2e-9 * static_cast<double>(p.batch * p.m * p.n * p.k),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

std::vector<Product> products() {
  std::vector<Product> all;
  struct Layer {
    I tokens, in, out;
  };
  for (auto [t, i, o] : {Layer{4096, 192, 576},
                         {4096, 192, 768},
                         {4096, 768, 192},
                         {4096, 192, 256},
                         {1024, 128, 512},
                         {1024, 768, 2304},
                         {1024, 768, 3072},
                         {1024, 3072, 768},
                         {1024, 768, 50304},
                         {1024, 768, 50257}}) {
    auto name = std::to_string(t) + "x" + std::to_string(i) + "x" + std::to_string(o);
    all.push_back({name + "/forward", 1, t, o, i, false, false});
    all.push_back({name + "/dX", 1, t, i, o, false, true});
    all.push_back({name + "/dW", 1, i, o, t, true, false});
  }
  all.push_back({"attention/scores", 192, 128, 128, 32, false, true});
  all.push_back({"attention/values", 192, 128, 32, 128, false, false});
  all.push_back({"attention/dV", 192, 128, 32, 128, true, false});
  all.push_back({"vector/1x768x3072", 1, 1, 3072, 768, false, false});
  all.push_back({"vector/1x768x3072/rows", 1, 1, 3072, 768, false, true});
  all.push_back({"vector/1x64x64", 1, 1, 64, 64, false, false});
  all.push_back({"vector/64x64x1/rows", 1, 64, 1, 64, false, false});
  all.push_back({"vectors/8x768x3072", 1, 8, 3072, 768, false, false});
  for (I n : {8, 16, 32, 64, 129}) all.push_back({"square/" + std::to_string(n), 1, n, n, n, false, false});
  return all;
}
}  // namespace

int main(int argc, char** argv) {
  for (const auto& p : products())
    for (auto dtype : {f32, bf16})
      for (int threads : {1, 0}) {
        auto name = p.name + "/" + std::string(dtype_name(dtype)) + (threads == 1 ? "/1_thread" : "/all_threads");
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) {
          measure(s, p, dtype, threads);
        })->UseRealTime();
      }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
