// Programs as a user of the library writes them, for perf/busy/measure: busy_steps NAME SECONDS [THREADS] prints the
// microseconds of every call, one a line.
#include <bora/base/parallel.h>
#include <bora/bora.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>
using namespace bora;

namespace {
void done(const Array& a) { [[maybe_unused]] auto bytes = a.to_vector<float>(); }

/// Means over windows of images: eager, small rows.
std::function<void()> pooling() {
  Array images = random::normal(random::key(0), {32, 64, 64, 16});
  return [images] { done(mean(reshape(images, {32, 32, 2, 32, 2, 16}), {2, 4})); };
}
/// The gradient of a Gaussian process' negative log likelihood: eager, one small matrix.
std::function<void()> gaussian_process() {
  const int n = 128;
  Array x = reshape(linspace(-2, 2, n), {n, 1}), y = sin(3 * x);
  auto loss = [x, y](const Array& log_length, const Array& log_noise) {
    Array apart = (x - transpose(x)) / exp(log_length), eye = array(1.0F) * (x == transpose(x));
    Array l = linalg::cholesky(exp(-0.5F * square(apart)) + (exp(log_noise) + 1e-3F) * eye);
    Array z = linalg::triangular_solve(l, y);
    return 0.5F * sum(square(z)) + 0.5F * sum(log(sum(l * eye, {1})));
  };
  auto gradient = grad(loss);
  return [=] { done(gradient(array(-0.5F), array(-2.0F))); };
}
/// A jitted training step of a small perceptron.
struct Layer {
  Array weight, bias;
  Array operator()(const Array& x) const { return matmul(x, weight) + bias; }
};
struct Mlp {
  Layer up, middle, down;
  Array operator()(const Array& x) const { return down(gelu(middle(gelu(up(x))))); }
};
std::function<void()> perceptron() {
  auto keys = random::split<5>(random::key(0));
  auto layer = [](const Array& key, int in, int out) {
    return Layer{random::normal(key, {in, out}) * 0.1F, zeros({out})};
  };
  auto model = std::make_shared<Mlp>(Mlp{layer(keys[0], 64, 256), layer(keys[1], 256, 256), layer(keys[2], 256, 16)});
  Array x = random::normal(keys[3], {128, 64}), y = random::normal(keys[4], {128, 16});
  auto loss = [](const Mlp& m, const Array& in, const Array& out) { return mean(square(m(in) - out)); };
  auto step = std::make_shared<std::function<std::pair<Mlp, Array>(Mlp&&)>>(
      [jitted = jit([=](const Mlp& m, const Array& in, const Array& out) {
         auto [l, g] = value_and_grad(loss)(m, in, out);
         return std::pair{tree::map([](const Array& p, const Array& d) { return p - 0.01F * d; }, m, g), l};
       }),
       x, y](Mlp&& m) { return jitted(std::move(m), x, y); });
  return [=] {
    auto [next, l] = (*step)(std::move(*model));
    *model = std::move(next);
    done(l);
  };
}
/// The last carry of n steps.
template <class State, class F> State steps(std::int64_t n, const State& init, const F& f) {
  return scan([&](const State& s, std::nullopt_t) { return std::pair{f(s), none}; }, init, none, {.length = n}).first;
}
/// 20 jitted steps of the Navier-Stokes equations on a ring of 128 x 128 points, each with 20 of Jacobi for the
/// pressure: loops of some 10 us.
struct Flow {
  Array u, v, p;
};
std::function<void()> navier_stokes() {
  auto x = [](const Array& a, int by) { return roll(a, by, 0); };
  auto y = [](const Array& a, int by) { return roll(a, by, 1); };
  auto around = [=](const Array& a) { return x(a, 1) + x(a, -1) + y(a, 1) + y(a, -1); };
  auto step = [=](const Flow& s) {
    auto moved = [&](const Array& a) {
      return a - 0.1F * (s.u * (x(a, -1) - x(a, 1)) + s.v * (y(a, -1) - y(a, 1))) * 0.5F +
             0.01F * (around(a) - 4 * a);
    };
    Array u = moved(s.u), v = moved(s.v);
    Array divergence = (x(u, -1) - x(u, 1) + y(v, -1) - y(v, 1)) * 0.5F;
    auto p = steps(20, s.p, [&](const Array& q) { return (around(q) - divergence) * 0.25F; });
    return Flow{u - (x(p, -1) - x(p, 1)) * 0.5F, v - (y(p, -1) - y(p, 1)) * 0.5F, p};
  };
  auto keys = random::split<2>(random::key(0));
  Flow start{random::normal(keys[0], {128, 128}) * 0.1F, random::normal(keys[1], {128, 128}) * 0.1F,
             zeros({128, 128})};
  auto run = std::make_shared<std::function<Flow(const Flow&)>>(
      jit([=](const Flow& s) { return steps(20, s, step); }));
  return [=] { done((*run)(start).u); };
}
/// Ten jitted transitions of Hamiltonian Monte Carlo, ten leaps each: 64 chains of 16 coordinates in a quartic well.
std::function<void()> hmc() {
  auto energy = [](const Array& q) {
    auto d = slice(q, {1}, {16}) - slice(q, {0}, {15});
    return sum(d * d) * 2.0F + sum(q * q * q * q) * 0.25F;
  };
  auto slope = vmap(grad(energy));
  auto transition = [=](const Array& q, const Array& key) {
    auto [k1, k2] = random::split<2>(key);
    Array p0 = random::normal(k1, {64, 16});
    auto [x, p] = steps(10, std::pair{q, p0}, [&](const std::pair<Array, Array>& s) {
      Array half = s.second - 0.05F * slope(s.first), moved = s.first + 0.1F * half;
      return std::pair{moved, Array(half - 0.05F * slope(moved))};
    });
    Array before = vmap(energy)(q) + 0.5F * sum(p0 * p0, -1), after = vmap(energy)(x) + 0.5F * sum(p * p, -1);
    Array accepted = log(random::uniform(k2, {64})) < before - after;
    return std::pair{Array(where(reshape(accepted, {64, 1}), x, q)), none};
  };
  auto keys = random::split(random::key(1), 10);
  Array start = random::normal(random::key(0), {64, 16});
  auto run = std::make_shared<std::function<Array(const Array&)>>(
      jit([=](const Array& q) { return scan(transition, q, keys).first; }));
  return [=] { done((*run)(start)); };
}
}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<std::function<void()>()>> programs{
      {"pooling", pooling}, {"gaussian_process", gaussian_process}, {"perceptron", perceptron},
      {"navier_stokes", navier_stokes}, {"hmc", hmc}};
  if (argc < 3 || !programs.contains(argv[1]))
    return std::fputs("usage: busy_steps NAME SECONDS [THREADS]\n", stderr), 2;
  set_thread_count(argc > 3 ? std::atoi(argv[3]) : 0);
  auto call = programs.at(argv[1])();
  for (int i = 0; i < 3; ++i) call();
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  times.reserve(1 << 20);
  const auto end = Clock::now() + std::chrono::duration<double>(std::atof(argv[2]));
  for (auto begin = Clock::now(); begin < end; begin = Clock::now()) {
    call();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  for (double t : times) std::printf("%.2f\n", t);
}
