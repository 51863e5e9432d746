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
}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<std::function<void()>()>> programs{
      {"pooling", pooling}, {"gaussian_process", gaussian_process}, {"perceptron", perceptron}};
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
