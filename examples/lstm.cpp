// An LSTM that learns to add: of a sequence of numbers, those that are marked (Hochreiter & Schmidhuber 1997).
#include <bora/bora.h>
#include <iostream>
using namespace bora;

const Axis Batch{"batch", 64}, Time{"time", 12}, In{"in", 2}, Hidden{"hidden", 24}, Out{"out", 1};
struct Model {
  nn::LstmCell cell;
  nn::Linear head;
  NamedArray operator()(const NamedArray& x) const {  // [batch]
    auto [every, last] = nn::unroll(cell, x, Time, cell.start(Batch));
    return head(last.hidden)[{"out", 0}];
  }
};
struct Rows {
  NamedArray x, y;
};
Rows rows(const Array& key) {
  auto [k1, k2] = random::split<2>(key);
  auto numbers = random::uniform(k1, {Batch, Time}), marks = random::bernoulli(k2, 0.2, {Batch, Time}).astype(f32);
  return {stack(In, {numbers, marks}), sum(numbers * marks, Time)};
}

int main() {
  auto [k1, k2] = random::split<2>(random::key(0));
  Model model{nn::LstmCell::init(In, Hidden, k1), nn::Linear::init(Hidden, Out, k2)};
  auto optimizer = optim::adam({.learning_rate = 0.01});
  auto state = optimizer.init(model);
  auto loss = [](const Model& m, const Rows& r) { return mean(square(m(r.x) - r.y)); };
  auto step = jit([&](const Model& m, const optim::State& s, const Array& key) {
    auto [updates, next] = optimizer.update(grad(loss)(m, rows(key)), s, m);
    return std::pair{optim::apply_updates(m, updates), next};
  });
  for (int i = 0; i < 600; ++i) std::tie(model, state) = step(std::move(model), std::move(state), random::key(i + 1));
  auto after = loss(model, rows(random::key(0))).item<float>();
  std::cout << "mean square error " << after << " (a guess of the mean: about 0.7)\n";
  return after < 0.02F ? 0 : 1;
}
