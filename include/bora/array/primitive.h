// primitive.h -- everything about one operation in one place.
//
// A primitive is a plain aggregate of its parameters whose member functions are its rules:
//     struct Transpose {
//       Dims perm;
//       static constexpr std::string_view name = "transpose";
//       Type infer(const Types&) const; ..
//     };
// RulesOf<P> lists those that exist; Primitive (src/array/primitive.cpp) derives the others. Rules of P:
//   Type|Types infer(const Types& in)                    shape and dtype; throws the user's error
//   void eval(Inputs in, Outputs out)                    the kernel: writes into given memory, row-major
//   Arrays run(const Arrays& in, const Types& out)       instead of eval: the result is no fresh memory (held Programs)
//   Arrays expand(const Arrays& in)                      what it is composed of, instead of eval and vjp: derivatives
//                                                        see these operations, and flatten puts them in its place
//   Array|Arrays vjp(const Vjp&)                         gradients of all inputs, an empty Array for zero
//   optional<Linearized> linearize(in, needs)            higher-order primitives only
//   Pushed jvp(in, tangents)                             results and their tangents, an empty Array for zero; derived
//                                                        from linear, element() or vjp, transposed (fx/.../dual.cpp)
//   Factors factors(const Types& in)                     sharding; `linear` says where pending sums may pass
//   P resized(local_in, local_out)                       the same operation on blocks, if parameters hold sizes
//   P lift(n)                                            the same operation with one more leading dimension
//   vector<Mapped> batch(in, const BatchRules&)          only if lift cannot express it
//   optional<vector<Sharded>> shard(in, ShardRules&)     only if factors cannot express it; nullopt: use factors
//   Cost cost(const Types& in, const Types& out)         default: bytes in and out, a FLOP per element computed
//   kernels::OpId element()                              elementwise operations: their lane function
//   bool saved(Saveable, names)                          is its result kept for a backward pass under that policy?
//                                                        default: everything keeps what is not `recomputed`
//   static Samples<P> samples()                          inputs for the tests of its rules (tests/laws)
// Traits of P, each a static constexpr bool that is present: collective (talks to other ranks), opaque (its value
// differs by rank: no pass evaluates it), sized (parameters hold sizes), enters_shard (means something to Shard even on
// plain inputs), takes_symbolic (its shard rule reshards all that it uses), view (output 0 is input 0's memory), random
// (draws), blocks (an end of shard_map: one side are blocks of each rank's own), barrier (its results are its inputs,
// and no pass merges, folds or moves it), calls (computes what the first Program that it holds computes), keeps_scope
// (a parameter stays a parameter: its tree path names the result too), moves (moves or creates data and computes
// nothing, so it may run twice; views and opaque primitives are such), recomputed (its result is computed again where
// it is read, which is cheaper than to keep it), linear (in its first input alone), forward_only (has a jvp, but no
// vjp), effect (runs although nobody reads its results),
// any_dtype (its kernel takes every dtype, also those stored only, as one that moves does), by_order and by_bits
// (what it gives for integers depends on their order alone, or is the same modulo 2^n with and without signs).
// With values: `int core = k` (the last k dimensions of its first operand are one problem, as NumPy says of gufuncs;
// those before are a batch, which all operands and results have: it needs neither lift nor factors), `bool flat` (its
// derivative is zero everywhere, so its results need none), `bool chooses` (input 1 where input 0 is true, else input
// 2), `int in_place = k` (eval may be given out[0] == in[k]), `LoopRole loop` (how a fused loop computes it; op where
// there is an element()) and `string_view memory` (its results in the list of what a plan's memory holds; else its
// name). Derived: has_shard, and holds (it has Programs among its parameters).
#pragma once
#include "bora/array/params.h"
#include "bora/array/primitive_base.h"

namespace bora {
namespace detail {
inline Types list(Type t) { return {std::move(t)}; }
inline Types list(Types t) { return t; }
inline Arrays list(Array a) { return {std::move(a)}; }
inline Arrays list(Arrays a) { return a; }
/// The primitive with these parameters, which it takes.
PrimitivePtr make_primitive(const Rules&, void* p);
/// Adds a primitive to the registry, once.
bool add_primitive(const RegistryEntry&);
template <class P> consteval Primitive::Traits traits_of() {
  Primitive::Traits t;
  t.collective = requires { P::collective; };
  t.opaque = requires { P::opaque; };
  t.sized = requires { P::sized; }
  || requires(const P& p, const Types& x) { p.resized(x, x); };
  t.enters_shard = requires { P::enters_shard; };
  t.has_shard = requires(const P& p, const std::vector<Sharded>& in, ShardRules& s) { p.shard(in, s); };
  t.takes_symbolic = requires { P::takes_symbolic; };
  t.view = requires { P::view; };
  t.random = requires { P::random; };
  t.blocks = requires { P::blocks; };
  t.barrier = requires { P::barrier; };
  t.calls = requires { P::calls; };
  t.keeps_scope = requires { P::keeps_scope; };
  t.moves = t.view || t.opaque || requires { P::moves; };
  t.recomputed = requires { P::recomputed; };
  t.linear = requires { P::linear; };
  t.forward_only = requires { P::forward_only; };
  t.effect = requires { P::effect; };
  t.any_dtype = t.moves || t.collective || t.barrier || t.blocks || t.effect || requires { P::any_dtype; };
  t.by_order = requires { P::by_order; };
  t.by_bits = requires { P::by_bits; };
  t.expands = requires(const P& p, const Arrays& in) { p.expand(in); };
  if constexpr (requires { P::flat; }) t.flat = P::flat;
  if constexpr (requires { P::chooses; }) t.chooses = P::chooses;
  if constexpr (requires { P::in_place; }) t.in_place = P::in_place;
  if constexpr (requires { P::core; }) t.core = P::core;
  if constexpr (requires { P::loop; }) t.loop = P::loop;
  else if constexpr (requires(const P& p) { p.element(); }) t.loop = LoopRole::op;
  t.memory = P::name;
  if constexpr (requires { P::memory; }) t.memory = P::memory;
  return t;
}
}  // namespace detail

/// The rules of a struct P of parameters as functions of untyped memory. table() leaves a rule null that P lacks.
template <class P> struct RulesOf {
  static const P& at(const void* p) { return *static_cast<const P*>(p); }
  static void copy(void* to, const void* p) { ::new (to) P(at(p)); }
  static void move(void* to, void* p) { ::new (to) P(std::move(*static_cast<P*>(p))); }
  static void initial(void* to) { ::new (to) P{}; }
  static void destroy(void* p) { static_cast<P*>(p)->~P(); }
  static MeshAxes named_axes(const void* p) { return at(p).axes; }
  static std::optional<kernels::OpId> element(const void* p) { return at(p).element(); }
  static bool saved(const void* p, Saveable keep, const std::vector<std::string>& names) {
    return at(p).saved(keep, names);
  }
  static Types infer(const void* p, const Types& in) { return detail::list(at(p).infer(in)); }
  static void eval(const void* p, InputViews in, OutputViews out) { at(p).eval(in, out); }
  static Arrays run(const void* p, const Arrays& in, const Types& out) { return at(p).run(in, out); }
  static Arrays expand(const void* p, const Arrays& in) { return at(p).expand(in); }
  static Cost cost(const void* p, const Types& in, const Types& out) { return at(p).cost(in, out); }
  static Arrays vjp(const void* p, const Vjp& v) { return detail::list(at(p).vjp(v)); }
  static std::optional<Linearized> linearize(const void* p, const Arrays& in, const Mask& needs) {
    return at(p).linearize(in, needs);
  }
  static std::optional<Pushed> jvp(const void* p, const Arrays& in, const Arrays& tangents) {
    return at(p).jvp(in, tangents);
  }
  static std::optional<DimFactors> factors(const void* p, const Types& in) { return at(p).factors(in); }
  static PrimitivePtr resized(const void* p, const Types& in, const Types& out) {
    return primitive(at(p).resized(in, out));
  }
  static PrimitivePtr lift(const void* p, std::int64_t n) { return primitive(at(p).lift(n)); }
  static std::vector<Mapped> batch(const void* p, const std::vector<Mapped>& in, const BatchRules& b) {
    return at(p).batch(in, b);
  }
  static std::optional<std::vector<Sharded>> shard(const void* p, const std::vector<Sharded>& in, ShardRules& s) {
    return at(p).shard(in, s);
  }
  static consteval Rules table() {
    Rules r{};
    r.type = &typeid(P);
    r.name = P::name;
    r.traits = detail::traits_of<P>();
    r.kind = &param_rules::kind<P>;
    r.size = sizeof(P);
    r.alignment = alignof(P);
    if constexpr (!std::is_trivially_copyable_v<P>) {
      r.copy = &copy;
      r.move = &move;
    }
    if constexpr (std::is_default_constructible_v<P>) r.initial = &initial;
    if constexpr (!std::is_trivially_destructible_v<P>) r.destroy = &destroy;
    r.infer = &infer;
    if constexpr (requires(const P& p) { p.axes; } && (requires { P::collective; } || requires { P::opaque; }))
      r.named_axes = &named_axes;
    if constexpr (requires(const P& p) { p.element(); }) r.element = &element;
    if constexpr (requires(const P& p, const std::vector<std::string>& n) { p.saved(Saveable{}, n); }) r.saved = &saved;
    if constexpr (requires(const P& p, InputViews in, OutputViews out) { p.eval(in, out); }) r.eval = &eval;
    if constexpr (requires(const P& p, const Arrays& in, const Types& out) { p.run(in, out); }) r.run = &run;
    if constexpr (requires(const P& p, const Arrays& in) { p.expand(in); }) r.expand = &expand;
    if constexpr (requires(const P& p, const Types& t) { p.cost(t, t); }) r.cost = &cost;
    if constexpr (requires(const P& p, const Vjp& v) { p.vjp(v); }) r.vjp = &vjp;
    if constexpr (requires(const P& p, const Arrays& in, const Mask& m) { p.linearize(in, m); })
      r.linearize = &linearize;
    if constexpr (requires(const P& p, const Arrays& a) { p.jvp(a, a); }) r.jvp = &jvp;
    if constexpr (requires(const P& p, const Types& in) { p.factors(in); }) r.factors = &factors;
    if constexpr (requires(const P& p, const Types& t) { p.resized(t, t); }) r.resized = &resized;
    if constexpr (requires(const P& p, const std::vector<Mapped>& in, const BatchRules& b) { p.batch(in, b); })
      r.batch = &batch;
    else if constexpr (requires(const P& p) { p.lift(std::int64_t{1}); }) r.lift = &lift;
    if constexpr (requires(const P& p, const std::vector<Sharded>& in, ShardRules& s) { p.shard(in, s); })
      r.shard = &shard;
    return r;
  }
  static std::vector<PrimitiveSample> samples() {
    std::vector<PrimitiveSample> r;
    if constexpr (requires { P::samples(); })
      for (auto& [params, in] : P::samples()) r.push_back({primitive(params), in});
    return r;
  }
};
template <class P> inline constexpr Rules rules_of = RulesOf<P>::table();  // one table for each P
/// Its instantiation puts P into registry(); primitive() causes that.
template <class P>
inline const bool registered_primitive =
    detail::add_primitive({std::string(P::name), &RulesOf<P>::samples, &rules_of<P>});
/// A primitive in a place of its own, for one call.
template <class P> class PrimitiveOf final : public Primitive {
 public:
  explicit PrimitiveOf(P params) : Primitive(rules_of<P>), p(std::move(params)) { set(&p); }
  const P p;
};
template <class P> PrimitivePtr primitive(P p) {  // an operation with these parameters
  (void)registered_primitive<P>;
  return detail::make_primitive(rules_of<P>, &p);
}
}  // namespace bora
