// Causal attention, forward and backward, of GPT-2 and of the demo; f32 and bf16, one thread and all. items_per_second
// counts the floating-point operations that a causal mask leaves.
#include <benchmark/benchmark.h>
#include <cmath>
#include <string>
#include <vector>
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "kernels/api/attention.h"

namespace {
using namespace bora;
using I = std::int64_t;
struct Case {
  std::string name;
  I batch, heads, length, size;
};
template <class T> void measure(benchmark::State& state, const Case& s, Dtype dtype, int threads, bool backward) {
  auto n = static_cast<std::size_t>(s.batch * s.heads * s.length * s.size);
  std::vector<T> x[8];
  for (auto& v : x) {
    v.resize(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
  }
  std::vector<float> lse(n / static_cast<std::size_t>(s.size)), delta(lse.size(), 0.1f);
  kernels::AttentionCall c{.dtype = dtype, .batch = s.batch, .heads = s.heads, .group = 1, .queries = s.length,
                           .keys = s.length, .dim = s.size, .value_dim = s.size, .scale = 0.125, .left = 2 * s.length,
                           .right = 0, .q = x[0].data(), .k = x[1].data(), .v = x[2].data()};
  kernels::AttentionGradient g{x[3].data(), lse.data(), delta.data(), x[4].data(), x[5].data(), x[6].data()};
  set_thread_count(threads);
  kernels::attention(c, x[7].data(), lse.data());
  for (auto _ : state) {
    if (backward) kernels::attention_gradient(c, g);
    else kernels::attention(c, x[7].data(), lse.data());
  }
  set_thread_count(0);
  state.SetItemsProcessed(state.iterations() * s.batch * s.heads * s.length * s.length * s.size * (backward ? 5 : 2));
}
}  // namespace

int main(int argc, char** argv) {
  for (const auto& s : std::vector<Case>{{"gpt2/4x1024x12x64", 4, 12, 1024, 64}, {"demo/32x128x6x32", 32, 6, 128, 32}})
    for (bool backward : {false, true})
      for (auto dtype : {f32, bf16})
        for (int threads : {1, 0}) {
          auto name = s.name + (backward ? "/backward/" : "/forward/") + std::string(dtype_name(dtype)) +
                      (threads == 1 ? "/1_thread" : "/all_threads");
          benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
            if (dtype == f32) measure<float>(state, s, dtype, threads, backward);
            else measure<bfloat16>(state, s, dtype, threads, backward);
          })->UseRealTime();
        }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
