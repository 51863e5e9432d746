// Functions of plain structs, transformed: gradient, batching, loops, staging.
#include <bora/bora.h>
#include <iostream>
using namespace bora;

struct Linear {
  Array weight, bias;
  Array operator()(const Array& x) const { return matmul(x, weight) + bias; }
};
struct Mlp {
  Linear up, down;
  Array operator()(const Array& x) const { return down(gelu(up(x))); }
};
Linear linear(const Array& key, int in, int out) { return {random::normal(key, {in, out}) * 0.3, zeros({out})}; }

int main() {
  auto [k1, k2] = random::split<2>(random::key(0));
  Mlp model{linear(k1, 1, 32), linear(k2, 32, 1)};
  Array x = reshape(linspace(-2, 2, 64), {64, 1}), y = sin(3 * x);

  auto loss = [](const Mlp& m, const Array& in, const Array& out) { return mean(square(m(in) - out)); };
  // One training step by hand, to show its pieces (train_mlp_named has training::step): staged on the first call,
  // compiled, and run as one Program from then on. Donates old parameters.
  auto step = jit([=](const Mlp& m, const Array& in, const Array& out) {
    auto [l, g] = value_and_grad(loss)(m, in, out);
    return std::pair{tree::map([](const Array& p, const Array& d) { return p - 0.05 * d; }, m, g), l};
  });
  std::cout << "loss before " << loss(model, x, y).item<float>();
  for (int i = 0; i < 2000; ++i) {
    auto [next, l] = step(std::move(model), x, y);
    model = std::move(next);
  }
  float after = loss(model, x, y).item<float>();
  std::cout << ", after " << after << "\n";

  // Per-example gradients: the gradient function over one more axis of x and y, the model shared.
  Mlp per_example = vmap(grad(loss), {.in = {none, 0, 0}})(model, x, y);
  std::cout << "gradients of up.weight, one per example: " << per_example.up.weight.shape() << "\n";

  // A loop that is staged once and can be differentiated: x_{t+1} = r x_t (1 - x_t).
  auto orbit = [](const Array& r) {
    return scan(
               [&](const Array& c, std::nullopt_t) {
                 auto n = r * c * (1 - c);
                 return std::pair{n, n};
               },
               array(0.5), none, {.length = 10})
        .first;
  };
  std::cout << "d x_10 / d r at 3.2: " << grad(orbit)(array(3.2)).item<float>() << "\n";
  return after < 0.1f ? 0 : 1;
}
