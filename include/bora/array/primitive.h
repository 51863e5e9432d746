// primitive.h -- everything about one operation in one place.
//
// A primitive is a plain aggregate of its parameters whose member functions are its rules:
//     struct Transpose {
//       Dims perm;
//       static constexpr std::string_view name = "transpose";
//       Type infer(const Types&) const; ..
//     };
// PrimitiveOf<P> erases the type, detects which rules exist and derives the others. Rules of P:
//   Type|Types infer(const Types& in)                    shape and dtype; throws the user's error
//   void eval(Inputs in, Outputs out)                    the kernel: writes into given memory, row-major
//   Arrays run(const Arrays& in, const Types& out)       instead of eval: the result is no fresh memory (held Programs)
//   Array|Arrays vjp(const Vjp&)                         gradients of all inputs, an empty Array for zero
//   optional<Linearized> linearize(in, needs)            higher-order primitives only
//   Pushed jvp(in, tangents)                             results and their tangents, an empty Array for zero; derived
//                                                        (src/fx/dual.cpp) from linear, element() or vjp, transposed
//   Factors factors(const Types& in)                     sharding; `linear` says where pending sums may pass
//   P resized(local_in, local_out)                       the same operation on blocks, if parameters hold sizes
//   P lift(n)                                            the same operation with one more leading dimension
//   vector<Mapped> batch(in, const BatchRules&)          only if lift cannot express it
//   optional<vector<Sharded>> shard(in, ShardRules&)     only if factors cannot express it; nullopt: use factors
//   Cost cost(const Types& in, const Types& out)         default: bytes in and out, one FLOP per output element
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
// With values: `bool flat` (its derivative is zero everywhere, so its results need none), `bool chooses` (input 1 where
// input 0 is true, else input 2), `int in_place = k` (eval may be given out[0] == in[k]), `LoopRole loop` (how a fused
// loop computes it; op where there is an element()) and `string_view memory` (its results in the list of what a plan's
// memory holds; else its name). Derived: has_shard, and holds (it has Programs among its parameters).
#pragma once
#include <span>
#include <sstream>
#include "bora/array/param_bytes.h"
#include "bora/array/params.h"
#include "bora/array/saveable.h"
#include "bora/kernels/loop.h"

namespace bora {
struct InputView {
  const Type& type;
  const void* data;
  template <class T> const T* as() const { return static_cast<const T*>(data); }
};
struct OutputView {
  const Type& type;
  void* data;
  template <class T> T* as() const { return static_cast<T*>(data); }
};
using Inputs = std::span<const InputView>;
using Outputs = std::span<const OutputView>;
struct Cost {
  double flops = 0, bytes = 0;
};

/// How a fused loop computes an operation; alone: it runs outside of loops.
enum class LoopRole : std::uint8_t { alone, op, cast, bitcast, broadcast, iota, reduce, random };
using ProgramMap = std::function<ProgramPtr(const ProgramPtr&)>;

class Primitive {
 public:
  virtual ~Primitive() = default;
  struct Traits {
    bool collective = false, opaque = false, sized = false, enters_shard = false, has_shard = false,
         takes_symbolic = false, view = false, random = false, flat = false, blocks = false, barrier = false,
         calls = false, keeps_scope = false, moves = false, recomputed = false, chooses = false, holds = false,
         linear = false, forward_only = false, effect = false, any_dtype = false,
         by_order = false, by_bits = false;
    LoopRole loop = LoopRole::alone;
    int in_place = -1;
    std::string_view memory;
    /// Gives its results and does nothing else; may be merged with its like.
    bool plain() const { return !collective && !holds && !barrier && !effect; }
  };
  Traits traits;
  virtual std::string_view name() const = 0;
  virtual std::string params() const = 0;  // "axis=1 reverse=true"
  /// Its parameters as bytes; RegistryEntry::load reads them. Throws ValueError for one that holds a function.
  virtual void save(params::Writer&) const = 0;
  virtual bool equals(const Primitive&) const = 0;
  virtual std::size_t hash() const = 0;
  virtual std::vector<ProgramPtr> programs() const = 0;  // held Programs
  /// The same with f of every held Program in its place.
  virtual PrimitivePtr with_programs(const ProgramMap& f) const = 0;
  /// Its parameters without local sizes, on which all ranks must agree; for a collective, its line in the fingerprint.
  virtual std::string facts() const = 0;
  virtual MeshAxes named_axes() const = 0;  // axis names that a vmap(axis_name) may capture
  virtual std::optional<kernels::OpId> element() const = 0;
  virtual bool saved(Saveable, const std::vector<std::string>& names) const = 0;
  virtual Types infer(const Types&) const = 0;
  virtual void eval(Inputs, Outputs) const = 0;
  virtual Arrays run(const Arrays&, const Types& out) const = 0;
  virtual Cost cost(const Types& in, const Types& out) const = 0;
  virtual Arrays vjp(const Vjp&) const = 0;
  virtual std::optional<Linearized> linearize(const Arrays&, const Mask& needs) const = 0;
  virtual std::optional<Pushed> jvp(const Arrays&, const Arrays& tangents) const = 0;
  virtual std::optional<Factors> factors(const Types&) const = 0;
  virtual PrimitivePtr resized(const Types& local_in, const Types& local_out) const = 0;
  virtual std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const = 0;
  virtual std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const = 0;
};

/// p with f of every Program that it holds in its place; p itself if it holds none.
inline PrimitivePtr with_programs(const PrimitivePtr& p, const ProgramMap& f) {
  return p->traits.holds ? p->with_programs(f) : p;
}

struct PrimitiveSample {
  PrimitivePtr primitive;
  Arrays in;
};
/// All primitives linked into this program, for tests/laws. They register themselves.
struct RegistryEntry {
  std::string name;
  std::function<std::vector<PrimitiveSample>()> samples;
  PrimitivePtr (*load)(params::Reader&);
};
std::vector<RegistryEntry>& registry();

template <class P> using Samples = std::vector<std::pair<P, Arrays>>;
template <class P> PrimitivePtr primitive(P p);
/// The parameters of a primitive if it is a P, else null.
template <class P> const P* as(const Primitive& p);
template <class P> const P* as(const PrimitivePtr& p) { return as<P>(*p); }

namespace detail {
inline Types list(Type t) { return {std::move(t)}; }
inline Types list(Types t) { return t; }
inline Arrays list(Array a) { return {std::move(a)}; }
inline Arrays list(Arrays a) { return a; }
[[noreturn]] void missing_rule(std::string_view primitive, std::string_view rule);
Arrays run_into_fresh_buffers(const Primitive&, const Arrays& in, const Types& out);
void eval_by_run(const Primitive&, Inputs, Outputs);
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
  if constexpr (requires { P::flat; }) t.flat = P::flat;
  if constexpr (requires { P::chooses; }) t.chooses = P::chooses;
  if constexpr (requires { P::in_place; }) t.in_place = P::in_place;
  if constexpr (requires { P::loop; }) t.loop = P::loop;
  else if constexpr (requires(const P& p) { p.element(); }) t.loop = LoopRole::op;
  t.memory = P::name;
  if constexpr (requires { P::memory; }) t.memory = P::memory;
  return t;
}
}  // namespace detail

template <class P> class PrimitiveOf final : public Primitive {
 public:
  explicit PrimitiveOf(P params) : p(std::move(params)) {
    (void)registered;
    static constexpr Traits t = detail::traits_of<P>();
    traits = t;
    traits.holds = !programs().empty();
    traits.enters_shard = t.enters_shard || traits.holds;  // a held Program may reshard, or draw its block
  }
  const P p;
  std::string_view name() const override { return P::name; }
  std::string params() const override {
    std::ostringstream o;
    params::print(o, p);
    return o.str();
  }
  void save(params::Writer& w) const override { params::write(w, p); }
  bool equals(const Primitive& o) const override {
    auto* q = dynamic_cast<const PrimitiveOf*>(&o);
    return q && params::equal(p, q->p);
  }
  std::size_t hash() const override { return hash_combine(std::hash<std::string_view>{}(P::name), params::hash(p)); }
  std::vector<ProgramPtr> programs() const override {
    std::vector<ProgramPtr> r;
    fields::for_each(p, [&](std::string_view, const auto& m) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(m)>, ProgramPtr>)
        if (m) r.push_back(m);
    });
    return r;
  }
  PrimitivePtr with_programs(const ProgramMap& f) const override {
    auto q = p;
    fields::for_each(q, [&](std::string_view, auto& m) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(m)>, ProgramPtr>)
        if (m) m = f(m);
    });
    return primitive(std::move(q));
  }
  std::string facts() const override {
    std::ostringstream o;
    fields::for_each(p, [&](std::string_view field, const auto& m) {
      if (field.ends_with("sizes")) return;  // by convention fields named ..sizes hold local sizes
      o << ' ' << field << '=';
      params::print(o, m);
    });
    return o.str();
  }
  MeshAxes named_axes() const override {
    if constexpr (
        requires {
          p.axes;
          P::collective;
        } ||
        requires {
          p.axes;
          P::opaque;
        })
      return p.axes;
    else return {};
  }
  std::optional<kernels::OpId> element() const override {
    if constexpr (requires { p.element(); }) return p.element();
    else return std::nullopt;
  }
  bool saved(Saveable keep, const std::vector<std::string>& names) const override {
    if constexpr (requires { p.saved(keep, names); }) return p.saved(keep, names);
    else return keep == Saveable::everything && !traits.recomputed;
  }
  Types infer(const Types& in) const override { return detail::list(p.infer(in)); }
  void eval(Inputs in, Outputs out) const override {
    if constexpr (requires { p.eval(in, out); }) p.eval(in, out);
    else if constexpr (requires(const Arrays& a, const Types& t) { p.run(a, t); }) detail::eval_by_run(*this, in, out);
    else detail::missing_rule(P::name, "eval");
  }
  Arrays run(const Arrays& in, const Types& out) const override {
    if constexpr (requires { p.run(in, out); }) return p.run(in, out);
    else return detail::run_into_fresh_buffers(*this, in, out);
  }
  Cost cost(const Types& in, const Types& out) const override {
    if constexpr (requires { p.cost(in, out); }) return p.cost(in, out);
    Cost c;
    for (auto& t : in) c.bytes += static_cast<double>(t.nbytes());
    for (auto& t : out) {
      c.bytes += static_cast<double>(t.nbytes());
      c.flops += static_cast<double>(t.size());
    }
    return c;
  }
  Arrays vjp(const Vjp& v) const override {
    if constexpr (requires { p.vjp(v); }) return detail::list(p.vjp(v));
    else detail::missing_rule(P::name, "vjp");
  }
  std::optional<Linearized> linearize(const Arrays& in, const Mask& needs) const override {
    if constexpr (requires { p.linearize(in, needs); }) return p.linearize(in, needs);
    else return std::nullopt;
  }
  std::optional<Pushed> jvp(const Arrays& in, const Arrays& tangents) const override {
    if constexpr (requires { p.jvp(in, tangents); }) return p.jvp(in, tangents);
    else return std::nullopt;
  }
  std::optional<Factors> factors(const Types& in) const override {
    if constexpr (requires { p.factors(in); }) return p.factors(in);
    else return std::nullopt;
  }
  PrimitivePtr resized(const Types& in, const Types& out) const override {
    if constexpr (requires { p.resized(in, out); }) return primitive(p.resized(in, out));
    else return primitive(p);
  }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const override {
    if constexpr (requires { p.batch(in, b); }) return p.batch(in, b);
    else if constexpr (requires { p.lift(b.size); }) return b.lifted(primitive(p.lift(b.size)), in);
    else detail::missing_rule(P::name, "lift or batch");
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const override {
    if constexpr (requires { p.shard(in, s); }) return p.shard(in, s);
    else return std::nullopt;
  }

 private:
  static std::vector<PrimitiveSample> samples() {
    std::vector<PrimitiveSample> r;
    if constexpr (requires { P::samples(); })
      for (auto& [params, in] : P::samples()) r.push_back({primitive(params), in});
    return r;
  }
  static PrimitivePtr load(params::Reader& r) {
    if constexpr (std::is_default_constructible_v<P>) {
      P p{};
      params::read(r, p);
      return primitive(std::move(p));
    } else params::no_bytes();
  }
  inline static const bool registered = (registry().push_back({std::string(P::name), &samples, &load}), true);
};
template <class P> PrimitivePtr primitive(P p) { return std::make_shared<const PrimitiveOf<P>>(std::move(p)); }
template <class P> const P* as(const Primitive& p) {
  auto* q = dynamic_cast<const PrimitiveOf<P>*>(&p);
  return q ? &q->p : nullptr;
}
template <class P>
requires(!std::is_convertible_v<P, PrimitivePtr>) Arrays call(P p, const Arrays& in) {
  return call(primitive(std::move(p)), in);
}
template <class P> Array call_one(P p, const Arrays& in) { return call(primitive(std::move(p)), in).front(); }
}  // namespace bora
