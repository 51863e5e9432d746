// local.h -- local steps: replicas of a training state make steps of their own and meet after some of them, where what
// they learned moves all of them (local SGD, SlowMo, DiLoCo). Every leaf of the replicas' state has the axis `replica`
// first; the step is vmapped over it. On a mesh with an axis of this name the replicas are spread over it: their own
// steps send nothing there, and the numbers are the same bits for every number of ranks that divides the replicas.
#pragma once
#include "bora/base/wire.h"
#include "bora/fx/control.h"
#include "bora/named/mapping.h"
#include "bora/named/transforms.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/ufuncs.h"
#include "bora/optim/optimizers.h"
#include "bora/optim/transform.h"
#include "bora/optim/updates.h"

namespace bora::local {
/// A meeting's result from x, the parameters of the last one, and x_m, those of replica m:
///   average  x = mean(x_m)                                          local SGD (Stich 2019)
///   diloco   x = x + outer(mean(x - x_m))                           DiLoCo (Douillard et al. 2023)
///   slowmo   x = x + rate * outer(mean(x - x_m) / rate)             SlowMo (Wang et al. 2020); rate: of the last step
/// and then x_m = mix * x_m + (1 - mix) * x. With fragments, each of them has meetings of its own, spread evenly over
/// `every` steps, and with a delay the replicas go on while their numbers travel: streaming DiLoCo (Douillard et al.
/// 2025).
enum class Kind : std::uint8_t { average, slowmo, diloco };
struct Options {             // of replicas and their meetings
  Kind kind = Kind::diloco;  // how a meeting's result is made
  std::int64_t every = 30;   // steps between meetings
  /// All meet after this step too, without delay and mix: that of the run's end. 0: there is no such step.
  std::int64_t last = 0;
  /// All have met after this step in that way: the end of a run that this one continues. 0: there was no such step.
  std::int64_t met = 0;
  /// The outer optimizer: it gets a meeting's difference as a gradient; average needs none. diloco: of Nesterov's kind.
  /// Each fragment has a state of its own.
  optim::Transform outer = optim::sgd({.learning_rate = 0.7, .momentum = 0.9, .nesterov = true});
  optim::Schedule rate = 1.0;  // slowmo: learning rate of a replica's step
  /// 1: all parameters meet at once. More: the layers are dealt out to so many fragments, layer l to l % fragments, and
  /// the parameters without the axis `layers` are one more.
  std::int64_t fragments = 1;
  std::string layers = "layers";  // the name of that axis
  std::int64_t delay = 0;         // steps that replicas make after a meeting has begun, before they take its result
  double mix = 0;                 // how much of its own numbers a replica keeps then: from 0 to below 1
  /// The wire of x - x_m to the sum and of the mean back; not for average. int8, int4: blocks along the
  /// last dimension of a parameter, with an f32 scale each, int4 with the levels of src/base/api/int4.h; no error is
  /// carried over to the next meeting.
  Wire wire = {};
  AxisMapping storage = {};  // of parameters on the mesh of one replica: its rules for FSDP and the like
  /// Whether a parameter takes part, by its path; others stay as they are. Default: all do.
  std::function<bool(const std::string& path)> trains = {};

  /// Fragment p of n begins to meet after the steps s with s % every == offset(p, n).
  std::int64_t offset(std::int64_t p, std::int64_t n) const { return (p + 1) * every / n % every; }
  /// The fragment of n that begins to meet after this step, counted from 1; none after the last one, where all do.
  std::optional<std::int64_t> begins(std::int64_t step, std::int64_t n) const;
  /// The fragment of n whose result the replicas take after this step.
  std::optional<std::int64_t> lands(std::int64_t step, std::int64_t n) const { return begins(step - delay, n); }
  /// Fragments whose results are under way after this step.
  std::vector<std::int64_t> pending(std::int64_t step, std::int64_t n) const;
  /// The number of a meeting that begins after this step, from 1.
  std::int64_t round(std::int64_t step) const { return (step + every - 1) / every; }
};
/// S: the state of one replica, an aggregate with a member `params`.
template <class S> struct State {
  decltype(S::params) params;       // of the last meeting: the model that is evaluated and kept
  S replicas;                       // every leaf has the axis of the replicas first
  std::vector<optim::State> outer;  // of each fragment
  Array step;                       // i32: steps that each replica has made
};

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
/// The first half of a mean over the axis: each rank gets its part of the numbers of all replicas. scales: a tree like
/// the first, whose leaves are empty afterwards where numbers have none.
void spread(tree::Node, tree::Node scales, const Axis& replica, const AxisMapping& storage, const Wire& wire = {});
/// The second half: the parts are added in the replicas' order, and every rank gets all of them; f32 at least. like:
/// the leaves that were spread, as they were.
void add_up(tree::Node, tree::Node scales, tree::Node like, const Axis& replica, const AxisMapping& storage,
            const Wire& wire = {});
/// ((x[0] + x[1]) + x[2]) + .. over the first dimension, in this order wherever its parts are.
Array sum_in_order(const Array& x);
/// How many fragments parameters have. Throws ValueError if there are more than layers, or than steps between meetings.
std::int64_t fragments(tree::Node params, const Options&);
/// Leaves nothing but fragment p, of the parameters that take part.
void keep_fragment(tree::Node params, const Options&, std::int64_t p);
/// Puts fragment p back into all parameters.
void put_fragment(tree::Node params, tree::Node part, const Options&, std::int64_t p);
/// The origin of a replica's first state. zero: i32, of each replica.
template <class P> struct Seed {
  P params;
  Array zero;
};
Array zero_of_each(const Axis& replica);
/// Leaves that do not follow from the parameters (counts, "zeros") become each replica's own.
void own(tree::Node one, const Array& zero);
/// Leaves without other dimensions are kept by the ranks of their replicas, as the parameters are.
void place_scalars(tree::Node replicas, const Axis& replica);
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
  auto scales = t, like = t;
  detail::spread(tree::node(t), tree::node(scales), replica, storage);
  detail::add_up(tree::node(t), tree::node(scales), tree::node(like), replica, storage);
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
  /// How many fragments these parameters meet in.
  template <class P> std::int64_t fragments(const P& params) const {
    return detail::fragments(tree::node(params), options_);
  }
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
    std::vector<optim::State> outer;
    for (std::int64_t p = 0; p < fragments(params); ++p) outer.push_back(options_.outer.init(part(params, p)));
    return State<S>{params, replicas, outer, full_of({{}, i32}, 0)};
  }
  /// One step of every replica. On a mesh nothing is sent over the axis of the replicas.
  template <class S, class... A> auto inner(const State<S>& s, const A&... arguments) const {
    auto [replicas, result] = each(step_, replica_)(s.replicas, arguments...);
    return std::pair{State<S>{s.params, replicas, s.outer, s.step + 1}, result};
  }
  // ---- a meeting of fragment p, in three parts between which replicas may go on ----
  /// Sends the replicas' numbers, with scales if the wire has any: each rank gets its part of them.
  template <class S> auto send(const State<S>& s, std::int64_t p) const {
    auto found = part(s.replicas.params, p);
    if (options_.kind != Kind::average)
      found = tree::map([](const Array& x_m, const Array& x) { return in_accumulator(x) - in_accumulator(x_m); }, found,
                        part(s.params, p));
    auto scales = found;
    detail::spread(tree::node(found), tree::node(scales), replica_, options_.storage, options_.wire);
    return std::pair{found, scales};
  }
  /// Moves x by what was sent: {state, the norm of mean(x - x_m), an f32 scalar}.
  template <class S, class P>
  std::pair<State<S>, Array> move(const State<S>& s, std::int64_t p, const std::pair<P, P>& found) const {
    auto [sent, scales] = found;
    auto like = part(s.replicas.params, p);
    detail::add_up(tree::node(sent), tree::node(scales), tree::node(like), replica_, options_.storage, options_.wire);
    auto at = static_cast<std::size_t>(p);
    auto x = part(s.params, p);
    auto next = x, moved = sent;  // the latter: mean(x - x_m)
    auto outer = s.outer;
    if (options_.kind == Kind::average) {
      moved = tree::map([](const Array& a, const Array& b) { return in_accumulator(a) - b; }, x, sent);
      next = tree::map([](const Array& a, const Array& b) { return b.astype(a.dtype()); }, x, sent);
    } else {
      auto rate = options_.kind == Kind::slowmo ? options_.rate(s.step - 1) : Array();
      if (rate.defined()) rate = where(rate > 0, rate, 1.0);
      auto gradient = tree::map([&](const Array& a) { return rate.defined() ? a / rate : a; }, moved);
      auto [updates, after] = options_.outer.update(gradient, s.outer.at(at), x);
      next = optim::apply_updates(x, tree::map([&](const Array& a) { return rate.defined() ? a * rate : a; }, updates));
      outer[at] = placed(after, s.outer[at]);
    }
    return {State<S>{placed(put(s.params, next, p), s.params), s.replicas, outer, s.step}, optim::global_norm(moved)};
  }
  /// The replicas take x: x_m = mix * x_m + (1 - mix) * x.
  template <class S> State<S> take(const State<S>& s, std::int64_t p, double mix) const {
    auto many = part(s.params, p);
    detail::repeat(tree::node(many), replica_, options_.storage);
    if (mix > 0)
      many = tree::map(
          [&](const Array& x, const Array& x_m) {
            return (in_accumulator(x_m) * mix + in_accumulator(x) * (1 - mix)).astype(x.dtype());
          },
          many, part(s.replicas.params, p));
    auto replicas = s.replicas;
    replicas.params = placed(put(s.replicas.params, many, p), s.replicas.params);
    return {s.params, replicas, s.outer, s.step};
  }
  /// All three at once.
  template <class S> std::pair<State<S>, Array> meet(const State<S>& s, std::int64_t p, double mix) const {
    auto [moved, norm] = move(s, p, send(s, p));
    return {take(moved, p, mix), norm};
  }
  /// All fragments meet, after the replicas took what was under way: {state, the norm of mean(x - x_m)}. pending: as
  /// Options has it.
  template <class S>
  std::pair<State<S>, Array> meet(State<S> s, const std::vector<std::int64_t>& pending = {}) const {
    for (auto p : pending) s = take(s, p, options_.mix);
    Array squares;
    for (std::int64_t p = 0; p < fragments(s.params); ++p) {
      auto [next, norm] = meet(s, p, 0);
      squares = squares.defined() ? squares + norm * norm : norm * norm;
      s = next;
    }
    return {s, sqrt(squares)};
  }
  /// One step of every replica, and the parts of meetings that are due around it.
  template <class S, class... A> auto operator()(const State<S>& s, const A&... arguments) const {
    auto n = fragments(s.params);
    bool at_once = options_.delay == 0;
    auto stay = [](const State<S>& t) { return t; };
    auto now = s;
    for (std::int64_t p = 0; p < n && !at_once; ++p)
      now = cond(begun(s.step, p, n), [&](const State<S>& t) { return move(t, p, send(t, p)).first; }, stay, now);
    auto [next, result] = inner(now, arguments...);
    for (std::int64_t p = 0; p < n; ++p)
      next = cond(begun(next.step - options_.delay, p, n),
                  [&](const State<S>& t) {
                    return at_once ? meet(t, p, options_.mix).first : take(t, p, options_.mix);
                  },
                  stay, next);
    if (options_.last > 0)
      next = cond(next.step == options_.last,
                  [&](const State<S>& t) { return meet(t, options_.pending(options_.last, n)).first; }, stay, next);
    return std::pair{next, result};
  }

 private:
  /// Whether fragment p of n begins to meet after this step.
  Array begun(const Array& step, std::int64_t p, std::int64_t n) const {
    return step % options_.every == options_.offset(p, n) && step > options_.met && step != options_.last;
  }
  template <class P> P part(P params, std::int64_t p) const {
    detail::keep_fragment(tree::node(params), options_, p);
    return params;
  }
  template <class P> P put(P params, P part, std::int64_t p) const {
    detail::put_fragment(tree::node(params), tree::node(part), options_, p);
    return params;
  }
  template <class T> static T placed(const T& t, const T& like) {
    return tree::map([](const Array& x, const Array& l) { return reshard_like(x, l); }, t, like);
  }
  F step_;
  Axis replica_;
  Options options_;
};
// auto steps = local::diloco(step, Replica, {.every = 30}); state = steps.begin(params, make); and then
// auto [next, result] = steps(state, batch), as often as wanted, under jit or not.
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
