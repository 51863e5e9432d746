// Causal attention, forward and backward, of GPT-2 and of the demo; f32 and bf16, one thread and all. items_per_second
// counts the floating-point operations that a causal mask leaves. Attention in pages, of one token and of a prompt's
// 256 in each of several layers, as generation has it: bytes_per_second counts keys and values.
#include <benchmark/benchmark.h>
#include <cmath>
#include <string>
#include <vector>
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "kernels/api/attention.h"
#include "kernels/api/paged_attention.h"

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
struct Paged {
  std::string name;
  I layers, heads, group, size, cached, tokens;
};
template <class T> void measure_pages(benchmark::State& state, const Paged& s, Dtype dtype, int threads) {
  constexpr I P = kernels::kPagePositions;
  const I pages = (s.cached + s.tokens + P - 1) / P, numbers = pages * P * s.heads * s.size;
  std::vector<T> q(static_cast<std::size_t>(s.tokens * s.heads * s.group * s.size), T(0.1F)), out(q.size());
  std::vector<std::vector<T>> keys, values;
  for (I l = 0; l < s.layers; ++l) {
    keys.emplace_back(static_cast<std::size_t>(numbers), T(0.2F));
    values.emplace_back(static_cast<std::size_t>(numbers), T(0.3F));
  }
  std::vector<std::int32_t> first(static_cast<std::size_t>(s.tokens)), positions, table;
  for (I t = 0; t < s.tokens; ++t) positions.push_back(static_cast<std::int32_t>(s.cached + t));
  for (I p = 0; p < pages; ++p) table.push_back(static_cast<std::int32_t>(p * 7 % pages));
  set_thread_count(threads);
  for (auto _ : state)
    for (I l = 0; l < s.layers; ++l)
      kernels::paged_attention({.dtype = dtype, .tokens = s.tokens, .heads = s.heads, .group = s.group, .dim = s.size,
                                .value_dim = s.size, .pages = pages, .table_size = pages, .scale = 0.125, .q = q.data(),
                                .keys = keys[static_cast<std::size_t>(l)].data(),
                                .values = values[static_cast<std::size_t>(l)].data(), .first = first.data(),
                                .positions = positions.data(), .table = table.data()},
                               out.data());
  set_thread_count(0);
  state.SetBytesProcessed(state.iterations() * s.layers * 2 * numbers * static_cast<I>(sizeof(T)));
  auto pairs = s.tokens * (s.cached + (s.tokens + 1) / 2);
  state.SetItemsProcessed(state.iterations() * s.layers * pairs * s.heads * s.group * s.size * 4);
}
}  // namespace

int main(int argc, char** argv) {
  for (const auto& s : std::vector<Paged>{{"pages/gpt2/960", 12, 12, 1, 64, 960, 1},
                                          {"pages/llama/1500", 22, 4, 8, 64, 1500, 1},
                                          {"pages/llama/prompt", 4, 4, 8, 64, 256, 256}})
    for (auto dtype : {f32, bf16})
      for (int threads : {1, 0}) {
        auto name = s.name + "/" + std::string(dtype_name(dtype)) + (threads == 1 ? "/1_thread" : "/all_threads");
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          if (dtype == f32) measure_pages<float>(state, s, dtype, threads);
          else measure_pages<bfloat16>(state, s, dtype, threads);
        })->UseRealTime();
      }
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
