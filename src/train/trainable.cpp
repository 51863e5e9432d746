// The step of a model and its evaluation, staged for parameters of any type.
#include "train/tasks.h"
#include "bora/ops/indexing.h"
#include <set>
#include "bora/shard/abstract.h"

namespace bora {
void unshare(tree::Node t) {
  if (on_abstract_mesh()) return;  // nothing has memory
  std::set<const void*> seen;
  for (auto& slot : tree::slots(t)) {
    if (!slot.leaf.defined()) continue;
    auto local = local_block(slot.leaf.get());
    if (local.block.nbytes() == 0 || seen.insert(local.block.bytes()).second) continue;
    slot.leaf.set(
        from_local_block(from_bytes(local.block.type(), local.block.bytes()), local.global_shape, local.spec));
  }
}
namespace training {
namespace {
Evaluate jit_evaluation(const TrainTask<Params>& task, std::int64_t virtual_ranks) {
  using Sums = std::pair<NamedArray, NamedArray>;
  return jit(EvaluateFn([task, virtual_ranks](const Params& params, const Params& base, const GlobalBatch& b) {
               auto p = joined(params, base);
               auto sums_of = [&](const Example& e) -> Sums {
                 if (task.evaluation) return task.evaluation(p, e);
                 return {task.loss(p, e, none), sum(task.weights(e))};
               };
               auto zero = NamedArray(full_of({{}, f32}, 0), {});
               auto [loss, weights] =
                   virtual_ranks == 0
                       ? sums_of(b.example)
                       : virtual_sum(virtual_ranks, b.example, Sums{zero, zero},
                                     [&](const Example& e, const Array&) { return sums_of(e); });
               return stack({loss.array(), weights.array()});
             }),
             {.name = "evaluation"});
}
class TrainableTask final : public Owner<TrainState<Params>> {
  using State = TrainState<Params>;
  using StepFn = std::function<std::pair<State, Array>(const State&, const Params& base, const GlobalBatch&)>;

 public:
  TrainableTask(TrainTask<Params> task, StepOptions options)
      : Owner(
            [task, options](const Array& key) {
              auto s = first_state(task, options, key);
              auto kept = [&](const std::string& path) { return !options.keeps || options.keeps(path); };
              auto base = part_of(s.params, [&](auto& path) { return !kept(path); });
              s.params = part_of(s.params, kept);
              return Born{s, base};
            },
            options, options.storage, jit_evaluation(task, options.virtual_ranks)),
        step_(jit(StepFn([task, options, seen = seen_](const State& s, const Params& base, const GlobalBatch& b) {
                    RecordSharded record(*seen);
                    auto [next, r] = training::step(task, options, s, base, b.example);
                    Arrays parts{stack({r.loss, r.gradient_norm, r.learning_rate}), sum(b.notes, 0)};
                    if (r.leaf_norms.defined()) parts.push_back(r.leaf_norms);
                    return std::pair{next, concatenate(parts)};
                  }),
                  {.name = "train step", .compile = options.compile})) {}
  tree::Node optimizer_state() override { return tree::node(state_.optimizer); }
  void begin_around_parameters() override {
    state_.optimizer = {};  // before there is another one
    std::function<optim::State(const Params&)> first = [o = options_](const Params& p) {
      return o.optimizer.init(trained(p, o));
    };
    state_.optimizer = named_jit(first, {.out = options_.storage})(state_.params);
    unshare(tree::node(state_));
  }
  Array step(const GlobalBatch& b) override {
    auto [state, report] = next_of(step_, base_, b);
    state_ = std::move(state);
    if (!options_.leaf_norms) return report;
    auto norms = 2 * static_cast<std::int64_t>(trained_paths().size()), others = report.size() - norms;
    leaf_norms_ = view(report, range(others, others + norms));
    return view(report, range(0, others));
  }
  std::vector<std::pair<std::string, double>> leaf_norms() const override {
    std::vector<std::pair<std::string, double>> r;
    if (!leaf_norms_.defined()) return r;
    auto all = leaf_norms_.to_vector<float>();
    auto paths = trained_paths();
    for (std::size_t k = 0; k < all.size(); ++k)
      r.emplace_back((k < paths.size() ? "grad/norm/" : "params/norm/") + paths[k % paths.size()],
                     static_cast<double>(all[k]));
    return r;
  }
  ProgramPtr step_program(const GlobalBatch& b) override { return program_of(step_, state_, base_, b); }
  Arrays step_arguments(const GlobalBatch& b) override { return step_.inputs(state_, base_, b); }

 private:
  std::vector<std::string> trained_paths() const {
    std::vector<std::string> r;
    for (auto& slot : tree::slots(tree::node(const_cast<Params&>(state_.params))))
      if (slot.leaf.defined() && trains(slot.path)) r.push_back(slot.path);
    return r;
  }
  Array leaf_norms_ = {};
  fx::Jitted<StepFn> step_;
};
}  // namespace
}  // namespace training
std::unique_ptr<Trainable> trainable(TrainTask<tree::Any> task, StepOptions options) {
  if (options.replicas > 0) return training::local_trainable(task, options);
  return std::make_unique<training::TrainableTask>(std::move(task), std::move(options));
}
}  // namespace bora
