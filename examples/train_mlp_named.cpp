// Named axes: the model names its axes, a mapping lays them out on the mesh. Change the layout on the command line:
//   train_mlp_named                 one rank
//   train_mlp_named data 4          four ranks, each with a part of the batch (data parallel)
//   train_mlp_named fsdp 4          also with a part of the stored parameters
//   train_mlp_named tensor 2        the hidden axis split
#include <bora/bora.h>
#include <bora/nn/layers.h>
#include <bora/optim/optim.h>
#include <bora/train/step.h>
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
struct Rows {
  NamedArray x, y;
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
    TrainTask<Model, Rows> task{.init = Model::init,
                                .loss =
                                    [](const Model& m, const Rows& r, const std::optional<Array>&) {
                                      return sum(mean(square(m(r.x) - r.y), Out));  // of the rows, whose weights are 1
                                    },
                                .weights = [](const Rows&) { return ones({Batch}); }};
    auto rate = 3e-3;
    StepOptions options{.optimizer = optim::adamw({.learning_rate = rate, .weight_decay = 0.0}), .learning_rate = rate};
    auto init =
        named_jit([&](const Array& key) { return training::first_state(task, options, key); }, {.out = choice.storage});
    auto state = init(random::key(0));  // parameters and optimizer state, born in their storage
    UseMapping scope(choice.compute);
    auto x = random::normal(random::key(1), {Batch, In});
    Rows rows{x, tanh(dot(x, random::normal(random::key(2), {In, Out}), In))};
    // The update is a pure function of state and rows; the trainer stages the same one.
    using State = TrainState<Model>;
    auto step = jit([&](const State& s, const Rows& r) { return training::step(task, options, s, r); });
    for (int i = 0; i < 300; ++i) {
      auto [next, report] = step(std::move(state), rows);
      state = std::move(next);
      auto loss = report.loss.item<float>();
      if (mesh.rank() == 0 && (i % 100 == 0 || i == 299))
        std::cout << layout << " on " << ranks << ", step " << i << ": loss " << loss << "\n";
      if (mesh.rank() == 0) last = loss;
    }
  });
  return last < 0.05f ? 0 : 1;
}
