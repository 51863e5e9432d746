// Training with local steps: the batch, the keys and the rules of its replicas, and their staged steps and meetings.
#include <map>
#include <set>
#include "bora/array/communicator.h"
#include "bora/ops/manipulation.h"
#include "bora/train/local_settings.h"
#include "ops/api/same_everywhere.h"
#include "train/tasks.h"

namespace bora::training {
local::Options local_options(const StepOptions& o) {
  auto r = o.local;
  r.storage = o.storage;
  r.trains = o.trains;
  return r;
}
AxisMapping with_replicas(const AxisMapping& storage) {
  auto rules = storage.rules();
  rules.insert(rules.begin(), {std::string(mesh_axes::kReplica), MeshAxes(mesh_axes::kReplica)});
  return AxisMapping(rules);
}
Array key_of_each(const Array& key, const Axis& replica) {
  auto keys = replica.size == 1 ? expand_dims(key, 0) : random::split(key, replica.size);
  if (!here().mesh || !here().mesh->has(AxisName(replica.name))) return keys;
  return ops::constrained(keys, Spec{MeshAxes(replica.name)});
}
/// Cut in two steps: over the ranks of the mesh axis, which have their rows already, then over the replicas of a rank.
Example of_each(Example e, const Axis& replica) {
  auto rules = current_mapping().rules();
  for (auto& rule : rules) rule.mesh.remove(AxisName(replica.name));
  auto mapping = with_replicas(AxisMapping(rules));
  auto* mesh = here().mesh;
  std::int64_t ranks = mesh && mesh->has(AxisName(replica.name)) ? mesh->axis_size(AxisName(replica.name)) : 1;
  for (auto& slot : tree::slots(tree::node(e))) {
    auto x = slot.leaf.as<NamedArray>();
    if (!x || !slot.leaf.defined()) continue;
    auto axes = x->axes();
    auto batch = axes.at(0).size;
    check<AxisError>(axes[0].name == "batch" && batch % replica.size == 0, "local: a batch of ", axes,
                     " cannot be cut into rows of ", replica.size, " replicas");
    Shape rest;
    for (std::size_t d = 1; d < axes.size(); ++d) rest.push_back(axes[d].size);
    auto cut = [&](Array a, Dims sizes) {
      Shape shape(sizes);
      shape.append(rest);
      return reshape(a, shape);
    };
    auto rows = cut(x->array(), {ranks, batch / ranks});
    rows = cut(rows, {ranks, replica.size / ranks, batch / replica.size});
    rows = cut(rows, {replica.size, batch / replica.size});
    axes[0].size = batch / replica.size;
    axes.insert(axes.begin(), replica);
    *x = auto_sharded(NamedArray(rows, axes), mapping);
  }
  return e;
}

namespace {
/// Evaluation of a model that replicas train: each evaluates its share of the rows, and sums are added in their order.
Evaluate jit_evaluation_of_each(const TrainTask<Params>& task, const Axis& replica) {
  return jit(EvaluateFn([task, replica](const Params& params, const Params& base, const GlobalBatch& b) {
               auto p = joined(params, base);
               auto sums_of = [&](const Example& e) {
                 if (task.evaluation) {
                   auto [loss, weights] = task.evaluation(p, e);
                   return stack({loss.array(), weights.array()});
                 }
                 auto loss = task.loss(p, e, none);
                 return stack({loss.array(), sum(task.weights(e)).array()});
               };
               auto sums = local::each(sums_of, replica)(of_each(b.example, replica));
               return local::detail::sum_in_order(ops::constrained(sums, Spec::replicated(2)));
             }),
             {.name = "evaluation"});
}
std::string type_of(local::Kind kind) {
  return kind == local::Kind::average ? "average" : kind == local::Kind::slowmo ? "slowmo" : "diloco";
}
/// Replicas of a TrainState that make local steps.
class LocalTask final : public Owner<local::State<TrainState<Params>>> {
  using One = TrainState<Params>;
  using State = local::State<One>;
  using Fragment = std::optional<std::int64_t>;
  struct Made {
    State state;
    Array report, norm;  // the latter: of what a meeting found, if one began with this step
  };
  using Inner = std::function<Made(const State&, const Params& base, const GlobalBatch&)>;
  using Meet = std::function<std::pair<State, Array>(const State&)>;
  static auto jit_of(Inner f, const StepOptions& o) {
    return jit(std::move(f), {.name = "train step", .compile = o.compile});
  }
  static auto jit_of(Meet f, const StepOptions& o) {
    return jit(std::move(f), {.name = "meeting of replicas", .compile = o.compile});
  }

 public:
  LocalTask(const TrainTask<Params>& task, const StepOptions& given)
      : LocalTask(task, given, {std::string(mesh_axes::kReplica), given.replicas}) {}
  tree::Node optimizer_state() override { return tree::node(state_.replicas); }
  Array step(const GlobalBatch& b) override {
    auto fragments = static_cast<std::int64_t>(state_.outer.size());
    bool delayed = local_.delay > 0;
    auto n = state_.step.item<std::int32_t>() + std::int64_t{1};  // of this step
    met_.clear();
    auto begins = delayed ? local_.begins(n - 1, fragments) : std::nullopt;
    auto made = next_of(stepping(begins), base_, b);
    state_ = std::move(made.state);
    if (begins) note(n - 1, begins, made.norm);
    auto due = local_.lands(n, fragments);
    if (due) meet(due, {}, n);
    if (n == local_.last) meet({}, local_.pending(n, fragments), n);
    return made.report;
  }
  ProgramPtr step_program(const GlobalBatch& b) override { return program_of(stepping({}), state_, base_, b); }
  Arrays step_arguments(const GlobalBatch& b) override { return stepping({}).inputs(state_, base_, b); }
  std::vector<std::pair<ProgramPtr, Arrays>> meeting_programs(const GlobalBatch& b) override {
    std::vector<std::pair<ProgramPtr, Arrays>> all;
    auto add = [&](auto& jitted, const auto&... in) {
      all.emplace_back(program_of(jitted, in...), jitted.inputs(in...));
    };
    auto fragments = static_cast<std::int64_t>(state_.outer.size());
    add(meeting_of({}, local_.pending(local_.last, fragments)), state_);
    if (fragments > 1 || local_.delay > 0)
      for (auto f : std::set<std::int64_t>{0, fragments - 1}) {  // of layers, and of what no layer has
        if (local_.delay > 0) add(stepping(f), state_, base_, b);
        add(meeting_of(f, {}), state_);
      }
    return all;
  }
  /// With the rows of all replicas, which the rules of the mesh split: a replica's own ones lie on its ranks alone.
  std::vector<std::vector<Axis>> activations() const override {
    auto all = Owner::activations();
    for (auto& axes : all)
      for (auto& axis : axes)
        if (axis.name == "batch") axis.size *= replica_.size;
    return all;
  }
  std::vector<std::pair<std::string, double>> meeting() const override { return met_; }
  void begin_around_parameters() override {
    auto keys = state_.replicas.key;
    state_.replicas = {};
    state_.outer = {};
    std::function<State(const Params&, const Array&)> first = [o = options_, how = local_, replica = replica_](
                                                                  const Params& p, const Array& keys) {
      return first_around(p, keys, o, how, replica);
    };
    state_ = named_jit(first, {.out = with_replicas(options_.storage)})(state_.params, keys);
    unshare(tree::node(state_));
  }
  /// A run that ended made its last meeting: later ones begin behind it.
  Notes notes(std::int64_t step) const override {
    Notes r{{"local.type", type_of(local_.kind)},
            {"local.every", std::to_string(local_.every)},
            {"local.delay", std::to_string(local_.delay)}};
    if (auto ended = step == local_.last ? step : local_.met; ended > 0) r["local.ended"] = std::to_string(ended);
    return r;
  }
  void take(const Notes& notes, std::int64_t step) override {
    auto number = [&](const std::string& name, std::int64_t otherwise) {
      auto found = notes.find(name);
      return found == notes.end() ? otherwise : std::stoll(found->second);
    };
    auto mine = type_of(local_.kind), type = notes.contains("local.type") ? notes.at("local.type") : mine;
    check<CheckpointError>(type == mine, "local: the checkpoint is of meetings of type ", type, ", this run's are of ",
                           mine, ", whose outer state is of another kind; keep local.type, or begin another run");
    local_.met = number("local.ended", notes.contains("ended") ? step : 0);  // "ended": as they were written first
    auto before = local_;
    before.every = number("local.every", local_.every);
    before.delay = number("local.delay", local_.delay);
    auto fragments = static_cast<std::int64_t>(state_.outer.size());
    bool same = before.every == local_.every && before.delay == local_.delay;
    check<CheckpointError>(same || (before.pending(step, fragments).empty() && local_.pending(step, fragments).empty()),
                           "local: after step ", step, " a meeting of replicas is under way, with every ", before.every,
                           " and delay ", before.delay, "; now they are ", local_.every, " and ", local_.delay,
                           ". Continue with the former, or from a step at which none is");
    // This run ends at this step, but the one that wrote the checkpoint did not: its last meeting is made now. A
    // fragment that met after this step does not meet again, since momentum alone would move it.
    if (step != local_.last || step == local_.met || !notes.contains("local.every")) return;
    before.last = -1;
    meet_all(step, before);
  }
  /// The meeting of the last step, after another one.
  bool end(std::int64_t step) override {
    if (step < 1 || step == local_.last || step == local_.met) return false;
    met_.clear();
    meet_all(step, local_);
    local_.met = step;
    return !met_.empty();
  }

 private:
  LocalTask(const TrainTask<Params>& task, const StepOptions& given, const Axis& replica)
      : Owner(
            [task, o = given, how = local_options(given), replica](const Array& key) {
              auto first = first_state(task, o, key);
              auto kept = [&](const std::string& path) { return !o.keeps || o.keeps(path); };
              auto base = part_of(first.params, [&](auto& path) { return !kept(path); });
              auto keys = key_of_each(first.key, replica);
              return Born{first_around(part_of(first.params, kept), keys, o, how, replica), base};
            },
            given, with_replicas(given.storage), jit_evaluation_of_each(task, replica)),
        local_(local_options(given)), replica_(replica), task_(task) {}
  /// The first state around parameters: every replica begins with them.
  static State first_around(const Params& params, const Array& keys, const StepOptions& o, const local::Options& how,
                            const Axis& replica) {
    auto make = [&](const Params& p) {
      return One{p, o.optimizer.init(trained(p, o)), full_of({{}, i32}, 0), random::key(0)};
    };
    auto s = local::Steps(make, replica, how).begin(params, make);
    s.replicas.key = keys;
    return s;
  }
  using JitInner = fx::Jitted<Inner>;
  using JitMeet = fx::Jitted<Meet>;
  /// A step of all replicas. begins: the fragment whose numbers travel meanwhile.
  JitInner& stepping(const Fragment& begins) {
    auto& all = inner_;
    auto found = all.find(begins);
    if (found != all.end()) return found->second;
    Inner f = [task = task_, o = options_, how = local_, replica = replica_, seen = seen_, begins](
                  const State& s, const Params& base, const GlobalBatch& b) {
      RecordSharded record(*seen);
      auto one = [&](const One& s, const Example& e) {
        auto [next, r] = training::step(task, o, s, base, e);
        return std::pair{next, stack({r.loss, r.gradient_norm, r.learning_rate})};
      };
      local::Steps steps(one, replica, how);
      // Before the step, so that it hides the sum.
      auto sent = begins ? steps.send(s, *begins) : std::pair{s.params, s.params};
      auto [next, reports] = steps.inner(s, of_each(b.example, replica));
      Array norm;
      if (begins) {
        auto moved = steps.move(next, *begins, sent);
        next = moved.first, norm = moved.second;
      }
      return Made{next, concatenate({local::mean(reports, replica), sum(b.notes, 0)}), norm};
    };
    return all.emplace(begins, jit_of(std::move(f), options_)).first->second;
  }
  /// A fragment meets or, with a delay, the replicas take its result; without one all meet.
  JitMeet& meeting_of(const Fragment& fragment, const std::vector<std::int64_t>& pending) {
    auto found = meet_.find({fragment, pending});
    if (found != meet_.end()) return found->second;
    Meet f = [how = local_, replica = replica_, fragment, pending](const State& s) -> std::pair<State, Array> {
      local::Steps steps(nullptr, replica, how);
      if (!fragment) return steps.meet(s, pending);
      if (how.delay > 0) return {steps.take(s, *fragment, how.mix), Array()};
      return steps.meet(s, *fragment, how.mix);
    };
    return meet_.emplace(std::pair{fragment, pending}, jit_of(std::move(f), options_)).first->second;
  }
  /// All meet after this step, but for a fragment that has met after it already: momentum alone would move that one.
  void meet_all(std::int64_t step, const local::Options& before) {
    auto fragments = static_cast<std::int64_t>(state_.outer.size());
    bool at_once = before.delay == 0 && (fragments == 1 || local_.delay == 0);
    auto met = at_once ? before.begins(step, fragments) : std::nullopt;
    if (!met) return meet({}, local_.pending(step, fragments), step);
    for (std::int64_t f = 0; f < fragments; ++f)
      if (f != *met) meet(f, {}, step);
  }
  /// After step n.
  void meet(const Fragment& fragment, const std::vector<std::int64_t>& pending, std::int64_t n) {
    auto [met, norm] = next_of(meeting_of(fragment, pending));
    state_ = std::move(met);
    if (norm.defined()) note(n, fragment, norm);
  }
  void note(std::int64_t step, const Fragment& fragment, const Array& norm) {
    met_ = {{"round", static_cast<double>(local_.round(step))},
            {"outer_gradient_norm", norm.item<float>()}};
    if (fragment && state_.outer.size() > 1) met_.emplace_back("fragment", static_cast<double>(*fragment));
  }
  local::Options local_;
  Axis replica_;
  TrainTask<Params> task_;
  std::map<Fragment, JitInner> inner_;
  std::map<std::pair<Fragment, std::vector<std::int64_t>>, JitMeet> meet_;
  std::vector<std::pair<std::string, double>> met_;
};
}  // namespace
std::unique_ptr<Trainable> local_trainable(const TrainTask<Params>& task, const StepOptions& options) {
  auto plain = task;
  plain.by_row = false;  // reports of replicas have no losses of sources
  return std::make_unique<LocalTask>(plain, options);
}
}  // namespace bora::training
