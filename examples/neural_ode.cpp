// A neural ordinary differential equation (Chen et al. 2018): x' = f(x) learnt from the path of a damped oscillator,
// by the gradient through a fourth-order Runge-Kutta scheme.
#include <bora/bora.h>
#include <iostream>
using namespace bora;

struct Field {
  Array w1, b1, w2;
  Array operator()(const Array& x) const { return matmul(tanh(matmul(x, w1) + b1), w2); }
};
/// Positions at steps 1, 2, .. n: x [.., 2] -> [n, .., 2].
template <class F> Array path(const F& f, const Array& start, std::int64_t n, double h) {
  auto step = [&](const Array& x, std::nullopt_t) {
    auto a = f(x), b = f(x + h / 2 * a), c = f(x + h / 2 * b), d = f(x + h * c);
    auto next = x + h / 6 * (a + 2 * b + 2 * c + d);
    return std::pair{next, next};
  };
  return scan(step, start, none, {.length = n}).second;
}

int main() {
  constexpr double h = 0.1;
  auto truth = [turn = array({{-0.1, -1.}, {1., -0.1}}, f32)](const Array& x) { return matmul(x, turn); };
  auto [k1, k2, k3, k4] = random::split<4>(random::key(0));
  auto starts = random::uniform(k1, {16, 2}, f32, -2, 2), seen = path(truth, starts, 20, h);

  Field field{random::normal(k2, {2, 32}) * 0.5, zeros({32}), random::normal(k3, {32, 2}) * 0.1};
  auto loss = [&](const Field& f) { return mean(square(path(f, starts, 20, h) - seen)); };
  auto optimizer = optim::adam({.learning_rate = 0.01});
  auto state = optimizer.init(field);
  auto step = jit([&](const Field& f, const optim::State& s) {
    auto [updates, next] = optimizer.update(grad(loss)(f), s, f);
    return std::pair{optim::apply_updates(f, updates), next};
  });
  for (int i = 0; i < 1000; ++i) std::tie(field, state) = step(std::move(field), std::move(state));

  auto others = random::uniform(k4, {50, 2}, f32, -1.4, 1.4);  // starts that it has not seen
  auto error = sqrt(mean(square(path(field, others, 20, h) - path(truth, others, 20, h)))).item<float>();
  std::cout << "root mean square error of new paths: " << error << "\n";
  return error < 0.05F ? 0 : 1;
}
