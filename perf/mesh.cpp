// Two ranks of one host, which share its cores, beside one rank with all of them. In turns; medians. `ratio` is one
// rank's time / two ranks': at 1 the mesh costs nothing, and where one rank's threads wait for each other it is above.
#include <benchmark/benchmark.h>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include "bora/bora.h"
#include "bora/models/gpt2.h"

namespace {
using namespace bora;
using Step = std::function<void()>;

double seconds(const Step& f, int n) {
  auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < n; ++k) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / n;
}
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}
/// prepare: makes the operands, placed on the mesh in force if there is one, and the step that is timed.
void compare(benchmark::State& state, const std::function<Step()>& prepare) {
  const int steps = static_cast<int>(state.range(0));
  std::vector<double> one, two;
  auto alone = prepare();
  alone();
  for (auto _ : state) {
    one.push_back(seconds(alone, steps));
    double slowest = 0;
    local_mesh({{"data", 2}}, [&](const Mesh& mesh) {
      auto step = prepare();
      step();
      mesh.exchange("", "start");
      auto mine = seconds(step, steps);
      mesh.exchange("", "end");
      if (mesh.rank() == 0) slowest = mine;
    });
    two.push_back(slowest);
    state.SetIterationTime(slowest);
  }
  state.counters["one_ms"] = median(one) * 1e3;
  state.counters["two_ms"] = median(two) * 1e3;
  state.counters["ratio"] = median(one) / median(two);
}
Array placed(const Array& x, const Spec& spec) { return here().mesh ? shard(x, spec) : x; }
Array constrained(const Array& x, const Spec& spec) { return here().mesh ? with_sharding_constraint(x, spec) : x; }
Array drawn(int number, const Shape& shape, const Spec& spec) {
  return placed(random::normal(random::key(number), shape), spec);
}
Array neighbours(const Array& f) {
  return (roll(f, 1, 0) + roll(f, -1, 0)) + (roll(f, 1, 1) + roll(f, -1, 1)) - 4 * f;
}
const Spec kRows{"data"};

/// The step of a field that replaces itself.
template <class T, class F> Step evolving(T start, F f) {
  auto x = std::make_shared<T>(std::move(start));
  return [x, g = jit(f)]() mutable { *x = g(*x); };
}
/// The step of a function of fixed operands.
template <class F, class... A> Step of(F f, A... a) {
  return [g = jit(f), a...]() mutable { benchmark::DoNotOptimize(g(a...)); };
}
Step heat() {
  return evolving(drawn(0, {2048, 2048}, kRows), [](const Array& f) { return f + 0.1F * neighbours(f); });
}
Step wave() {
  using Fields = std::pair<Array, Array>;
  auto f = drawn(0, {2048, 2048}, kRows);
  return evolving(Fields{f, f}, [](const Fields& u) {
    return Fields{2 * u.first - u.second + 0.1F * neighbours(u.first), u.first};
  });
}
Step convolutions() {
  auto loss = [](const Arrays& w, const Array& x) {
    auto y = relu(conv(x, w[0], {.padding = Padding::same}));
    return mean(square(conv(y, w[1], {.padding = Padding::same})));
  };
  Arrays w{drawn(1, {3, 3, 16, 32}, {}), drawn(2, {3, 3, 32, 16}, {})};
  return of([loss](const Arrays& p, const Array& x) { return grad(loss)(p, x); }, w, drawn(0, {32, 32, 32, 16}, kRows));
}
Step cholesky() {
  auto make = [](const Array& a) { return matmul(a, transpose(a, {0, 2, 1})) + 128 * eye(128, f32); };
  return of([](const Array& m) { return linalg::cholesky(m); }, jit(make)(drawn(0, {64, 128, 128}, kRows)));
}
Step kernel_matrix() {
  return of([](const Array& x) {
    auto d = expand_dims(x, 1) - expand_dims(x, 0);
    return constrained(exp(-sum(square(d), {2})), kRows);
  }, drawn(0, {1024, 64}, {}));
}
Step fft_of_plane() {
  return of([](const Array& x) { return constrained(real(fft::fft2(x)), kRows); }, drawn(0, {1024, 1024}, kRows));
}
Step gpt2_by_rows() {
  models::Gpt2Config c{.layers = 4, .embed = 192, .heads = 6, .positions = 128};
  auto model = models::Gpt2::init(c, 1024, random::key(1));
  Axis batch{nn::kBatch, 8}, position{nn::kPosition, 128};
  NamedArray tokens(placed(random::randint(random::key(2), {8, 128}, 0, 1024), kRows), {batch, position});
  return of([batch](const models::Gpt2& m, const NamedArray& t) {
    return grad([&](const models::Gpt2& p) {
      auto loss = [&](const NamedArray& row) { return mean(nn::cross_entropy(p(row), nn::kVocab, row)); };
      return mean(vmap(loss, batch)(t));
    })(m);
  }, model, tokens);
}
#define ROW(name, steps) \
  void name##_row(benchmark::State& s) { compare(s, name); } \
  BENCHMARK(name##_row)->Name(#name)->Arg(steps)->Iterations(7)->UseManualTime()->Unit(benchmark::kMillisecond)
ROW(heat, 50);
ROW(wave, 50);
ROW(convolutions, 3);
ROW(cholesky, 10);
ROW(kernel_matrix, 5);
ROW(fft_of_plane, 10);
ROW(gpt2_by_rows, 1);
}  // namespace
BENCHMARK_MAIN();
