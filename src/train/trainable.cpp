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
Array measured_sums(const TrainTask<Params>& task, const Params& params, const Params& base, const Example& e,
                    std::int64_t virtual_ranks) {
  std::vector<NamedArray> sums(2 + task.measured.size(), NamedArray(full_of({{}, f32}, 0), {}));
  auto p = task.loss_beside ? params : joined(params, base);
  auto of = [&](const Example& part) { return task.measures(p, base, part); };
  sums = virtual_ranks == 0
             ? of(e)
             : virtual_sum(virtual_ranks, e, sums, [&](const Example& part, const Array&) { return of(part); });
  Arrays all;
  for (auto& x : sums) all.push_back(x.array());
  return stack(all);
}
Evaluate jit_evaluation(const TrainTask<Params>& task, std::int64_t virtual_ranks) {
  using Sums = std::pair<NamedArray, NamedArray>;
  return jit(EvaluateFn([task, virtual_ranks](const Params& params, const Params& base, const GlobalBatch& b) {
               if (task.measures) return measured_sums(task, params, base, b.example, virtual_ranks);
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
               auto sums = stack({loss.array(), weights.array()});
               return task.predictions ? concatenate({sums, ravel(task.predictions(p, b.example))}) : sums;
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
              if (task.loss_beside) base = s.params;
              return Born{s, base};
            },
            options, options.storage, jit_evaluation(task, options.virtual_ranks)),
        step_(jit(StepFn([task, options, seen = seen_](const State& s, const Params& base, const GlobalBatch& b) {
                    RecordSharded record(*seen);
                    auto [next, r] = training::step(task, options, s, base, b.example);
                    Arrays parts{stack({r.loss, r.gradient_norm, r.learning_rate}), sum(b.notes, 0)};
                    if (r.by_source.defined()) parts.push_back(r.by_source);
                    if (r.leaf_norms.defined()) parts.push_back(r.leaf_norms);
                    return std::pair{next, concatenate(parts)};
                  }),
                  {.name = "train step", .compile = options.compile})) {
    reference_ = task.loss_beside != nullptr;
    measured_ = task.measured;
    by_row_ = task.by_row;
  }
  tree::Node optimizer_state() override { return tree::node(state_.optimizer); }
  void begin_around_parameters() override {
    state_.optimizer = {};  // before there is another one
    if (reference_) {
      state_.params = base_;
      Born both{std::move(state_), std::move(base_)};
      unshare(tree::node(both));
      state_ = std::move(both.state), base_ = std::move(both.base);
    }
    std::function<optim::State(const Params&)> first = [o = options_](const Params& p) {
      return o.optimizer.init(trained(p, o));
    };
    state_.optimizer = named_jit(first, {.out = options_.storage})(state_.params);
    unshare(tree::node(state_));
  }
  Array step(const GlobalBatch& b) override {
    auto [state, report] = next_of(step_, base_, b);
    state_ = std::move(state);
    auto others = report.size();
    auto last = [&](std::int64_t n) {
      others -= n;
      return view(report, range(others, others + n));
    };
    if (options_.leaf_norms) leaf_norms_ = last(2 * std::ssize(trained_paths()));
    by_source_ = by_row_ && b.example.sources ? last(2 * b.example.sources->axis("source").size) : Array();
    return others == report.size() ? report : view(report, range(0, others));
  }
  std::vector<std::pair<double, double>> losses_by_source() const override {
    std::vector<std::pair<double, double>> r;
    if (!by_source_.defined()) return r;
    auto all = by_source_.to_vector<double>();
    for (std::size_t k = 0; 2 * k < all.size(); ++k) r.emplace_back(all[k], all[all.size() / 2 + k]);
    return r;
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
  Array leaf_norms_ = {}, by_source_ = {};
  bool by_row_ = false;
  fx::Jitted<StepFn> step_;
};
}  // namespace
}  // namespace training
std::unique_ptr<Trainable> trainable(TrainTask<tree::Any> task, StepOptions options) {
  if (options.replicas > 0) return training::local_trainable(task, options);
  return std::make_unique<training::TrainableTask>(std::move(task), std::move(options));
}
}  // namespace bora
