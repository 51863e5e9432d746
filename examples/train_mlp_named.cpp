// Named axes: the model names its axes, a mapping lays them out on the mesh. Change the layout on the command line:
//   train_mlp_named                 one rank
//   train_mlp_named data 4          four ranks, each with a part of the batch (data parallel)
//   train_mlp_named fsdp 4          also with a part of the stored parameters
//   train_mlp_named tensor 2        the hidden axis split
#include <bora/bora.h>
#include <bora/nn/layers.h>
#include <bora/optim/optim.h>
#include <cstdlib>
#include <iostream>
#include <map>
using namespace bora;

const Axis Batch{"batch", 32}, In{"in", 8}, Hidden{"hidden", 64}, Out{"out", 4};
struct Model {
  nn::Linear up, down;
  static Model init(const Array& key) {
    auto keys = random::split<2>(key);
    return {nn::Linear::init(In, Hidden, keys[0], {nn::Init::normal(0.3)}),
            nn::Linear::init(Hidden, Out, keys[1], {nn::Init::normal(0.1)})};
  }
  NamedArray operator()(const NamedArray& x) const { return down(auto_sharded(relu(up(auto_sharded(x))))); }
};

int main(int argc, char** argv) {
  std::string layout = argc > 1 ? argv[1] : "one";
  int ranks = argc > 2 ? std::atoi(argv[2]) : 1;
  struct Choice {
    std::string mesh_axis;
    AxisMapping storage, compute;
  };
  std::map<std::string, Choice> choices{{"one", {"data", {}, {}}},
                                        {"data", {"data", {}, {{"batch", "data"}}}},
                                        {"fsdp", {"data", {{"hidden", "data"}}, {{"batch", "data"}}}},
                                        {"tensor", {"model", {{"hidden", "model"}}, {{"hidden", "model"}}}}};
  if (!choices.count(layout)) {
    std::cerr << "usage: train_mlp_named [one|data|fsdp|tensor] [RANKS]\n";
    return 2;
  }
  auto& choice = choices[layout];
  float last = 0;
  local_mesh({{choice.mesh_axis, ranks}}, [&](const Mesh& mesh) {
    auto model = named_jit(Model::init, {.out = choice.storage})(random::key(0));
    auto tx = optim::adamw({.learning_rate = 3e-3, .weight_decay = 0.0});
    auto state = tx.init(model);
    UseMapping scope(choice.compute);
    auto x = random::normal(random::key(1), {Batch, In});
    auto y = tanh(dot(x, random::normal(random::key(2), {In, Out}), In));
    auto step = jit([&](const Model& m, const optim::State& s, const NamedArray& a, const NamedArray& b) {
      auto [l, g] = value_and_grad([&](const Model& q) { return mean(square(q(a) - b)).array(); })(m);
      auto [updates, next] = tx.update(g, s, m);
      return std::tuple{optim::apply_updates(m, updates), next, l};
    });
    for (int i = 0; i < 300; ++i) {
      auto r = step(std::move(model), std::move(state), x, y);
      model = std::move(std::get<0>(r));
      state = std::move(std::get<1>(r));
      auto loss = std::get<2>(r).item<float>();
      if (mesh.rank() == 0 && (i % 100 == 0 || i == 299))
        std::cout << layout << " on " << ranks << ", step " << i << ": loss " << loss << "\n";
      if (mesh.rank() == 0) last = loss;
    }
  });
  return last < 0.05f ? 0 : 1;
}
