#include "compile/run/timing.h"
#include <time.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/api/loop.h"
#include "compile/passes/loops/loop_sums.h"

namespace bora::exec {
namespace {
constexpr double kFlops = 1e9;        // floating point operations of a timing, at most
constexpr std::int64_t kTile = 512;   // rows, columns and terms of a product whose speed is that of all larger ones

/// The time of this thread, not of those that share its core.
double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
/// The median of some runs: other work on this machine makes single ones longer or shorter. The first one, which does
/// not count, makes code and memory ready.
template <class F> double median_of(const F& f) {
  ThreadScope one(1);
  auto once = [&] {
    auto begin = processor_seconds();
    f();
    return processor_seconds() - begin;
  };
  once();
  std::vector<double> runs{once()};
  for (double all = runs[0]; runs.size() < 5 && all < 10e-3; all += runs.back()) runs.push_back(once());
  std::nth_element(runs.begin(), runs.begin() + runs.size() / 2, runs.end());
  return runs[runs.size() / 2];
}
/// Memory full of ones, as f32: no time is that of zeros or of denormal numbers.
std::shared_ptr<void> memory_of_ones(std::size_t bytes) {
  auto m = kernels::allocate(bytes + 64);
  std::fill_n(static_cast<float*>(m.get()), (bytes + 3) / 4, 1.0F);
  return m;
}
std::shared_ptr<void> buffer(const Type& t) {
  auto m = memory_of_ones(t.nbytes());
  bool mask = t.dtype == Dtype::boolean;  // true: else attention would have no keys
  if (!is_float(t.dtype)) std::memset(m.get(), mask ? 1 : 0, t.nbytes());  // numbers of tokens, places, keys
  return m;
}
double product_seconds(kernels::Gemm g, std::size_t memory) {
  auto whole = static_cast<double>(g.batch) * static_cast<double>(g.m) * static_cast<double>(g.n) *
               static_cast<double>(g.k);
  if (whole == 0) return 0;
  auto share = [&] {  // of a product in what a timing may use
    auto flops = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
    auto bytes = static_cast<double>(g.m * g.k + g.k * g.n + g.m * g.n) * static_cast<double>(dtype_size(g.dtype));
    return std::max(flops / kFlops, bytes / static_cast<double>(memory));
  };
  for (auto* n : {&g.m, &g.n, &g.k})  // rows first: they cost the least of what they bring
    while (*n > kTile && share() > 1) *n = std::max(kTile, *n / 2);
  g.batch = std::clamp<std::int64_t>(static_cast<std::int64_t>(1 / share()), 1, std::min<std::int64_t>(g.batch, 8));
  auto each = static_cast<double>(g.m * g.n * g.k);
  auto layout = [&](std::int64_t& batch, std::int64_t& row, std::int64_t& column, std::int64_t rows,
                    std::int64_t columns) {  // the same order, without gaps
    bool by_rows = column == 1;
    row = by_rows ? columns : 1, column = by_rows ? 1 : rows, batch = batch == 0 ? 0 : rows * columns;
  };
  layout(g.a_batch, g.a_row, g.a_col, g.m, g.k);
  layout(g.b_batch, g.b_row, g.b_col, g.k, g.n);
  g.c_batch = g.m * g.n, g.ldc = g.n;
  auto bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n * g.batch) * dtype_size(g.dtype); };
  auto a = buffer({{g.batch, g.m, g.k}, g.dtype}), b = buffer({{g.batch, g.k, g.n}, g.dtype});
  auto c = memory_of_ones(bytes(g.m * g.n));
  g.a = a.get(), g.b = b.get(), g.c = c.get();
  return median_of([&] { kernels::gemm(g); }) * whole / (each * static_cast<double>(g.batch));
}
/// An operation on the first `rows` of the n of its leading dimension, if it has the same meaning there.
struct Smaller {
  PrimitivePtr primitive;
  Types in, out;
};
std::optional<Smaller> first_rows(const EvalStep& x, std::int64_t n, std::int64_t rows) {
  Smaller s{nullptr, x.in_types, x.out_types};
  for (auto* types : {&s.in, &s.out})
    for (auto& t : *types)
      if (!t.shape.empty() && t.shape[0] == n) t.shape[0] = rows;
  try {
    s.primitive = x.primitive->resized(s.in, s.out);
    if (s.primitive->infer(s.in) == s.out) return s;
  } catch (const Error&) {  // its dimensions mean something else
  }
  return std::nullopt;
}
double run_seconds(const Smaller& s) {
  std::vector<std::shared_ptr<void>> memory;
  std::vector<InputView> in;
  std::vector<OutputView> out;
  for (auto& t : s.in) in.push_back({t, memory.emplace_back(buffer(t)).get()});
  for (auto& t : s.out) out.push_back({t, memory.emplace_back(buffer(t)).get()});
  // Attention: equal segments, and a window of all positions, as one of 0 has no keys.
  for (std::size_t i = 0; s.primitive->name().starts_with("attention") && i < s.in.size(); ++i)
    if (s.in[i].dtype == Dtype::i32)
      std::fill_n(static_cast<std::int32_t*>(memory[i].get()), s.in[i].size(), 1 << 30);
  return median_of([&] { s.primitive->eval(in, out); });
}
/// The products of rows in groups (ops/primitives/ragged.cpp), each group with as many rows: only the data says how
/// many they will be, and with none there would be no product.
std::optional<kernels::Gemm> even_groups(const EvalStep& x) {
  auto name = x.primitive->name();
  if (name != "ragged_dot" && name != "ragged_outer") return std::nullopt;
  bool outer = name == "ragged_outer";
  auto& rows = x.in_types[0];  // [B.., R.., M, K]
  auto& stack = outer ? x.out_types[0].shape : x.in_types[1].shape;  // [B.., E, K, N]
  auto k = rows.shape.back(), n = (outer ? x.in_types[1] : x.out_types[0]).shape.back(), all = std::int64_t{1};
  for (std::size_t d = 0; d + 2 < stack.size(); ++d) all *= stack[d];
  auto stacks = all / std::max<std::int64_t>(1, stack[stack.size() - 3]);
  auto groups = std::max<std::int64_t>(1, stacks * x.in_types[2].shape.back());
  auto each = (rows.size() / std::max<std::int64_t>(1, k) + groups - 1) / groups;
  kernels::Gemm g{.dtype = rows.dtype, .batch = all, .m = each, .n = n, .k = k, .a_batch = 1, .b_batch = 1};
  if (outer) g.m = k, g.k = each, g.a_row = 1, g.a_col = k;
  return g;
}
}  // namespace

double bytes_of(const Types& in, const Types& out) {
  double n = 0;
  for (auto* types : {&in, &out})
    for (auto& t : *types) n += static_cast<double>(t.nbytes());
  return n;
}
double copy_seconds(std::size_t bytes, std::size_t memory) {
  thread_local const double per_byte = [&] {  // of this thread's core
    auto n = memory / 2;
    auto from = memory_of_ones(n), to = memory_of_ones(n);
    return median_of([&] { std::memcpy(to.get(), from.get(), n); }) / static_cast<double>(n);
  }();
  return per_byte * static_cast<double>(bytes);
}
double seconds_of(const EvalStep& x, std::size_t memory) {
  if (x.gemm) return product_seconds(*x.gemm, memory);
  if (auto products = even_groups(x)) return product_seconds(*products, memory);
  auto cost = x.primitive->cost(x.in_types, x.out_types);
  auto too_much = std::max(bytes_of(x.in_types, x.out_types) / static_cast<double>(memory), cost.flops / kFlops);
  if (too_much <= 1) return run_seconds({x.primitive, x.in_types, x.out_types});
  for (auto* types : {&x.out_types, &x.in_types}) {
    if (types->empty() || (*types)[0].shape.empty()) continue;
    auto n = (*types)[0].shape[0];
    auto rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n) / too_much));
    if (rows == n) continue;
    auto s = first_rows(x, n, rows);
    if (s && bytes_of(s->in, s->out) <= 4 * static_cast<double>(memory))
      return run_seconds(*s) * static_cast<double>(n) / static_cast<double>(rows);
  }
  // No part of it can be run: the time of its bytes, and of its operations at the speed of a product.
  thread_local const double per_flop =
      product_seconds(kernels::Gemm{.dtype = Dtype::f32, .m = kTile, .n = kTile, .k = kTile}, memory) /
      (2.0 * kTile * kTile * kTile);
  auto half = static_cast<std::size_t>(bytes_of(x.in_types, x.out_types) / 2);
  return std::max(copy_seconds(half, memory), cost.flops * per_flop);
}
double seconds_of(const LoopStep& x, std::size_t memory) {
  auto a = x.fused->args;
  auto operands = x.fused->kept();
  auto elements = [&](std::size_t k) {  // from the first to the last that it touches
    std::int64_t n = 1;
    for (int d = 0; d < a.ndim; ++d) n += (a.extent[d] - 1) * std::abs(a.stride[k][d]);
    return n;
  };
  auto bytes = [&] {
    double n = 0;
    for (std::size_t k = 0; k < operands; ++k)
      n += static_cast<double>(elements(k)) * static_cast<double>(dtype_size(x.fused->loop.operands[k].dtype));
    return n;
  };
  double part = 1;
  for (int d = 0; d < a.ndim; ++d) {
    if (a.extent[d] == 0) return 0;
    while (bytes() > static_cast<double>(memory) && a.extent[d] > 1) {
      auto n = (a.extent[d] + 1) / 2;
      part *= static_cast<double>(a.extent[d]) / static_cast<double>(n);
      a.extent[d] = n;
    }
  }
  std::vector<std::shared_ptr<void>> buffers;
  for (std::size_t k = 0; k < operands; ++k) {
    std::int64_t back = 0;
    for (int d = 0; d < a.ndim; ++d) back += std::max<std::int64_t>(0, -a.stride[k][d]) * (a.extent[d] - 1);
    auto dtype = x.fused->loop.operands[k].dtype;
    auto* at = static_cast<char*>(buffers.emplace_back(buffer({{elements(k)}, dtype})).get());
    a.pointer[k] = at + static_cast<std::size_t>(back) * dtype_size(dtype);
  }
  if (x.sums.empty()) return median_of([&] { kernels::run(*x.kernel, a); }) * part;
  std::vector<void*> sums;
  for (std::size_t k = 0; k < x.sums.size(); ++k)
    sums.push_back(buffers.emplace_back(memory_of_ones(static_cast<std::size_t>(sum_elements(*x.fused, a)) * 8)).get());
  auto partials = memory_of_ones(partial_bytes(*x.fused));
  return median_of([&] { run_with_sums(*x.kernel, a, *x.fused, sums.data(), partials.get()); }) * part;
}
}  // namespace bora::exec
