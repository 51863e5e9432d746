// trainer.h -- a training step over any model, and the run around it. The model gives its first parameters and its
// losses; everything else (gradients, accumulation, optimizer, placement of arrays, checkpoints, evaluation, reports)
// is here and knows no model.
#pragma once
#include <functional>
#include <memory>
#include "bora/data/windows.h"
#include "bora/fx/transforms.h"
#include "bora/io/tree.h"
#include "bora/named/mapping.h"
#include "bora/named/transforms.h"
#include "bora/nn/axes.h"
#include "bora/nn/loss.h"
#include "bora/ops/creation.h"
#include "bora/ops/shape.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "bora/optim/optim.h"
#include "bora/random/random.h"
#include "bora/track/tracker.h"
#include "bora/train/settings.h"

namespace bora {
/// A model to train. B batch, W window = positions + 1, S position.
template <class Params> struct Task {
  std::function<Params(const Array& key)> init;  // in the dtypes of stored parameters
  /// Losses of the tokens of windows i32 {batch, window}: f32 {batch, position}. key: for dropout; none in evaluation.
  std::function<NamedArray(const Params&, const NamedArray& windows, const std::optional<Array>& key)> losses;
};
/// One global batch; each rank gave the rows it read.
struct Batch {
  NamedArray windows;  // u8 {batch, window}
  NamedArray weights;  // f32 {batch}: 1, or 0 for a row that does not count
  Array stop;          // f32 [ranks]: 1 where a rank was asked to stop
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

/// A model in training, without its type.
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual void init(const Array& key) = 0;  // parameters and optimizer state, born in their storage
  virtual tree::Node state() = 0;
  virtual tree::Node parameters() = 0;
  virtual tree::Node optimizer_state() = 0;
  virtual Array step(const Batch&) = 0;      // one update; f32 [4]: loss, gradient norm, learning rate, ranks to stop
  virtual Array evaluate(const Batch&) = 0;  // f32 [2]: sum of losses, number of tokens
  virtual ProgramPtr step_program(const Batch&) = 0;  // of step(), staged
  virtual Arrays step_arguments(const Batch&) = 0;
};

/// Gives every leaf memory of its own (equal constants may share theirs), so that all of them can be donated.
void unshare(tree::Node);
namespace detail {
inline NamedArray scalar(const Array& x) { return NamedArray(x, {}); }
/// t with every leaf placed like the same leaf of `like`.
template <class T> T placed_like(const T& t, const T& like) {
  return tree::map([](const Array& x, const Array& l) { return reshard_like(x, l); }, t, like);
}

template <class Params> class TrainableTask final : public Trainable {
  using State = TrainState<Params>;
  using InitFn = std::function<State(const Array&)>;
  using StepFn = std::function<std::pair<State, Array>(const State&, const Batch&)>;
  using EvaluateFn = std::function<Array(const Params&, const Batch&)>;

 public:
  TrainableTask(Task<Params> task, StepOptions options)
      : init_(named_jit(InitFn([task, options](const Array& key) {
                          auto keys = random::split<2>(key);
                          auto params = task.init(keys[0]);
                          return State{params, options.optimizer.init(params), full_of({{}, i32}, 0), keys[1]};
                        }),
                        {.out = options.storage})),
        step_(jit(StepFn([task, options](const State& s, const Batch& b) { return next(task, options, s, b); }),
                  {.name = "train step", .compile = options.compile})),
        evaluate_(jit(EvaluateFn([task](const Params& p, const Batch& b) {
                        auto losses = task.losses(p, b.windows.astype(i32), none);
                        auto tokens = sum(b.weights) * static_cast<double>(losses.axis(nn::kPosition).size);
                        return stack({sum(losses * b.weights).array(), tokens.array()});
                      }),
                      {.name = "evaluation"})) {}
  void init(const Array& key) override {
    state_ = init_(key);
    unshare(tree::node(state_));
  }
  tree::Node state() override { return tree::node(state_); }
  tree::Node parameters() override { return tree::node(state_.params); }
  tree::Node optimizer_state() override { return tree::node(state_.optimizer); }
  Array step(const Batch& b) override {
    auto [state, report] = step_(std::move(state_), b);
    state_ = std::move(state);
    return report;
  }
  Array evaluate(const Batch& b) override { return evaluate_(state_.params, b); }
  ProgramPtr step_program(const Batch& b) override { return program_of(step_, state_, b); }
  Arrays step_arguments(const Batch& b) override { return fx::pack(state_, b); }

 private:
  using Sum = std::pair<NamedArray, Params>;  // loss and its gradient
  static std::pair<State, Array> next(const Task<Params>& task, const StepOptions& options, const State& s,
                                      const Batch& b) {
    auto rows = b.windows.axis(nn::kBatch).size;
    auto tokens = sum(b.weights) * static_cast<double>(b.windows.axis(nn::kWindow).size - 1);
    auto key = random::fold_in(s.key, s.step);
    // The gradient of a sum of losses, divided by the number of all tokens of the batch: parts of the batch add up
    // exactly.
    auto gradient = [&](const NamedArray& windows, const NamedArray& weights, const Array& part) -> Sum {
      std::optional<Array> mine = none;
      if (options.dropout) mine = random::fold_in(key, part);
      auto [loss, g] = value_and_grad(
          [&](const Params& p) { return sum(task.losses(p, windows.astype(i32), mine) * weights) / tokens; })(s.params);
      return {loss, g};
    };
    auto whole = [&]() -> Sum {
      if (options.accumulate == 1) return gradient(b.windows, b.weights, full_of({{}, i32}, 0));
      Axis parts{"accumulate", options.accumulate}, few{nn::kBatch, rows / options.accumulate};
      // every rank keeps its rows
      auto cut = [&](const NamedArray& x) { return unflatten_axis(x, nn::kBatch, {few, parts}); };
      auto body = [&](const Sum& total, const std::tuple<NamedArray, NamedArray, NamedArray>& part) {
        auto [windows, weights, index] = part;
        auto one = gradient(windows, weights, index.array());
        return std::pair{
            Sum{total.first + one.first,
                tree::map([](const Array& x, const Array& y) { return accumulate(x, y); }, total.second, one.second)},
            none};
      };
      Sum zero{scalar(full_of({{}, f32}, 0)),
               tree::map([](const Array& p) { return reshard_like(zeros_like(p), p); }, s.params)};
      return scan(body, parts)(zero, std::tuple{cut(b.windows), cut(b.weights), arange(parts)}).first;
    };
    auto [loss, gradients] = whole();
    gradients = placed_like(gradients, s.params);
    auto [updates, optimizer] = options.optimizer.update(gradients, s.optimizer, s.params);
    State n{placed_like(optim::apply_updates(s.params, updates), s.params), placed_like(optimizer, s.optimizer),
            s.step + 1, s.key};
    return {n, stack({loss.array().astype(f32), optim::global_norm(gradients), options.learning_rate(s.step),
                      sum(b.stop)})};
  }
  decltype(named_jit(std::declval<InitFn>(), NamedJit{})) init_;
  decltype(jit(std::declval<StepFn>(), Jit{})) step_;
  decltype(jit(std::declval<EvaluateFn>(), Jit{})) evaluate_;
  State state_ = {};
};
}  // namespace detail
template <class Params> std::unique_ptr<Trainable> trainable(Task<Params> task, StepOptions options) {
  return std::make_unique<detail::TrainableTask<Params>>(std::move(task), std::move(options));
}

/// Given to hooks after each step.
struct StepReport {
  std::int64_t step = 0;  // updates made
  double loss = 0, gradient_norm = 0, learning_rate = 0, seconds = 0, tokens_per_second = 0;
};
/// The checkpoint that a run continues in a folder that has some. latest: the newest; if it is damaged, an error names
/// an older whole one. good: the newest whole one. none: no checkpoint; existing files get other names.
enum class Resume : std::uint8_t { latest, good, none };
struct RunOptions {
  std::vector<std::function<void(const StepReport&)>> hooks = {};
  Resume resume = Resume::latest;
  std::vector<config::Choice<track::TrackerKind>> trackers = {track::TrackerKind::initial};
  double quiet_s = 60;  // seconds at one place before a line on stderr names it
};
/// Rank 0 prints and writes the run's files; every rank calls it, inside UseMesh and UseMapping(compute mapping).
/// Continues a checkpoint in OUT/checkpoints. Throws IoError, with the state saved in another folder, if the run's own
/// is moved or removed meanwhile. Returns 0, or 130 if it stopped because a rank was asked to. Throws the errors of
/// settings, text and checkpoint, and ValueError if the loss is not finite.
int run_training(Trainable&, const Settings&, const Mesh&, const RunOptions& = {});
/// Mean loss per token over held-out text (all ranks).
double evaluate(Trainable&, const Settings&, const Mesh&);

/// The optimizer that the settings describe, and its learning rate.
std::pair<optim::Transform, optim::Schedule> make_optimizer(const Settings&);
/// Rules of a layout for the models' axis names: batch, embed, heads, mlp, vocab. Mesh axes of one rank split nothing.
struct LayoutMappings {
  AxisMapping storage, compute;
};
LayoutMappings layout_mappings(const Layout&, const MeshShape&);

io::Place place_of(const Mesh&);
/// Digest of the parameters (all ranks).
std::string parameter_digest(tree::Node parameters, const Mesh&);
/// A step's needs, as text: bytes of each rank by kind, rows, collectives, and the predicted peak of memory. All ranks.
std::string plan_text(Trainable&, const Batch&, const Settings&, const Mesh&, std::int64_t bytes_at_start);
/// This rank's rows of a batch as part of the global one.
Batch make_batch(const data::Rows&, const Settings&, const Mesh&, bool stop = false);
/// Rows of a global batch that this rank reads: those of its place along the mesh axis data.
BlockRange rows_of_rank(const Settings&, const Mesh&);
}  // namespace bora
