// A Gaussian process whose length scale, amplitude and noise are learnt by the gradient of its marginal likelihood.
#include <bora/bora.h>
#include <bora/ops/linalg.h>
#include <iostream>
using namespace bora;

struct Kernel {
  Array log_scale, log_amplitude, log_noise;  // scalars
};
Array covariance(const Kernel& k, const Array& a, const Array& b) {
  auto apart = (expand_dims(a, 1) - b) / exp(k.log_scale);
  return exp(2 * k.log_amplitude - 0.5 * square(apart));
}
Array factor(const Kernel& k, const Array& x) {
  auto n = x.shape(0);
  return linalg::cholesky(covariance(k, x, x) + (exp(2 * k.log_noise) + 1e-9) * eye(n, f64));
}
/// -log p(y | x) / n, without its constant.
Array loss(const Kernel& k, const Array& x, const Array& y) {
  auto l = factor(k, x);
  auto z = linalg::triangular_solve(l, expand_dims(y, 1));
  return (0.5 * sum(square(z)) + sum(log(diagonal(l)))) / static_cast<double>(x.shape(0));
}

int main() {
  constexpr int n = 60;
  auto [k1, k2] = random::split<2>(random::key(1));
  auto x = random::uniform(k1, {n}, f64, -3, 3);
  auto y = sin(2 * x) + 0.1 * random::normal(k2, {n}, f64);

  Kernel kernel{array(0., f64), array(0., f64), array(0., f64)};
  auto optimizer = optim::adam({.learning_rate = 0.05});
  auto state = optimizer.init(kernel);
  auto step = jit([&](const Kernel& k, const optim::State& s) {
    auto [updates, next] = optimizer.update(grad([&](const Kernel& at) { return loss(at, x, y); })(k), s, k);
    return std::pair{optim::apply_updates(k, updates), next};
  });
  for (int i = 0; i < 300; ++i) std::tie(kernel, state) = step(kernel, state);
  auto slopes = grad([&](const Kernel& at) { return loss(at, x, y); })(kernel);

  auto at = linspace(-2.5, 2.5, 50, f64);
  auto l = factor(kernel, x);
  auto weights = linalg::cho_solve(l, expand_dims(y, 1));
  auto mean = squeeze(matmul(covariance(kernel, at, x), weights), 1);
  auto error = sqrt(bora::mean(square(mean - sin(2 * at)))).item<double>();
  auto noise = exp(kernel.log_noise).item<double>(), slope = abs(slopes.log_noise).item<double>();
  std::cout << "noise " << noise << " (true: 0.1), length " << exp(kernel.log_scale).item<double>()
            << ", root mean square error of the mean " << error << ", slope " << slope << "\n";
  return error < 0.06 && noise > 0.08 && noise < 0.13 && slope < 1e-2 ? 0 : 1;
}
