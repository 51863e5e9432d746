// The time from a model's code to a program that can run: the training step of GPT-2 124M (B4 T256), its layers as one
// scan and one by one. No parameter exists: only types are traced.
#include <benchmark/benchmark.h>
#include "bora/bora.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/models/gpt2.h"
#include "bora/train/step.h"

namespace {
using namespace bora;

/// The same model without nn::Stacked.
struct Unrolled {
  nn::Embedding wte;
  NamedArray wpe;
  std::vector<models::Gpt2Block> blocks;
  nn::LayerNorm ln_f;
  static Unrolled init(const models::Gpt2Config& c, std::int64_t vocabulary, const Array& key) {
    Unrolled m{nn::Embedding::init({"vocab", vocabulary}, c.embed_axis(), key),
               zeros({c.position_axis(), c.embed_axis()}),
               {},
               nn::LayerNorm::init(c.embed_axis(), c.eps)};
    for (std::int64_t k = 0; k < c.layers; ++k) m.blocks.push_back(models::Gpt2Block::init(c, key));
    return m;
  }
  NamedArray operator()(const NamedArray& tokens) const {
    auto& position = tokens.axis(nn::kPosition);
    auto x = wte.embed(tokens) + wpe[{wpe.axis(nn::kPosition), range(0, position.size)}];
    for (auto& b : blocks) x = b(x, {.causal = true}, none, none);
    return wte.unembed(ln_f(x));
  }
};
template <class Model> void compile(benchmark::State& state) {
  models::Gpt2Config c{.layers = 12, .embed = 768, .heads = 12, .positions = 1024};
  std::vector<Axis> axes{{nn::kBatch, 4}, {nn::kPosition, 256}};
  TrainTask<Model, NamedArray> task{
      .init = [c](const Array& key) { return Model::init(c, 50257, key); },
      .loss = [](const Model& m, const NamedArray& tokens,
                 const std::optional<Array>&) { return sum(nn::cross_entropy(m(tokens), nn::kVocab, tokens)); },
      .weights = [](const NamedArray& tokens) { return ones(tokens.axes()); }};
  StepOptions options{.optimizer = optim::chain(optim::clip_by_global_norm(1),
                                                optim::adamw({.learning_rate = 1e-3, .weight_decay = 0.1})),
                      .learning_rate = 1e-3};
  TrainState<Model> like;
  auto born = stage(
      [&](const Arrays& a) {
        like = training::first_state(task, options, a[0]);
        return tree::leaves(like);
      },
      {{{}, Dtype::key}});
  auto types = born.program->out_types();
  types.push_back({{4, 256}, i32});
  double staging = 0, instructions = 0, kernels = 0;
  for (auto _ : state) {
    auto begin = std::chrono::steady_clock::now();
    auto p = stage(
                 [&](const Arrays& a) {
                   auto s = like;
                   tree::replace(tree::node(s), a.data(), a.size() - 1);
                   auto [next, report] = training::step(task, options, s, NamedArray(a.back(), axes));
                   auto out = tree::leaves(next);
                   out.push_back(report.loss);
                   return out;
                 },
                 types)
                 .program;
    staging += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    Mask donated(types.size(), true);
    auto e = executable(p, donated);
    instructions = static_cast<double>(p->code.size());
    kernels = static_cast<double>(e->info().kernels);
  }
  state.counters["staging_ms"] = benchmark::Counter(staging * 1e3, benchmark::Counter::kAvgIterations);
  state.counters["instructions"] = instructions;
  state.counters["kernels"] = kernels;
}
void gpt2_scan(benchmark::State& s) { compile<models::Gpt2>(s); }
void gpt2_unrolled(benchmark::State& s) { compile<Unrolled>(s); }
BENCHMARK(gpt2_scan)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt2_unrolled)->Unit(benchmark::kMillisecond);
}  // namespace
BENCHMARK_MAIN();
