// The cost of a call beside its work: eager operations, compiled calls with few and many leaves,
// steps of small loops.
#include <benchmark/benchmark.h>
#include "compile/api/control.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace {
using namespace bora;
Array some(const Shape& s) {
  std::vector<float> v(static_cast<std::size_t>(volume(s)), 0.125f);
  return from_bytes({s, f32}, v.data());
}

void eager_add(benchmark::State& state) {
  auto a = some({8}), b = some({8});
  for (auto _ : state) benchmark::DoNotOptimize(a + b);
}
BENCHMARK(eager_add);

void compiled_call(benchmark::State& state) {
  auto n = static_cast<std::size_t>(state.range(0));
  Arrays in(n, some({8}));
  auto p = stage(
               [](const Arrays& a) {
                 Arrays r;
                 for (auto& x : a) r.push_back(x * 2.0 + 1.0);
                 return r;
               },
               types_of(in))
               .program;
  auto e = executable(p);
  for (auto _ : state) benchmark::DoNotOptimize(e->run(in));
}
BENCHMARK(compiled_call)->Arg(1)->Arg(50);

Arrays scan(const FlatFn& body, const Arrays& in, std::int64_t consts, std::int64_t carries, std::int64_t length) {
  return call(ops::Scan{stage(body, types_of(in)).program, consts, carries, length, false}, in);
}
void scan_step(benchmark::State& state, const FlatFn& body, const Arrays& in, std::int64_t consts,
               std::int64_t carries) {
  constexpr std::int64_t length = 1000;
  auto p = stage([&](const Arrays& a) { return scan(body, a, consts, carries, length); }, types_of(in)).program;
  auto e = executable(p);
  for (auto _ : state) benchmark::DoNotOptimize(e->run(in));
  state.counters["step"] = benchmark::Counter(
      static_cast<double>(length), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
void scan_one_loop(benchmark::State& s) {
  scan_step(
      s, [](const Arrays& a) { return Arrays{tanh(a[2] * a[0] + a[1])}; }, {some({8}), some({8}), some({8})}, 2, 1);
}
BENCHMARK(scan_one_loop);
void scan_ten_carries(benchmark::State& s) {
  Arrays in(11, some({8}));
  scan_step(
      s,
      [](const Arrays& a) {
        Arrays r;
        for (std::size_t k = 1; k < a.size(); ++k) r.push_back(tanh(a[k] * a[0]));
        return r;
      },
      in, 1, 10);
}
BENCHMARK(scan_ten_carries);
void scan_product(benchmark::State& s) {
  scan_step(
      s, [](const Arrays& a) { return Arrays{tanh(matmul(a[0], a[1]))}; }, {some({64, 64}), some({64})}, 1, 1);
}
BENCHMARK(scan_product);
void scan_three_kernels(benchmark::State& s) {  // transposes do not fuse
  scan_step(
      s, [](const Arrays& a) { return Arrays{transpose(transpose(transpose(a[0])))}; }, {some({3, 3})}, 0, 1);
}
BENCHMARK(scan_three_kernels);

void stage_and_compile(benchmark::State& state) {
  Arrays in(16, some({64, 64}));
  for (auto _ : state) {
    auto p = stage(
                 [](const Arrays& a) {
                   auto x = a[0];
                   for (int layer = 0; layer < 48; ++layer)
                     for (std::size_t k = 1; k < a.size(); ++k)
                       x = tanh(matmul(x, a[k])) * 0.5 +
                           x / sum(exp(x - amax(x, -1, {.keepdims = true})), -1, {.keepdims = true});
                   return Arrays{x};
                 },
                 types_of(in))
                 .program;
    benchmark::DoNotOptimize(executable(p));
    state.counters["instructions"] = static_cast<double>(p->code.size());
  }
}
BENCHMARK(stage_and_compile)->Unit(benchmark::kMillisecond);
}  // namespace
BENCHMARK_MAIN();
