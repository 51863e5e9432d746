// trainable.h -- a model in training, without its type: state, staged steps and evaluations.
#pragma once
#include <map>
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
  /// Of the meeting of replicas whose result the last step() found: "round", "outer_gradient_norm" and, if parameters
  /// meet in fragments, "fragment"; empty if there was none.
  virtual std::vector<std::pair<std::string, double>> meeting() const { return {}; }
};

namespace training {
/// The options of the step's local part, with its storage and its choice of parameters.
local::Options local_options(const StepOptions&);
/// The rules of storage for a state of replicas.
AxisMapping with_replicas(const AxisMapping& storage);
/// A key for each replica; that of a single one is the run's own.
Array key_of_each(const Array& key, const Axis& replica);
/// The rows of each replica: [replica, batch, ..], replica m those from m * batch / replicas on. Every rank keeps its
/// rows.
Example of_each(Example, const Axis& replica);
}  // namespace training
/// Gives every leaf memory of its own (equal constants may share theirs), so that all of them can be donated.
void unshare(tree::Node);
namespace detail {
template <class Params> using EvaluateFn = std::function<Array(const Params&, const Params& base, const Batch&)>;
template <class Params> auto jit_evaluation(const Task<Params>& task, std::int64_t virtual_ranks = 0) {
  using Sums = std::pair<NamedArray, NamedArray>;
  return jit(EvaluateFn<Params>([task, virtual_ranks](const Params& params, const Params& base, const Batch& b) {
               auto p = training::joined(params, base);
               auto sums_of = [&](const training::Example& e) -> Sums {
                 if (task.evaluation) return task.evaluation(p, e);
                 return {task.loss(p, e, none), sum(task.weights(e))};
               };
               auto zero = NamedArray(full_of({{}, f32}, 0), {});
               auto [loss, weights] =
                   virtual_ranks == 0
                       ? sums_of(b.example)
                       : training::virtual_sum(virtual_ranks, b.example, Sums{zero, zero},
                                               [&](const training::Example& e, const Array&) { return sums_of(e); });
               return stack({loss.array(), weights.array()});
             }),
             {.name = "evaluation"});
}
/// Of a model that replicas make: each evaluates its share of the rows, and their sums are added in their order.
template <class Params> auto jit_evaluation_of_each(const Task<Params>& task, const Axis& replica) {
  return jit(EvaluateFn<Params>([task, replica](const Params& params, const Params& base, const Batch& b) {
               auto p = training::joined(params, base);
               auto sums_of = [&](const training::Example& e) {
                 if (task.evaluation) {
                   auto [loss, weights] = task.evaluation(p, e);
                   return stack({loss.array(), weights.array()});
                 }
                 auto loss = task.loss(p, e, none);
                 return stack({loss.array(), sum(task.weights(e)).array()});
               };
               auto sums = local::each(sums_of, replica)(training::of_each(b.example, replica));
               return local::detail::sum_in_order(with_sharding_constraint(sums, Spec::replicated(2)));
             }),
             {.name = "evaluation"});
}
template <class Params> class TrainableTask final : public Trainable {
  using State = TrainState<Params>;
  struct Born {
    State state;
    Params base;
  };
  using InitFn = std::function<Born(const Array&)>;
  using StepFn = std::function<std::pair<State, Array>(const State&, const Params& base, const Batch&)>;

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
        evaluate_(jit_evaluation(task, options.virtual_ranks)) {}
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
  decltype(jit_evaluation(std::declval<Task<Params>>())) evaluate_;
  State state_ = {};
  Params base_ = {};
};
/// Replicas of a TrainState that make local steps.
template <class Params> class LocalTask final : public Trainable {
  using One = TrainState<Params>;
  using State = local::State<One>;
  using Fragment = std::optional<std::int64_t>;
  struct Born {
    State state;
    Params base;
  };
  struct Made {
    State state;
    Array report, norm;  // the latter: of what a meeting found, if one began with this step
  };
  using Inner = std::function<Made(const State&, const Params& base, const Batch&)>;
  using Meet = std::function<std::pair<State, Array>(const State&)>;
  static auto jit_of(Inner f, const StepOptions& o) {
    return jit(std::move(f), {.name = "train step", .compile = o.compile});
  }
  static auto jit_of(Meet f, const StepOptions& o) {
    return jit(std::move(f), {.name = "meeting of replicas", .compile = o.compile});
  }

 public:
  LocalTask(const Task<Params>& task, const StepOptions& given)
      : options_(training::local_options(given)), replica_{std::string(local::kReplica), given.replicas}, task_(task),
        given_(given),
        init_(named_jit(std::function<Born(const Array&)>([task, o = given, how = options_, replica = replica_](
                            const Array& key) {
                          auto first = training::first_state(task, o, key);
                          auto kept = [&](const std::string& path) { return !o.keeps || o.keeps(path); };
                          auto base = training::part_of(first.params, [&](auto& path) { return !kept(path); });
                          auto make = [&](const Params& p) {
                            return One{p, o.optimizer.init(training::trained(p, o)), first.step, first.key};
                          };
                          auto s = local::Steps(make, replica, how).begin(training::part_of(first.params, kept), make);
                          s.replicas.key = training::key_of_each(first.key, replica);
                          return Born{s, base};
                        }),
                        {.out = training::with_replicas(given.storage)})),
        evaluate_(jit_evaluation_of_each(task, replica_)) {}
  void init(const Array& key) override {
    auto born = init_(key);
    unshare(tree::node(born));
    state_ = std::move(born.state);
    base_ = std::move(born.base);
  }
  tree::Node state() override { return tree::node(state_); }
  tree::Node parameters() override { return tree::node(state_.params); }
  tree::Node base() override { return tree::node(base_); }
  tree::Node optimizer_state() override { return tree::node(state_.replicas); }
  Array step(const Batch& b) override {
    auto fragments = static_cast<std::int64_t>(state_.outer.size());
    bool delayed = options_.delay > 0;
    auto n = state_.step.template item<std::int32_t>() + std::int64_t{1};  // of this step
    met_.clear();
    auto begins = delayed ? options_.begins(n - 1, fragments) : std::nullopt;
    auto made = stepping(begins)(std::move(state_), base_, b);
    state_ = std::move(made.state);
    if (begins) note(n - 1, begins, made.norm);
    auto due = options_.lands(n, fragments);
    if (due) meet(due, {}, n);
    if (n == options_.last) meet({}, options_.pending(n, fragments), n);
    return made.report;
  }
  Array evaluate(const Batch& b) override { return evaluate_(state_.params, base_, b); }
  ProgramPtr step_program(const Batch& b) override { return program_of(stepping({}), state_, base_, b); }
  Arrays step_arguments(const Batch& b) override { return stepping({}).inputs(state_, base_, b); }
  std::vector<std::vector<Axis>> activations() const override { return *seen_; }
  std::vector<std::pair<std::string, double>> meeting() const override { return met_; }

 private:
  using JitInner = decltype(jit_of(std::declval<Inner>(), std::declval<const StepOptions&>()));
  using JitMeet = decltype(jit_of(std::declval<Meet>(), std::declval<const StepOptions&>()));
  /// A step of all replicas. begins: the fragment whose numbers travel meanwhile.
  JitInner& stepping(const Fragment& begins) {
    auto& all = inner_;
    auto found = all.find(begins);
    if (found != all.end()) return found->second;
    Inner f = [task = task_, o = given_, how = options_, replica = replica_, seen = seen_, begins](
                  const State& s, const Params& base, const Batch& b) {
      RecordSharded record(*seen);
      auto one = [&](const One& s, const training::Example& e) {
        auto [next, r] = training::step(task, o, s, base, e);
        return std::pair{next, stack({r.loss, r.gradient_norm, r.learning_rate})};
      };
      local::Steps steps(one, replica, how);
      // Before the step, so that it hides the sum.
      auto sent = begins ? steps.send(s, *begins) : std::pair{s.params, s.params};
      auto [next, reports] = steps.inner(s, training::of_each(b.example, replica));
      Array norm;
      if (begins) {
        auto moved = steps.move(next, *begins, sent);
        next = moved.first, norm = moved.second;
      }
      return Made{next, concatenate({local::mean(reports, replica), sum(b.notes, 0)}), norm};
    };
    return all.emplace(begins, jit_of(std::move(f), given_)).first->second;
  }
  /// After step n: a fragment meets or, with a delay, the replicas take its result; without one all meet.
  void meet(const Fragment& fragment, const std::vector<std::int64_t>& pending, std::int64_t n) {
    auto found = meet_.find(fragment);
    if (found == meet_.end()) {
      Meet f = [how = options_, replica = replica_, fragment, pending](const State& s) -> std::pair<State, Array> {
        local::Steps steps(nullptr, replica, how);
        if (!fragment) return steps.meet(s, pending);
        if (how.delay > 0) return {steps.take(s, *fragment, how.mix), Array()};
        return steps.meet(s, *fragment, how.mix);
      };
      found = meet_.emplace(fragment, jit_of(std::move(f), given_)).first;
    }
    auto [met, norm] = found->second(std::move(state_));
    state_ = std::move(met);
    if (norm.defined()) note(n, fragment, norm);
  }
  void note(std::int64_t step, const Fragment& fragment, const Array& norm) {
    met_ = {{"round", static_cast<double>(options_.round(step))},
            {"outer_gradient_norm", norm.template item<float>()}};
    if (fragment && state_.outer.size() > 1) met_.emplace_back("fragment", static_cast<double>(*fragment));
  }
  std::shared_ptr<std::vector<std::vector<Axis>>> seen_ = std::make_shared<std::vector<std::vector<Axis>>>();
  local::Options options_;
  Axis replica_;
  Task<Params> task_;
  StepOptions given_;
  decltype(named_jit(std::declval<std::function<Born(const Array&)>>(), NamedJitOptions{})) init_;
  std::map<Fragment, JitInner> inner_;
  std::map<Fragment, JitMeet> meet_;
  decltype(jit_evaluation(std::declval<Task<Params>>())) evaluate_;
  State state_ = {};
  Params base_ = {};
  std::vector<std::pair<std::string, double>> met_;
};
}  // namespace detail
template <class Params> std::unique_ptr<Trainable> trainable(Task<Params> task, StepOptions options) {
  if (options.replicas > 0) return std::make_unique<detail::LocalTask<Params>>(std::move(task), std::move(options));
  return std::make_unique<detail::TrainableTask<Params>>(std::move(task), std::move(options));
}
}  // namespace bora
