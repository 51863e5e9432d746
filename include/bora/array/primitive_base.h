// primitive_base.h -- an operation as interpreters and passes see it: its traits, its rules as a table of functions,
// and how its parameters are read. primitive.h makes the table of a struct of parameters.
#pragma once
#include <optional>
#include <typeinfo>
#include "bora/array/rules.h"
#include "bora/array/saveable.h"
#include "bora/array/views.h"

namespace bora::param_rules {
class Writer;
class Reader;
struct Kind;
}  // namespace bora::param_rules

namespace bora {
namespace kernels {
using OpId = std::uint16_t;  // an elementwise operation (src/kernels/api/loop.h)
}
struct Cost {  // of one call: floating-point operations, and bytes read and written
  double flops = 0, bytes = 0;
};

/// How a fused loop computes an operation; alone: it runs outside of loops.
enum class LoopRole : std::uint8_t { alone, op, cast, bitcast, broadcast, iota, reduce, random };
/// What stands in place of each Program that a primitive holds.
using ProgramMap = std::function<ProgramPtr(const ProgramPtr&)>;

struct Rules;
/// One operation with its parameters, as all interpreters see it: it never changes. primitive() makes one.
class Primitive {
 public:
  struct Traits {
    bool collective = false, opaque = false, sized = false, enters_shard = false, has_shard = false,
         takes_symbolic = false, view = false, random = false, flat = false, blocks = false, barrier = false,
         calls = false, keeps_scope = false, moves = false, recomputed = false, chooses = false, holds = false,
         linear = false, forward_only = false, effect = false, any_dtype = false,
         by_order = false, by_bits = false, expands = false;
    LoopRole loop = LoopRole::alone;
    int in_place = -1, core = -1;
    std::string_view memory;
    /// Gives its results and does nothing else; may be merged with its like.
    bool plain() const { return !collective && !holds && !barrier && !effect; }
  };
  Traits traits;
  std::string_view name() const;
  std::string params() const;  // "axis=1 reverse=true"
  /// Its parameters as bytes; RegistryEntry::load reads them. Throws ValueError for one that holds a function.
  void save(param_rules::Writer&) const;
  bool equals(const Primitive&) const;
  std::size_t hash() const;
  std::vector<ProgramPtr> programs() const;  // held Programs
  /// The same with f of every held Program in its place.
  PrimitivePtr with_programs(const ProgramMap& f) const;
  /// Its parameters without local sizes, on which all ranks must agree; for a collective, its line in the fingerprint.
  std::string facts() const;
  MeshAxes named_axes() const;  // axis names that a vmap(axis_name) may capture
  std::optional<kernels::OpId> element() const;
  bool saved(Saveable, const std::vector<std::string>& names) const;
  Types infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Arrays run(const Arrays&, const Types& out) const;
  Arrays expand(const Arrays&) const;
  Cost cost(const Types& in, const Types& out) const;
  Arrays vjp(const Vjp&) const;
  std::optional<Linearized> linearize(const Arrays&, const Mask& needs) const;
  std::optional<Pushed> jvp(const Arrays&, const Arrays& tangents) const;
  std::optional<DimFactors> factors(const Types&) const;
  PrimitivePtr resized(const Types& local_in, const Types& local_out) const;
  std::vector<Mapped> batch(const std::vector<Mapped>&, const BatchRules&) const;
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>&, ShardRules&) const;

 protected:
  explicit Primitive(const Rules& rules);
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;
  ~Primitive() = default;
  /// Takes its parameters, and the traits that depend on them.
  void set(const void* p);
  const Rules& rules_;
  const void* p_ = nullptr;  // its parameters
  template <class P> friend const P* as(const Primitive&);
};
/// The rules of one type of primitives, as functions of its parameters; those that P does not have are null.
struct Rules {
  const std::type_info* type;
  std::string_view name;
  Primitive::Traits traits;
  const param_rules::Kind& (*kind)();
  std::size_t size, alignment;          // of the parameters
  void (*copy)(void* to, const void*);  // null, like move: their bytes are copied
  void (*move)(void* to, void*);
  void (*initial)(void* to);            // null: they have no initial values
  void (*destroy)(void*);               // null: nothing is to be done
  MeshAxes (*named_axes)(const void*);
  std::optional<kernels::OpId> (*element)(const void*);
  bool (*saved)(const void*, Saveable, const std::vector<std::string>& names);
  Types (*infer)(const void*, const Types&);
  void (*eval)(const void*, InputViews, OutputViews);
  Arrays (*run)(const void*, const Arrays&, const Types& out);
  Arrays (*expand)(const void*, const Arrays&);
  Cost (*cost)(const void*, const Types& in, const Types& out);
  Arrays (*vjp)(const void*, const Vjp&);
  std::optional<Linearized> (*linearize)(const void*, const Arrays&, const Mask& needs);
  std::optional<Pushed> (*jvp)(const void*, const Arrays&, const Arrays& tangents);
  std::optional<DimFactors> (*factors)(const void*, const Types&);
  PrimitivePtr (*resized)(const void*, const Types& local_in, const Types& local_out);
  PrimitivePtr (*lift)(const void*, std::int64_t n);
  std::vector<Mapped> (*batch)(const void*, const std::vector<Mapped>&, const BatchRules&);
  std::optional<std::vector<Sharded>> (*shard)(const void*, const std::vector<Sharded>&, ShardRules&);
};
inline std::string_view Primitive::name() const { return rules_.name; }
inline Types Primitive::infer(const Types& in) const { return rules_.infer(p_, in); }

/// p with f of every Program that it holds in its place; p itself if it holds none.
inline PrimitivePtr with_programs(const PrimitivePtr& p, const ProgramMap& f) {
  return p->traits.holds ? p->with_programs(f) : p;
}

struct PrimitiveSample {  // a call that the laws try: P::samples() lists them
  PrimitivePtr primitive;
  Arrays in;
};
/// All primitives linked into this program, for tests/laws. They register themselves.
struct RegistryEntry {
  std::string name;
  std::vector<PrimitiveSample> (*samples)();
  const Rules* rules;
  PrimitivePtr load(param_rules::Reader&) const;
};
std::vector<RegistryEntry>& registry();  // of this process; a primitive's instantiation adds its entry

/// What P::samples() gives: parameters, and operands for them.
template <class P> using SamplesOf = std::vector<std::pair<P, Arrays>>;
/// An operation with these parameters; defined in primitive.h. A P that other units make is compiled in one of them,
/// and its header declares `extern template PrimitivePtr primitive<P>(P)`: whoever makes one reads none of its rules.
template <class P> PrimitivePtr primitive(P p);
/// The parameters of a primitive if it is a P, else null.
template <class P> const P* as(const Primitive& p) {
  return *p.rules_.type == typeid(P) ? static_cast<const P*>(p.p_) : nullptr;
}
template <class P> const P* as(const PrimitivePtr& p) { return as<P>(*p); }
/// The results of one operation with these parameters.
template <class P>
requires(!std::is_convertible_v<P, PrimitivePtr>) Arrays call(P p, const Arrays& in) {
  return call(primitive(std::move(p)), in);
}
/// The only result of one operation.
template <class P> Array call_one(P p, const Arrays& in) { return call(primitive(std::move(p)), in).front(); }
}  // namespace bora
