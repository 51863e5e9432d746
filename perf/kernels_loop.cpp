// Fused loops on one thread (--threads=N as the last argument for more): bytes read and written per second.
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <cstring>
#include <string>
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "kernels/loop_build.h"

namespace bora::kernels::test {
namespace {
Loop unary(const char* name, Dtype d = f32) {
  Builder b;
  b.store(b.op(name, {b.load(d, true)}), true);
  return b.loop;
}
Loop softmax() {
  Builder b;
  const int x = b.load(f32, true);
  const int e = b.op("exp", {b.op("sub", {x, b.reduce(Reduction::max, x)})});
  b.store(b.op("div", {e, b.reduce(Reduction::sum, e)}), true);
  return b.loop;
}
Loop layer_norm(float n) {
  Builder b;
  const int x = b.load(f32, true), scale = b.load(f32, true), shift = b.load(f32, true);
  const int c = b.op("sub", {x, b.op("mul", {b.reduce(Reduction::sum, x), b.constant(1 / n)})});
  const int v = b.op("mul", {b.reduce(Reduction::sum, b.op("mul", {c, c})), b.constant(1 / n)});
  const int r = b.op("rsqrt", {b.op("add", {v, b.constant(1e-5f)})});
  b.store(b.op("add", {b.op("mul", {b.op("mul", {c, r}), scale}), shift}), true);
  return b.loop;
}
Loop gelu() {
  Builder b;
  const int x = b.load(f32, true);
  const int cube = b.op("mul", {b.op("mul", {x, x}), x});
  const int inner =
      b.op("mul", {b.constant(0.7978845608f), b.op("add", {x, b.op("mul", {b.constant(0.044715f), cube})})});
  b.store(b.op("mul", {b.op("mul", {b.constant(0.5f), x}), b.op("add", {b.constant(1.f), b.op("tanh", {inner})})}),
          true);
  return b.loop;
}
Loop adamw() {
  Builder b;
  const int p = b.load(f32, true), m = b.load(f32, true), v = b.load(f32, true), g = b.load(f32, true),
            rate = b.load(f32, false);
  const int m2 = b.op("add", {b.op("mul", {m, b.constant(0.9f)}), b.op("mul", {g, b.constant(0.1f)})});
  const int v2 =
      b.op("add", {b.op("mul", {v, b.constant(0.95f)}), b.op("mul", {b.op("mul", {g, g}), b.constant(0.05f)})});
  const int step = b.op("div", {b.op("mul", {m2, b.constant(1.1f)}),
                                b.op("add", {b.op("sqrt", {b.op("mul", {v2, b.constant(1.2f)})}), b.constant(1e-8f)})});
  b.store(0, b.op("sub", {p, b.op("mul", {rate, b.op("add", {step, b.op("mul", {p, b.constant(0.01f)})})})}));
  b.store(1, m2);
  b.store(2, v2);
  return b.loop;
}
Loop random_bits() {
  Builder b;
  b.loop.linear_forms = 1;
  const int key = b.operand(Dtype::key, false);
  b.store(b.add({.kind = K::random_bits, .dtype = u32, .operand = static_cast<std::int16_t>(key)}), true);
  return b.loop;
}
Loop normal() {
  Builder b{random_bits()};
  b.loop.code.pop_back();
  b.loop.operands[1].dtype = f32;
  const int mantissa = b.op("or", {b.op("shr_logical", {0, b.constant(u32, 9)}), b.constant(u32, 0x3f800000)});
  const int u = b.op("sub", {b.unary(K::bitcast, f32, mantissa), b.constant(1.f)}), lo = b.constant(-0.99999994f);
  b.store(1, b.op("mul", {b.constant(1.41421356f),
                          b.op("erf_inv", {b.op("max", {lo, b.op("fma", {u, b.constant(2.f), lo})})})}));
  return b.loop;
}
/// Every operand has memory of its own with values from 0.3 to 0.9; stored operands may be loaded ones.
void measure(benchmark::State& state, const Loop& loop, std::int64_t rows, std::int64_t columns,
             bool shared_parameters) {
  std::vector<std::vector<std::uint64_t>> memory;
  std::vector<void*> p;
  for (const Operand& o : loop.operands) {
    const auto n = static_cast<std::size_t>(o.columns ? rows * columns : 2 * rows);
    memory.emplace_back(n * dtype_size(o.dtype) / 8 + 16);
    for (std::size_t i = 0; i < n; ++i) {
      const float x = 0.3f + static_cast<float>(i % 601) * 0.001f;
      if (o.dtype == f64) reinterpret_cast<double*>(memory.back().data())[i] = x;
      else if (o.dtype == bf16) reinterpret_cast<bfloat16*>(memory.back().data())[i] = x;
      else if (dtype_size(o.dtype) == 4) reinterpret_cast<float*>(memory.back().data())[i] = x;
    }
  }
  for (auto& m : memory)  // as results lie in an arena
    p.push_back(reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(m.data()) + 63) / 64 * 64));
  LoopArgs a = dense(loop, rows, columns, p);
  double bytes = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (!loop.operands[k].columns) a.stride[k][0] = 0;
    else if (shared_parameters && (k == 1 || k == 2)) a.stride[k][0] = 0;
  }
  for (const Instr& i : loop.code)
    if ((i.kind == K::load || i.kind == K::store) && loop.operands[i.imm].columns && a.stride[i.imm][0] != 0)
      bytes += static_cast<double>(rows * columns) * static_cast<double>(dtype_size(loop.operands[i.imm].dtype));
  const auto kernel = compile(loop);
  for (auto _ : state) run(*kernel, a);
  state.counters["GB/s"] =
      benchmark::Counter(bytes * static_cast<double>(state.iterations()) * 1e-9, benchmark::Counter::kIsRate);
}
void add(const char* name, const Loop& loop, std::int64_t rows, std::int64_t columns, bool shared = false) {
  const auto full = std::string(name) + "/" + std::to_string(rows) + "x" + std::to_string(columns);
  benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& s) { measure(s, loop, rows, columns, shared); });
}
}  // namespace
}  // namespace bora::kernels::test

int main(int argc, char** argv) {
  using namespace bora::kernels::test;
  int threads = 1;
  if (argc > 1 && std::strncmp(argv[argc - 1], "--threads=", 10) == 0) threads = std::atoi(argv[--argc] + 10);
  bora::set_thread_count(threads);
  add("softmax", softmax(), 512, 128);
  add("softmax", softmax(), 64, 1024);
  add("softmax", softmax(), 4, 50304);
  add("layer_norm", layer_norm(192), 340, 192, true);
  add("layer_norm", layer_norm(768), 85, 768, true);
  for (std::int64_t n : {8, 4096, 65536, 16 << 20}) {
    add("gelu", gelu(), 1, n);
    add("adamw", adamw(), 1, n);
    add("exp", unary("exp"), 1, n);
  }
  for (const char* f : {"tanh", "erf", "log", "log1p", "expm1", "sin", "logistic", "rsqrt", "erf_inv", "neg"})
    add(f, unary(f), 1, 65536);
  add("tanh bf16", unary("tanh", bora::bf16), 1, 65536);
  add("exp f64", unary("exp", bora::f64), 1, 32768);
  add("random_bits", random_bits(), 1, 65536);
  add("normal", normal(), 1, 65536);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
