// The time to choose a token from the scores of 151,936 (Qwen's vocabulary): scattered ones (normal, of width 3), and
// some that are nearly equal.
#include <benchmark/benchmark.h>
#include <random>
#include "bora/generate/choosing.h"

namespace {
using namespace bora::generate;
constexpr std::size_t kTokens = 151'936;
std::vector<float> scores(float width) {
  std::mt19937 draw(1);
  std::normal_distribution<float> normal(0, width);
  std::vector<float> all(kTokens);
  for (auto& x : all) x = normal(draw);
  return all;
}
void choose(benchmark::State& state, const Choosing& how, float width) {
  auto all = scores(width);
  std::vector<std::int32_t> prompt(1000);
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(i * 37);
  Chooser chooser(how, prompt, {0, 1}, 0, 1, 0);
  for (auto _ : state) benchmark::DoNotOptimize(chooser.next(all));
}
void log_probabilities(benchmark::State& state, std::int64_t top) {
  auto all = scores(3);
  for (auto _ : state) benchmark::DoNotOptimize(logprobs(all, 5, top));
}
const Choosing kMany{.temperature = 0.8, .top_k = 50, .top_p = 0.9, .min_p = 0.02, .typical_p = 0.95,
                     .repetition_penalty = 1.1, .presence_penalty = 0.1, .frequency_penalty = 0.1};
}  // namespace
BENCHMARK_CAPTURE(choose, greedy, Choosing{.temperature = 0}, 3);
BENCHMARK_CAPTURE(choose, all, Choosing{}, 3);
BENCHMARK_CAPTURE(choose, top_k_50, Choosing{.top_k = 50}, 3);
BENCHMARK_CAPTURE(choose, top_k_5000, Choosing{.top_k = 5000}, 3);
BENCHMARK_CAPTURE(choose, top_p, Choosing{.top_p = 0.9}, 3);
BENCHMARK_CAPTURE(choose, top_p_flat, Choosing{.top_p = 0.9}, 0.01F);
BENCHMARK_CAPTURE(choose, min_p, Choosing{.min_p = 0.05}, 3);
BENCHMARK_CAPTURE(choose, typical, Choosing{.typical_p = 0.9}, 3);
BENCHMARK_CAPTURE(choose, many, kMany, 3);
BENCHMARK_CAPTURE(log_probabilities, 0, 0);
BENCHMARK_CAPTURE(log_probabilities, 20, 20);
BENCHMARK_MAIN();
