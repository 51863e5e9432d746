// step.h -- one update of any model: gradients of weighted losses, summed over parts of the batch, and the optimizer. A
// pure function of its arguments: the trainer stages it, and so can every program.
#pragma once
#include <functional>
#include "bora/fx/checkpoint.h"
#include "bora/fx/control.h"
#include "bora/fx/grad.h"
#include "bora/fx/jit.h"
#include "bora/named/functions.h"
#include "bora/named/index.h"
#include "bora/named/mapping.h"
#include "bora/named/transforms.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "bora/optim/optimizers.h"
#include "bora/random/random.h"
#include "bora/train/compression.h"
#include "bora/train/example.h"
#include "bora/train/local.h"
#include "bora/train/reproducible.h"
#include "bora/optim/transform.h"
#include "bora/optim/updates.h"

namespace bora {
/// A model to train on examples: any tree of named arrays with the axis batch.
template <class Params, class Example = training::Example> struct TrainTask {
  std::function<Params(const Array& key)> init;  // in the dtypes of stored parameters
  /// The sum of weight * loss over the targets, an f32 scalar. key: for dropout; none in evaluation.
  std::function<NamedArray(const Params&, const Example&, const std::optional<Array>& key)> loss;
  /// The weights of the targets: the loss of a batch is divided by their sum.
  std::function<NamedArray(const Example&)> weights = [](const Example& e) { return e.weights; };
  /// {the sum of losses, the sum that divides it} of held-out rows, if it differs from training's.
  std::function<std::pair<NamedArray, NamedArray>(const Params&, const Example&)> evaluation = {};
  /// Of classes or numbers: f32 [3, batch, position], what is predicted of held-out rows, what stands there, and its
  /// weight.
  std::function<Array(const Params&, const Example&)> predictions = {};
  /// In place of `loss`, one that measures beside other parameters: those that a run begins with, which stay as they
  /// are, and which no checkpoint holds.
  std::function<NamedArray(const Params&, const Params& beside, const Example&, const std::optional<Array>& key)>
      loss_beside = {};
  /// Numbers of an evaluation beside its loss, by name, each a mean over what divides the loss.
  std::vector<std::string> measured = {};
  /// Whether the loss is linear in the weights of each row, so that its derivative by them is the row's loss.
  bool by_row = false;
  /// {the sum of losses, the sum that divides all, the sums of the numbers} of held-out rows, where there are some.
  std::function<std::vector<NamedArray>(const Params&, const Params& beside, const Example&)> measures = {};
};
template <class Params> struct TrainState {  // a model in training
  Params params;
  optim::State optimizer;
  Array step;  // i32: updates made
  Array key;   // step s draws from fold_in(key, s)
  optim::State carried = {};  // what sums of gradients carry over (compression.h)
};
struct StepOptions {              // of step
  optim::Transform optimizer;     // of the parameters that are trained
  optim::Schedule learning_rate;  // as the optimizer uses it: for the reports
  std::int64_t accumulate = 1;    // parts of the batch whose gradients are summed
  bool dropout = false;           // the loss gets a key
  Wire wire = {};  // of the sums of gradients over the mesh axes that split the batch; norms, losses, counts are exact
  training::Compression compression = {};  // error feedback, or PowerSGD; synchronous steps without virtual ranks only
  AxisMapping storage = {};                // placement of parameters and optimizer state
  CompileOptions compile = {};             // how the step is compiled
  /// Whether a parameter is trained, by its path: others have no gradient, no state of the optimizer and no update.
  /// Default: all are.
  std::function<bool(const std::string& path)> trains = {};
  /// Whether a parameter belongs to the state of a Trainable, and so to checkpoints. Others are not trained; a later
  /// run makes them again. Default: all do.
  std::function<bool(const std::string& path)> keeps = {};
  /// Replicas that train by themselves and meet after some steps; 0: the step is synchronous. Their storage and choice
  /// of parameters are those of this step.
  std::int64_t replicas = 0;
  local::Options local = {};  // how the replicas meet
  /// Sums over the batch run over so many virtual ranks (reproducible.h), a power of two; 0: over the ranks there are.
  std::int64_t virtual_ranks = 0;
  bool leaf_norms = false;  // the report has those of each trained leaf
};

namespace training {
/// Throws ValueError if what is carried over has no place in such steps.
void check_carries(const StepOptions&);
/// The numbers of an update, f32 scalars.
struct Report {
  Array loss, gradient_norm, learning_rate;
  /// With StepOptions::leaf_norms: [2 leaves], of the gradients, then of the parameters before the step.
  Array leaf_norms = {};
  /// Of examples of several sources: [2 sources], sums of their losses, then of their weights.
  Array by_source = {};
};
/// t with empty leaves where `has` is not true of their paths.
template <class T> T part_of(T t, const std::function<bool(const std::string& path)>& has) {
  return tree::filter(std::move(t), [&](const std::string& path, const Array&) { return has(path); });
}
/// The parameters that are trained, the others' leaves empty.
template <class Params> Params trained(const Params& params, const StepOptions& options) {
  return options.trains ? part_of(params, options.trains) : params;
}
/// t with the leaves of `others` in place of its empty ones.
template <class T> T joined(T t, const T& others) {
  auto to = tree::slots(tree::node(t)), from = tree::slots(tree::node(others));
  for (std::size_t i = 0; i < to.size(); ++i)
    if (!to[i].leaf.defined()) to[i].leaf.set(from[i].leaf.get());
  return t;
}
/// The task's loss of parameters; base: those that p lacks, or those beside it.
template <class Params, class Example>
NamedArray loss_of(const TrainTask<Params, Example>& task, const Params& p, const Params& base, const Example& e,
                   const std::optional<Array>& key) {
  return task.loss_beside ? task.loss_beside(p, base, e, key) : task.loss(joined(p, base), e, key);
}
/// The half of a run's key from which its parameters are made.
inline Array parameter_key(const Array& key) { return random::split<2>(key)[0]; }
/// Parameters from parameter_key, the optimizer's first state, step 0.
template <class Params, class Example>
TrainState<Params> first_state(const TrainTask<Params, Example>& task, const StepOptions& options, const Array& key) {
  auto keys = random::split<2>(key);
  auto params = task.init(keys[0]);
  auto mine = trained(params, options);
  check_carries(options);
  auto carried = first_carried(options.wire, options.compression, tree::node(mine), keys[1]);
  return {params, options.optimizer.init(mine), full_of({{}, i32}, 0), keys[1], carried};
}
/// t with every leaf placed like the same leaf of `like`.
template <class T> T placed_like(const T& t, const T& like) {
  return tree::map([](const Array& x, const Array& l) { return reshard_like(x, l); }, t, like);
}
/// sum(f(example)), over virtual ranks if there are any.
template <class Example, class F> NamedArray sum_of(const F& f, const Example& example, std::int64_t virtual_ranks) {
  if (virtual_ranks == 0) return sum(f(example));
  auto zero = NamedArray(full_of({{}, f32}, 0), {});
  return virtual_sum(virtual_ranks, example, zero, [&](const Example& e, const Array&) { return sum(f(e)); });
}
/// The example with f of every array that it has in its place.
template <class Example, class F> Example each_array(Example e, const F& f) {
  for (auto& slot : tree::slots(tree::node(e)))
    if (auto x = slot.leaf.template as<NamedArray>(); x && slot.leaf.defined()) *x = f(*x);
  return e;
}
/// The example with its axis batch cut into `parts`: [batch / parts, accumulate, ...]. Every rank keeps its rows.
template <class Example> Example in_parts(const Example& e, std::int64_t parts) {
  return each_array(e, [&](const NamedArray& x) {
    return unflatten_axis(x, "batch", {Axis{"batch", x.axis("batch").size / parts}, Axis{"accumulate", parts}});
  });
}
// The first n of such parts, and part i alone.
template <class Example> Example first_parts(const Example& e, std::int64_t n) {
  return each_array(e, [&](const NamedArray& x) { return slice(x, {{"accumulate", 0, n}}); });
}
template <class Example> Example part_of_batch(const Example& e, std::int64_t i) {
  return each_array(e, [&](const NamedArray& x) { return take(x, "accumulate", i); });
}
/// The axis of the example's sources, if reports have the loss of each.
template <class Params, class Example>
std::optional<Axis> sources_of(const TrainTask<Params, Example>& task, const Example& e) {
  if constexpr (requires { e.sources->axes(); })
    if (task.by_row && e.sources) return e.sources->axis("source");
  return none;
}
/// The example with the weights of its rows times these, [batch].
template <class Example> Example with_row_weights(Example e, const NamedArray& times) {
  e.weights = e.weights * times;
  return e;
}
/// The loss of an example and its gradient, behind the loss those of its sources: the derivatives by weights of rows,
/// summed. loss: of parameters and an example, a mean.
template <class Params, class Example, class F>
std::pair<NamedArray, Params> by_source(const TrainTask<Params, Example>&, const Axis& source, const Example& e,
                                        const Params& mine, const std::optional<Array>& scale, const F& loss) {
  using Both = std::pair<Params, NamedArray>;
  if constexpr (requires { e.sources->axes(); }) {
    auto [scaled, whole, g] = value_and_grad([&](const Both& at) {
      auto mean = loss(at.first, with_row_weights(e, at.second));
      return std::pair{scale ? mean * NamedArray(*scale, {}) : mean, mean};  // the first may overflow
    })(Both{mine, ones({e.sources->axis("batch")})});
    auto rows = scale ? g.second / NamedArray(*scale, {}) : g.second;
    auto losses = dot(rows.astype(f32), *e.sources, "batch");
    auto all = concatenate(Axis{"number", 1 + source.size},
                           {broadcast_to(whole, {Axis{"number", 1}}), rename(losses, {{"source", "number"}})});
    return {all, g.first};
  } else {
    return {};
  }
}
/// An estimate of the diagonal of the Hessian of f at p, like p: z * (H z) with z of -1 and 1 drawn from the key
/// (Hutchinson 1990). Exact where the Hessian is diagonal.
template <class P, class F> P hessian_diagonal(const F& f, const P& p, const Array& key) {
  std::uint32_t leaf = 0;
  auto z = tree::map(
      [&](const Array& x) {
        return reshard_like(random::rademacher(random::fold_in(key, leaf++), x.shape(), x.dtype()), x);
      },
      p);
  // Reverse twice: a loss in blocks (nn/loss.h) has no forward derivative.
  auto along = [&](const P& at) {
    auto total = constant(0.0, f32);
    auto gradients = tree::leaves(grad(f)(at)), directions = tree::leaves(z);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      total = total + sum((gradients[i] * directions[i]).astype(f32));
    return total;
  };
  return tree::map([](const Array& hz, const Array& z, const Array& x) { return complete_like(hz * z, x); },
                   grad(along)(p), z, p);
}
/// The optimizer's state with an estimate of the Hessian's diagonal, if it wants one for its next update (Sophia): of
/// the mean loss, without dropout, over the first of the parts that the batch is cut into.
template <class Params, class Example>
optim::State with_hessian(const TrainTask<Params, Example>& task, const StepOptions& options,
                          const TrainState<Params>& s, const Params& mine, const Params& base, const Example& example) {
  auto due = optim::wants_hessian(s.optimizer);
  if (!due) return s.optimizer;
  check<ValueError>(options.virtual_ranks == 0, "sophia: estimates of the Hessian are sums over the ranks there are, "
                    "not over virtual ones");
  auto part = options.accumulate == 1 ? example : part_of_batch(in_parts(example, options.accumulate), 0);
  auto weights = sum(task.weights(part));
  auto tokens = where(weights == 0.0, 1.0, weights);
  auto mean = [&](const Params& p) { return loss_of(task, joined(p, s.params), base, part, none) / tokens; };
  auto key = random::fold_in(random::fold_in(s.key, s.step), 0x68657373);  // "hess"
  auto estimate = [&](const Params& p) { return hessian_diagonal(mean, p, key); };
  auto nothing = [](const Params& p) {
    return tree::map([](const Array& x) { return reshard_like(zeros_like(x), x); }, p);
  };
  return optim::with_hessian(s.optimizer, tree::paths(mine), tree::leaves(cond(*due, estimate, nothing, mine)));
}
/// One update: {next state, report}. The gradient of a sum of losses is divided by the sum of all weights of the batch,
/// so parts of a batch add up exactly; gradients of bf16 parameters are summed in f32. The optimizer gets gradients of
/// the loss times its loss scale, if it has one; the report is of the loss. base: the leaves that s.params lacks, which
/// are not trained.
template <class Params, class Example>
std::pair<TrainState<Params>, Report> step(const TrainTask<Params, Example>& task, const StepOptions& options,
                                           const TrainState<Params>& s, const Params& base, const Example& example) {
  using Sum = std::pair<NamedArray, Params>;  // loss (behind it, where there are several sources, theirs); its gradient
  auto sources = sources_of(task, example);
  auto weights = sum_of(task.weights, example, options.virtual_ranks);
  auto tokens = where(weights == 0.0, 1.0, weights);  // nothing to learn is no loss
  auto key = random::fold_in(s.key, s.step);
  auto mine = trained(s.params, options);
  auto scale = optim::loss_scale_of(s.optimizer);
  auto gradient = [&](const Example& e, const Array& part) -> Sum {
    std::optional<Array> noise = none;
    if (options.dropout) noise = random::fold_in(key, part);
    auto mean = [&](const Params& p) { return loss_of(task, joined(p, s.params), base, e, noise) / tokens; };
    if (sources) return by_source(task, *sources, e, mine, scale, [&](const Params& p, const Example& rows) {
        return loss_of(task, joined(p, s.params), base, rows, noise) / tokens;
      });
    if (!scale) {
      auto [loss, g] = value_and_grad(mean)(mine);
      return {loss, g};
    }
    auto [scaled, loss, g] = value_and_grad([&](const Params& p) {
      auto loss = mean(p);
      return std::pair{loss * NamedArray(*scale, {}), loss};  // the first may overflow
    })(mine);
    return {loss, g};
  };
  auto zero = [&] {
    auto numbers = sources ? zeros({Axis{"number", 1 + sources->size}}) : NamedArray(full_of({{}, f32}, 0), {});
    return Sum{numbers,
               tree::map([](const Array& p) { return reshard_like(zeros_like(in_accumulator(p)), p); }, mine)};
  };
  auto whole = [&]() -> Sum {
    if (options.virtual_ranks > 0)
      return virtual_sum(options.virtual_ranks, example, zero(), [&](const Example& e, const Array& part) {
        auto one = gradient(e, part);
        return Sum{one.first, tree::map([](const Array& x) { return in_accumulator(x); }, one.second)};
      });
    if (options.accumulate == 1) return gradient(example, full_of({{}, i32}, 0));
    auto add = [](const Sum& total, const Sum& one) {
      return Sum{total.first + one.first,
                 tree::map([](const Array& sum, const Array& y) { return accumulate(sum, in_accumulator(y)); },
                           total.second, one.second)};
    };
    auto body = [&](const Sum& total, const std::pair<Example, NamedArray>& part) {
      return std::pair{add(total, gradient(part.first, part.second.array())), none};
    };
    auto all = in_parts(example, options.accumulate);
    auto sum_over = [&](std::int64_t parts) {
      Axis axis{"accumulate", parts};
      return scan(body, axis)(zero(), std::pair{first_parts(all, parts), arange(axis)}).first;
    };
    if (gradient_axes().empty()) return sum_over(options.accumulate);
    // The last part stands alone, so that the ranks' sums of gradients begin while it goes backward.
    auto last = options.accumulate - 1;
    auto others = sum_over(last);  // first: the order of the Program
    return add(others, gradient(part_of_batch(all, last), full_of({{}, i32}, last)));
  };
  auto carried = s.carried;
  auto [loss, gradients] = [&] {
    if (options.compression.on()) {
      auto sums = whole();
      carried = sum_carried(tree::node(sums.second), tree::node(mine), s.carried, options.wire, options.compression,
                            scale);
      return sums;
    }
    GradientWire wire(options.wire, gradient_axes());
    UseMapping scope(current_mapping().with_gradients(wire));
    auto [loss, gradients] = whole();
    // Completed here: the optimizer and the report's norm would each send them.
    return Sum{loss, tree::map([&](const Array& g, const Array& p) { return complete_gradient_like(g, p, wire); },
                               gradients, mine)};
  }();
  Array losses;  // of the sources
  if (sources) {
    losses = slice(loss, {{"number", 1, sources->size}}).array() * tokens.array();
    loss = take(loss, "number", 0);
  }
  auto [updates, optimizer] = options.optimizer.update(
      gradients, with_hessian(task, options, s, mine, base, example), mine);
  TrainState<Params> next{joined(placed_like(optim::apply_updates(mine, updates), mine), s.params),
                          placed_like(optimizer, s.optimizer), s.step + 1, s.key,
                          placed_like(carried, s.carried)};
  if (scale)
    gradients = tree::map([inverse = 1 / *scale](const Array& g) { return g * inverse.astype(g.dtype()); }, gradients);
  Report report{loss.array().astype(f32), optim::global_norm(gradients), options.learning_rate(s.step)};
  auto leaves = options.leaf_norms ? tree::leaves(gradients) : Arrays();
  for (auto& x : leaves.empty() ? Arrays() : tree::leaves(mine)) leaves.push_back(x);
  if (!leaves.empty()) report.leaf_norms = optim::norms_of(leaves);
  if constexpr (requires { example.sources->axes(); })
    if (sources) {
      auto weights = dot(sum(example.weights, "position"), *example.sources, "batch");
      report.by_source = concatenate({losses, weights.array()});
    }
  return {next, report};
}
template <class Params, class Example>
std::pair<TrainState<Params>, Report> step(const TrainTask<Params, Example>& task, const StepOptions& options,
                                           const TrainState<Params>& s, const Example& example) {
  return step(task, options, s, s.params, example);
}
}  // namespace training
}  // namespace bora
