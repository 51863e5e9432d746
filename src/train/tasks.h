// tasks.h -- the two kinds of Trainable: a model that makes its steps alone, and replicas that make local steps.
#pragma once
#include <utility>
#include "bora/train/task.h"

namespace bora {
/// Gives every leaf memory of its own (equal constants may share theirs), so that all of them can be donated.
void unshare(tree::Node);
namespace training {
using Params = tree::Any;
using EvaluateFn = std::function<Array(const Params&, const Params& base, const GlobalBatch&)>;
using Evaluate = fx::Jitted<EvaluateFn>;
/// A trainable's state with `params`, and the parameters beside it that no checkpoint holds.
template <class State> class Owner : public Trainable {
 public:
  void init(const Array& key) override {
    auto born = init_(key);
    unshare(tree::node(born));
    state_ = std::move(born.state);
    base_ = std::move(born.base);
  }
  tree::Node state() override { return tree::node(state_); }
  void keep_state() override { kept_ = true; }
  tree::Node parameters() override { return tree::node(state_.params); }
  tree::Node base() override { return tree::node(base_); }
  bool holds_reference() const override { return reference_; }
  std::vector<std::string> measured() const override { return measured_; }
  Array evaluate(const GlobalBatch& b) override { return evaluate_(state_.params, base_, b); }
  std::optional<std::pair<ProgramPtr, Arrays>> evaluation_program(const GlobalBatch& b) override {
    if (options_.accumulate == 1) return none;
    return std::pair{program_of(evaluate_, state_.params, base_, b), evaluate_.inputs(state_.params, base_, b)};
  }
  std::vector<std::vector<Axis>> activations() const override { return *seen_; }
  bool trains(const std::string& path) const override {
    return (!options_.keeps || options_.keeps(path)) && (!options_.trains || options_.trains(path));
  }

 protected:
  /// f(the state, in..): the state is given up, unless it is to be kept.
  template <class F, class... In> auto next_of(const F& f, const In&... in) {
    if (std::exchange(kept_, false)) return f(state_, in...);
    return f(std::move(state_), in...);
  }
  struct Born {
    State state;
    Params base;
  };
  using InitFn = std::function<Born(const Array&)>;
  /// storage: where what init makes is born.
  Owner(InitFn init, const StepOptions& options, const AxisMapping& storage, Evaluate evaluate)
      : options_(options), init_(named_jit(std::move(init), {.out = storage})), evaluate_(std::move(evaluate)) {}
  StepOptions options_;
  std::shared_ptr<std::vector<std::vector<Axis>>> seen_ = std::make_shared<std::vector<std::vector<Axis>>>();
  State state_ = {};
  Params base_ = {};
  bool kept_ = false;  // keep_state() was called since the last step
  bool reference_ = false;                   // base_ has the parameters that a run begins with
  std::vector<std::string> measured_ = {};  // names

 private:
  decltype(named_jit(std::declval<InitFn>(), NamedJitOptions{})) init_;
  Evaluate evaluate_;
};
/// The trainable of a task with options.replicas.
std::unique_ptr<Trainable> local_trainable(const TrainTask<Params>&, const StepOptions&);
}  // namespace training
}  // namespace bora
