// step.h -- one update of any model: gradients of weighted losses, summed over parts of the batch, and the optimizer. A
// pure function of its arguments: the trainer stages it, and so can every program.
#pragma once
#include <functional>
#include "bora/fx/transforms.h"
#include "bora/named/functions.h"
#include "bora/named/mapping.h"
#include "bora/named/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/shape.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "bora/optim/optim.h"
#include "bora/random/random.h"
#include "bora/train/example.h"

namespace bora {
/// A model to train on examples: any tree of named arrays with the axis batch.
template <class Params, class Example = training::Example> struct Task {
  std::function<Params(const Array& key)> init;  // in the dtypes of stored parameters
  /// The sum of weight * loss over the targets, an f32 scalar. key: for dropout; none in evaluation.
  std::function<NamedArray(const Params&, const Example&, const std::optional<Array>& key)> loss;
  /// The weights of the targets: the loss of a batch is divided by their sum.
  std::function<NamedArray(const Example&)> weights = [](const Example& e) { return e.weights; };
};
template <class Params> struct TrainState {
  Params params;
  optim::State optimizer;
  Array step;  // i32: updates made
  Array key;   // step s draws from fold_in(key, s)
};
struct StepOptions {
  optim::Transform optimizer;
  optim::Schedule learning_rate;  // as the optimizer uses it: for the reports
  std::int64_t accumulate = 1;    // parts of the batch whose gradients are summed
  bool dropout = false;
  AxisMapping storage = {};  // placement of parameters and optimizer state
  CompileOptions compile = {};
};

namespace training {
/// f32 scalars.
struct Report {
  Array loss, gradient_norm, learning_rate;
};
/// Parameters from one half of the key, the optimizer's first state, step 0.
template <class Params, class Example>
TrainState<Params> first_state(const Task<Params, Example>& task, const StepOptions& options, const Array& key) {
  auto keys = random::split<2>(key);
  auto params = task.init(keys[0]);
  return {params, options.optimizer.init(params), full_of({{}, i32}, 0), keys[1]};
}
/// t with every leaf placed like the same leaf of `like`.
template <class T> T placed_like(const T& t, const T& like) {
  return tree::map([](const Array& x, const Array& l) { return reshard_like(x, l); }, t, like);
}
/// The example with its axis batch cut into `parts`: [batch / parts, accumulate, ...]. Every rank keeps its rows.
template <class Example> Example in_parts(Example e, std::int64_t parts) {
  for (auto& slot : tree::slots(tree::node(e))) {
    auto x = slot.leaf.template as<NamedArray>();
    if (!x || !slot.leaf.defined()) continue;
    *x = unflatten_axis(*x, "batch", {Axis{"batch", x->axis("batch").size / parts}, Axis{"accumulate", parts}});
  }
  return e;
}
/// One update: {next state, report}. The gradient of a sum of losses is divided by the sum of all weights of the batch,
/// so parts of a batch add up exactly.
template <class Params, class Example>
std::pair<TrainState<Params>, Report> step(const Task<Params, Example>& task, const StepOptions& options,
                                           const TrainState<Params>& s, const Example& example) {
  using Sum = std::pair<NamedArray, Params>;  // loss and its gradient
  auto weights = sum(task.weights(example));
  auto tokens = where(weights == 0.0, 1.0, weights);  // nothing to learn is no loss
  auto key = random::fold_in(s.key, s.step);
  auto gradient = [&](const Example& e, const Array& part) -> Sum {
    std::optional<Array> mine = none;
    if (options.dropout) mine = random::fold_in(key, part);
    auto [loss, g] = value_and_grad([&](const Params& p) { return task.loss(p, e, mine) / tokens; })(s.params);
    return {loss, g};
  };
  auto whole = [&]() -> Sum {
    if (options.accumulate == 1) return gradient(example, full_of({{}, i32}, 0));
    Axis parts{"accumulate", options.accumulate};
    auto body = [&](const Sum& total, const std::pair<Example, NamedArray>& part) {
      auto one = gradient(part.first, part.second.array());
      return std::pair{
          Sum{total.first + one.first,
              tree::map([](const Array& x, const Array& y) { return accumulate(x, y); }, total.second, one.second)},
          none};
    };
    Sum zero{NamedArray(full_of({{}, f32}, 0), {}),
             tree::map([](const Array& p) { return reshard_like(zeros_like(p), p); }, s.params)};
    return scan(body, parts)(zero, std::pair{in_parts(example, options.accumulate), arange(parts)}).first;
  };
  auto [loss, gradients] = whole();
  gradients = placed_like(gradients, s.params);
  auto [updates, optimizer] = options.optimizer.update(gradients, s.optimizer, s.params);
  TrainState<Params> next{placed_like(optim::apply_updates(s.params, updates), s.params),
                          placed_like(optimizer, s.optimizer), s.step + 1, s.key};
  return {next, {loss.array().astype(f32), optim::global_norm(gradients), options.learning_rate(s.step)}};
}
}  // namespace training
}  // namespace bora
