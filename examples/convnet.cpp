// A residual convolutional network on generated images (horizontal or vertical stripes), with named axes and batch
// norms whose averages are part of the training state; and the gradient of each example by vmap.
#include <bora/bora.h>
#include <iostream>
using namespace bora;

const Axis Batch{"batch", 64}, Height{"height", 8}, Width{"width", 8}, Color{"color", 1}, Channels{"channels", 8};
const Axis Class{"class", 2};
const Axes Window{Axis{"height", 3}, Axis{"width", 3}};

struct Block {
  nn::Conv conv;
  nn::BatchNorm norm;
  static Block init(const Array& key) {
    nn::ConvInit same{.conv = {.padding = Padding::same}, .use_bias = false};
    return {nn::Conv::init(Window, Channels, Channels, key, same), nn::BatchNorm::init(Channels, 0.9F)};
  }
};
struct Net {
  nn::Conv stem;
  std::vector<Block> blocks;
  nn::Linear head;
  static Net init(const Array& key) {
    auto [k1, k2, k3, k4] = random::split<4>(key);
    return {nn::Conv::init(Window, Color, Channels, k1, {.conv = {.padding = Padding::same}}),
            {Block::init(k2), Block::init(k3)},
            nn::Linear::init(Channels, Class, k4)};
  }
};
using Stats = std::vector<nn::BatchStats>;
/// Scores [.., class], and the averages after this batch.
std::pair<NamedArray, Stats> scores(const Net& net, NamedArray x, Stats stats, nn::BatchNormMode mode) {
  x = relu(net.stem(x));
  for (std::size_t i = 0; i < net.blocks.size(); ++i) {
    auto [y, next] = net.blocks[i].norm(net.blocks[i].conv(x), stats[i], mode);
    x = x + relu(y);
    stats[i] = next;
  }
  x = nn::MaxPool{{{"height", 2}, {"width", 2}}}(x);
  return {net.head(mean(x, {"height", "width"})), stats};
}
struct Images {
  NamedArray x, label;
};
Images images(const Array& key) {
  auto [k1, k2, k3] = random::split<3>(key);
  auto label = random::randint(k1, Batch, 0, 2);
  auto phase = random::uniform(k2, Batch, f32, 0, 6.28);
  Axes all{Batch, Height, Width};
  auto along = [&](const Axis& a) { return broadcast_to(arange(a).astype(f32), all) * 2.0 + broadcast_to(phase, all); };
  auto x = sin(where(broadcast_to(label, all) == 1, along(Height), along(Width)));
  return {broadcast_to(x + 0.5 * random::normal(k3, all), {Batch, Height, Width, Color}), label};
}

int main() {
  struct State {
    Net net;
    Stats stats;
    optim::State optimizer;
  };
  auto optimizer = optim::adam({.learning_rate = 3e-3});
  auto net = Net::init(random::key(0));
  State state{net, {net.blocks[0].norm.first_stats(), net.blocks[1].norm.first_stats()}, optimizer.init(net)};
  auto step = jit([&](const State& s, const Array& key) {
    auto batch = images(key);
    auto loss = [&](const Net& n) {
      auto [y, after] = scores(n, batch.x, s.stats, nn::BatchNormMode::train);
      return std::pair{mean(nn::cross_entropy(y, Class, batch.label)), after};
    };
    auto [value, stats, g] = value_and_grad(loss)(s.net);
    auto [updates, next] = optimizer.update(g, s.optimizer, s.net);
    return State{optim::apply_updates(s.net, updates), stats, next};
  });
  for (int i = 0; i < 60; ++i) state = step(std::move(state), random::key(i + 1));

  auto test = images(random::key(1000));
  auto loss_of = [&](const Net& n, const Images& one) {
    auto y = scores(n, one.x, state.stats, nn::BatchNormMode::infer).first;
    return mean(nn::cross_entropy(y, Class, one.label));
  };
  auto y = scores(state.net, test.x, state.stats, nn::BatchNormMode::infer).first;
  auto right = mean((argmax(y, Class) == test.label).astype(f32)).item<float>();

  // One gradient for each image; their mean is the gradient of the batch.
  auto each = vmap(grad(loss_of), Batch)(state.net, test);
  auto whole = grad(loss_of)(state.net, test);
  auto off = amax(abs(mean(each.stem.weight, Batch) - whole.stem.weight)).item<float>();
  std::cout << "right: " << right << "; the mean of " << each.stem.weight.axis("batch").size
            << " gradients differs from the batch's by " << off << "\n";
  return right > 0.95F && off < 1e-5F ? 0 : 1;
}
