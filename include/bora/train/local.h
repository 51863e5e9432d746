// local.h -- local steps: replicas of a training state make steps of their own and meet after some of them, where what
// they learned moves all of them (local SGD, SlowMo, DiLoCo). Every leaf of the replicas' state has the axis `replica`
// first; the step is vmapped over it. On a mesh with an axis of this name the replicas are spread over it: their own
// steps send nothing there, and the numbers are the same bits for every number of ranks that divides the replicas.
#pragma once
#include "bora/fx/control.h"
#include "bora/named/mapping.h"
#include "bora/named/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/sharding.h"
#include "bora/optim/optim.h"

namespace bora::local {
/// What a meeting makes of x, the parameters of the last one, and x_m, those of replica m:
///   average  x = mean(x_m)                                          local SGD (Stich 2019)
///   diloco   x = x + outer(mean(x - x_m))                           DiLoCo (Douillard et al. 2023)
///   slowmo   x = x + rate * outer(mean(x - x_m) / rate)             SlowMo (Wang et al. 2020); rate: of the last step
/// and then x_m = x.
enum class Kind : std::uint8_t { average, slowmo, diloco };
struct Options {
  Kind kind = Kind::diloco;
  std::int64_t every = 30;  // steps between meetings
  std::int64_t last = 0;    // they meet after this step too: that of the run's end; 0: no such step
  /// Of what a meeting finds, which it gets as a gradient; average needs none. diloco: of Nesterov's kind.
  optim::Transform outer = optim::sgd({.learning_rate = 0.7, .momentum = 0.9, .nesterov = true});
  optim::Schedule rate = 1.0;  // slowmo: learning rate of a replica's step
  AxisMapping storage = {};    // of parameters on the mesh of one replica: its rules for FSDP and the like
  /// Whether a parameter takes part, by its path; others stay as they are. Default: all do.
  std::function<bool(const std::string& path)> trains = {};
  /// Whether replicas meet after this step, counted from 1.
  bool meets(std::int64_t step) const { return step % every == 0 || step == last; }
};
/// S: the state of one replica, an aggregate with a member `params`.
template <class S> struct State {
  decltype(S::params) params;  // of the last meeting: the model that is evaluated and kept
  S replicas;                  // every leaf has the axis of the replicas first
  optim::State outer;
  Array step;  // i32: steps that each replica has made
};

/// The mesh axis of the replicas in training.
inline constexpr std::string_view kReplica = "replica";

namespace detail {
/// Throws ValueError for an axis or options that make no sense, ShardError if the mesh in force has an axis of its name
/// whose size does not divide it.
void check(const Axis& replica, const Options&);
/// Positions of the axis in the leaves, which lose it: first in all leaves of `state`; in `others` where they have it.
Dims take_axis(tree::Node state, tree::Node others, const Axis& replica);
/// f of the leaves of each replica.
Arrays each(const FlatFn& f, const Arrays& leaves, const Dims& positions, const Axis& replica);
/// Every leaf repeated along the axis, each rank's replicas only.
void repeat(tree::Node, const Axis& replica, const AxisMapping& storage);
/// Every leaf's mean over the axis, f32 at least.
void take_mean(tree::Node, const Axis& replica, const AxisMapping& storage);
/// What a replica's first state is made of. zero: i32, of each replica.
template <class P> struct Seed {
  P params;
  Array zero;
};
Array zero_of_each(const Axis& replica);
/// Leaves that do not follow from the parameters (counts, "zeros") become each replica's own.
void own(tree::Node one, const Array& zero);
/// Leaves without other dimensions are kept by the ranks of their replicas, as the parameters are.
void place_scalars(tree::Node replicas, const Axis& replica);
Array wide(const Array& x);  // bf16 as f32
}  // namespace detail

/// f of each replica: the leaves of the first argument have the axis first, of the others NamedArrays that have it are
/// mapped along it, and the rest is the same for all. Every leaf of the result has it first. Inside, the rules of the
/// current mapping do not see the mesh axis of the replicas.
template <class F> auto each(F f, const Axis& replica) {
  return [f = std::move(f), replica](const auto& state, const auto&... others) {
    using R = fx::result_t<F, std::remove_cvref_t<decltype(state)>, std::remove_cvref_t<decltype(others)>...>;
    auto one = state;
    std::tuple rest{others...};
    auto positions = detail::take_axis(tree::node(one), tree::node(rest), replica);
    auto n = tree::count_leaves(tree::node(one));
    std::optional<R> out;
    FlatFn flat = [&](const Arrays& leaves) {
      auto s = one;
      auto r = rest;
      tree::replace(tree::node(s), leaves.data(), n);
      tree::replace(tree::node(r), leaves.data() + n, leaves.size() - n);
      out.emplace(std::apply([&](const auto&... x) -> R { return std::invoke(f, std::as_const(s), x...); },
                             std::as_const(r)));
      return tree::leaves(*out);
    };
    auto y = detail::each(flat, fx::pack(state, others...), positions, replica);
    tree::replace(tree::node(*out), y.data(), y.size());
    fx::add_axis(tree::node(*out), replica);
    return std::move(*out);
  };
}
/// The mean of every leaf over the axis `replica`, which is its first dimension. The sum runs over the replicas in
/// their order, wherever they are: each rank adds up its part of the numbers of all replicas. storage: as in Options.
template <class T> T mean(T t, const Axis& replica, const AxisMapping& storage = {}) {
  detail::take_mean(tree::node(t), replica, storage);
  return t;
}

/// A step with its replicas: a pure function {state, arguments} -> {state, results of each replica}.
template <class F> class Steps {
 public:
  /// step(S, arguments..) -> std::pair{S, result}: of one replica.
  Steps(F step, const Axis& replica, Options options)
      : step_(std::move(step)), replica_(replica), options_(std::move(options)) {
    detail::check(replica_, options_);
  }
  const Options& options() const { return options_; }
  const Axis& replica() const { return replica_; }
  /// The first state. make(params) gives a replica's state around these parameters.
  template <class P, class Make> auto begin(const P& params, const Make& make) const {
    using S = fx::result_t<Make, P>;
    auto many = params;
    detail::repeat(tree::node(many), replica_, options_.storage);
    auto replicas = each(
        [&](const detail::Seed<P>& p) {
          S s = make(p.params);
          detail::own(tree::node(s), p.zero);
          return s;
        },
        replica_)(detail::Seed<P>{many, detail::zero_of_each(replica_)});
    detail::place_scalars(tree::node(replicas), replica_);
    return State<S>{params, replicas, options_.outer.init(part(params)), full_of({{}, i32}, 0)};
  }
  /// One step of every replica. On a mesh nothing is sent over the axis of the replicas.
  template <class S, class... A> auto inner(const State<S>& s, const A&... arguments) const {
    auto [replicas, result] = each(step_, replica_)(s.replicas, arguments...);
    return std::pair{State<S>{s.params, replicas, s.outer, s.step + 1}, result};
  }
  /// The replicas meet: {state, the norm of mean(x - x_m), an f32 scalar}.
  template <class S> std::pair<State<S>, Array> meet(const State<S>& s) const {
    auto x = part(s.params), x_m = part(s.replicas.params);
    auto next = x, moved = x;  // the latter: mean(x - x_m)
    if (options_.kind == Kind::average) {
      auto average = mean(x_m, replica_, options_.storage);
      moved = tree::map([](const Array& a, const Array& b) { return detail::wide(a) - detail::wide(b); }, x, average);
      next = tree::map([](const Array& a, const Array& b) { return b.astype(a.dtype()); }, x, average);
    } else {
      auto apart = tree::map([](const Array& b, const Array& a) { return detail::wide(a) - detail::wide(b); }, x_m, x);
      moved = mean(apart, replica_, options_.storage);
    }
    auto outer = s.outer;
    if (options_.kind != Kind::average) {
      auto rate = options_.kind == Kind::slowmo ? options_.rate(s.step - 1) : Array();
      if (rate.defined()) rate = where(rate > 0, rate, 1.0);
      auto times = [&](const Array& a, const Array& factor) { return rate.defined() ? a * factor : a; };
      auto gradient = tree::map([&](const Array& a) { return times(a, rate.defined() ? 1 / rate : rate); }, moved);
      auto [updates, after] = options_.outer.update(gradient, s.outer, x);
      next = optim::apply_updates(x, tree::map([&](const Array& a) { return times(a, rate); }, updates));
      outer = placed(after, s.outer);
    }
    next = placed(next, x);
    auto many = next;
    detail::repeat(tree::node(many), replica_, options_.storage);
    auto replicas = s.replicas;
    replicas.params = joined(placed(many, x_m), s.replicas.params);
    return {State<S>{joined(next, s.params), replicas, outer, s.step}, optim::global_norm(moved)};
  }
  /// One step of every replica, and a meeting if it is due.
  template <class S, class... A> auto operator()(const State<S>& s, const A&... arguments) const {
    auto [next, result] = inner(s, arguments...);
    auto due = next.step % options_.every == 0 || next.step == options_.last;
    return std::pair{cond(due, [&](const State<S>& t) { return meet(t).first; },
                          [](const State<S>& t) { return t; }, next),
                     result};
  }

 private:
  template <class P> P part(const P& params) const {
    if (!options_.trains) return params;
    return tree::filter(params, [&](const std::string& path, const Array&) { return options_.trains(path); });
  }
  /// t with the leaves of `others` in place of its empty ones.
  template <class P> static P joined(P t, const P& others) {
    auto to = tree::slots(tree::node(t)), from = tree::slots(tree::node(others));
    for (std::size_t i = 0; i < to.size(); ++i)
      if (!to[i].leaf.defined()) to[i].leaf.set(from[i].leaf.get());
    return t;
  }
  template <class T> static T placed(const T& t, const T& like) {
    return tree::map([](const Array& x, const Array& l) { return reshard_like(x, l); }, t, like);
  }
  F step_;
  Axis replica_;
  Options options_;
};
/// auto steps = local::diloco(step, Replica, {.every = 30}); state = steps.begin(params, make); and then
/// auto [next, result] = steps(state, batch), as often as wanted, under jit or not.
template <class F> Steps<F> average(F step, const Axis& replica, Options options = {}) {
  options.kind = Kind::average;
  options.outer = optim::identity();
  return {std::move(step), replica, std::move(options)};
}
template <class F> Steps<F> diloco(F step, const Axis& replica, Options options = {}) {
  options.kind = Kind::diloco;
  return {std::move(step), replica, std::move(options)};
}
/// options.outer: sgd with the slow learning rate and the slow momentum (1 and 0.5, say); options.rate: the replicas'
/// learning rate.
template <class F> Steps<F> slowmo(F step, const Axis& replica, Options options) {
  options.kind = Kind::slowmo;
  return {std::move(step), replica, std::move(options)};
}
}  // namespace bora::local
