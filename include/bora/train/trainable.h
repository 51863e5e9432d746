// trainable.h -- a model in training, without its type: state, staged steps and evaluations.
#pragma once
#include <memory>
#include "bora/io/tree.h"
#include "bora/named/mapping.h"
#include "bora/train/step.h"

namespace bora {
/// One global batch; each rank gave the rows it read.
struct Batch {
  training::Example example;
  /// f32 [ranks, notes]: 1 where a rank was asked to stop; then positions of its rows that are no padding, in all and
  /// by source, told by one rank of those that read the same rows.
  Array notes;
};
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual void init(const Array& key) = 0;  // parameters and optimizer state, born in their storage
  virtual tree::Node state() = 0;
  virtual tree::Node parameters() = 0;  // those in the state
  virtual tree::Node base() = 0;        // the others, which no checkpoint holds: of a model that adapters stand beside
  virtual tree::Node optimizer_state() = 0;
  virtual Array step(const Batch&) = 0;      // one update; f32: loss, gradient norm, learning rate, sums of notes
  virtual Array evaluate(const Batch&) = 0;  // f32 [2]: sum of losses, number of tokens
  virtual ProgramPtr step_program(const Batch&) = 0;  // of step(), staged
  virtual Arrays step_arguments(const Batch&) = 0;
  /// The axes of the arrays that step() lays out by the current mapping, parameters too; known once it is staged.
  virtual std::vector<std::vector<Axis>> activations() const { return {}; }
};

/// Gives every leaf memory of its own (equal constants may share theirs), so that all of them can be donated.
void unshare(tree::Node);
namespace detail {
template <class Params> class TrainableTask final : public Trainable {
  using State = TrainState<Params>;
  struct Born {
    State state;
    Params base;
  };
  using InitFn = std::function<Born(const Array&)>;
  using StepFn = std::function<std::pair<State, Array>(const State&, const Params& base, const Batch&)>;
  using EvaluateFn = std::function<Array(const Params&, const Params& base, const Batch&)>;

 public:
  TrainableTask(Task<Params> task, StepOptions options)
      : init_(named_jit(InitFn([task, options](const Array& key) {
                          auto s = training::first_state(task, options, key);
                          auto kept = [&](const std::string& path) { return !options.keeps || options.keeps(path); };
                          auto base = training::part_of(s.params, [&](auto& path) { return !kept(path); });
                          s.params = training::part_of(s.params, kept);
                          return Born{s, base};
                        }),
                        {.out = options.storage})),
        step_(jit(StepFn([task, options, seen = seen_](const State& s, const Params& base, const Batch& b) {
                    RecordSharded record(*seen);
                    auto [next, r] = training::step(task, options, s, base, b.example);
                    return std::pair{next,
                                     concatenate({stack({r.loss, r.gradient_norm, r.learning_rate}), sum(b.notes, 0)})};
                  }),
                  {.name = "train step", .compile = options.compile})),
        evaluate_(jit(EvaluateFn([task](const Params& params, const Params& base, const Batch& b) {
                        auto p = training::joined(params, base);
                        if (task.evaluation) {
                          auto [loss, weights] = task.evaluation(p, b.example);
                          return stack({loss.array(), weights.array()});
                        }
                        auto loss = task.loss(p, b.example, none);
                        return stack({loss.array(), sum(task.weights(b.example)).array()});
                      }),
                      {.name = "evaluation"})) {}
  void init(const Array& key) override {
    auto born = init_(key);
    unshare(tree::node(born));
    state_ = std::move(born.state);
    base_ = std::move(born.base);
  }
  tree::Node state() override { return tree::node(state_); }
  tree::Node parameters() override { return tree::node(state_.params); }
  tree::Node base() override { return tree::node(base_); }
  tree::Node optimizer_state() override { return tree::node(state_.optimizer); }
  Array step(const Batch& b) override {
    auto [state, report] = step_(std::move(state_), base_, b);
    state_ = std::move(state);
    return report;
  }
  Array evaluate(const Batch& b) override { return evaluate_(state_.params, base_, b); }
  ProgramPtr step_program(const Batch& b) override { return program_of(step_, state_, base_, b); }
  Arrays step_arguments(const Batch& b) override { return step_.inputs(state_, base_, b); }
  std::vector<std::vector<Axis>> activations() const override { return *seen_; }

 private:
  std::shared_ptr<std::vector<std::vector<Axis>>> seen_ = std::make_shared<std::vector<std::vector<Axis>>>();
  decltype(named_jit(std::declval<InitFn>(), NamedJitOptions{})) init_;
  decltype(jit(std::declval<StepFn>(), JitOptions{})) step_;
  decltype(jit(std::declval<EvaluateFn>(), JitOptions{})) evaluate_;
  State state_ = {};
  Params base_ = {};
};
}  // namespace detail
template <class Params> std::unique_ptr<Trainable> trainable(Task<Params> task, StepOptions options) {
  return std::make_unique<detail::TrainableTask<Params>>(std::move(task), std::move(options));
}
}  // namespace bora
