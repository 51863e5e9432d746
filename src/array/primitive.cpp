// Primitives by their rules, what holds where a rule is missing, and the registry.
#include "bora/array/primitive_base.h"
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <sstream>
#include "bora/base/denormals.h"
#include "kernels/api/loop.h"
#include "bora/array/primitive.h"

namespace bora {
Primitive::Primitive(const Rules& rules) : traits(rules.traits), rules_(rules) {}

// ---- memory for parameters ------------------------------------------------------------------------------------------
namespace {
/// Constructs parameters in `to`; from: others of the same type.
using Start = void (*)(const Rules&, void* to, void* from);
void copied(const Rules& rules, void* to, void* from) {
  if (rules.copy) rules.copy(to, from);
  else std::memcpy(to, from, rules.size);
}
void moved(const Rules& rules, void* to, void* from) {
  if (rules.move) rules.move(to, from);
  else std::memcpy(to, from, rules.size);
}
void initial(const Rules& rules, void* to, void*) {
  if (!rules.initial) param_rules::no_bytes();
  rules.initial(to);
}
template <std::size_t Size> struct Inside {
  explicit Inside(const Rules&) {}
  void* at() { return bytes; }
  alignas(std::max_align_t) std::byte bytes[Size];
};
struct Apart {
  explicit Apart(const Rules& r) : alignment{r.alignment}, bytes(::operator new(r.size, alignment)) {}
  ~Apart() { ::operator delete(bytes, alignment); }
  void* at() { return bytes; }
  std::align_val_t alignment;
  void* bytes;
};
/// A primitive and its parameters. Rooms of few sizes: each is one more type to compile.
template <class Room> class Held final : public Primitive {
 public:
  explicit Held(const Rules& rules) : Primitive(rules), room_(rules) {}
  Held(const Rules& rules, Start start, void* from, const std::function<void(void*)>* edit) : Held(rules) {
    start(rules, room_.at(), from);
    p_ = room_.at();
    if (edit) (*edit)(room_.at());
    set(room_.at());
  }
  ~Held() {
    if (p_ && rules_.destroy) rules_.destroy(room_.at());
  }

 private:
  Room room_;
};
PrimitivePtr held(const Rules& rules, Start start, void* from, const std::function<void(void*)>* edit = nullptr) {
  if (rules.alignment > alignof(std::max_align_t) || rules.size > 512)
    return std::make_shared<const Held<Apart>>(rules, start, from, edit);
  if (rules.size <= 16) return std::make_shared<const Held<Inside<16>>>(rules, start, from, edit);
  if (rules.size <= 64) return std::make_shared<const Held<Inside<64>>>(rules, start, from, edit);
  if (rules.size <= 192) return std::make_shared<const Held<Inside<192>>>(rules, start, from, edit);
  return std::make_shared<const Held<Inside<512>>>(rules, start, from, edit);
}
}  // namespace
PrimitivePtr detail::make_primitive(const Rules& rules, void* p) { return held(rules, &moved, p); }
PrimitivePtr RegistryEntry::load(param_rules::Reader& r) const {
  const std::function<void(void*)> read = [&](void* p) { param_rules::read(r, p, rules->kind()); };
  return held(*rules, &initial, nullptr, &read);
}

// ---- parameters -----------------------------------------------------------------------------------------------------
namespace {
/// Calls f with every field for a Program.
template <class F> void each_program(const param_rules::Kind& kind, const void* p, const F& f) {
  if (!kind.fields) return;
  for (auto& field : kind.fields(p))
    if (field.kind->program) f(field);
}
}  // namespace
void Primitive::set(const void* p) {
  p_ = p;
  if (!rules_.copy) return;  // plain bytes hold no Program
  each_program(rules_.kind(), p, [&](auto& field) {
    if (*static_cast<const ProgramPtr*>(field.in(p))) traits.holds = true;
  });
  traits.enters_shard = traits.enters_shard || traits.holds;  // a held Program may reshard, or draw its block
}
std::string Primitive::params() const {
  std::ostringstream o;
  param_rules::print(o, p_, rules_.kind());
  return o.str();
}
void Primitive::save(param_rules::Writer& w) const { param_rules::write(w, p_, rules_.kind()); }
bool Primitive::equals(const Primitive& o) const {
  return *rules_.type == *o.rules_.type && param_rules::equal(p_, o.p_, rules_.kind());
}
std::size_t Primitive::hash() const {
  return hash_combine(std::hash<std::string_view>{}(rules_.name), param_rules::hash(p_, rules_.kind()));
}
std::vector<ProgramPtr> Primitive::programs() const {
  std::vector<ProgramPtr> r;
  each_program(rules_.kind(), p_, [&](auto& field) {
    if (auto& program = *static_cast<const ProgramPtr*>(field.in(p_))) r.push_back(program);
  });
  return r;
}
PrimitivePtr Primitive::with_programs(const ProgramMap& f) const {
  const std::function<void(void*)> replace = [&](void* p) {
    each_program(rules_.kind(), p, [&](auto& field) {
      if (auto& program = *static_cast<ProgramPtr*>(field.in(p))) program = f(program);
    });
  };
  return held(rules_, &copied, const_cast<void*>(p_), &replace);
}
std::string Primitive::facts() const {
  std::ostringstream o;
  for (auto& field : rules_.kind().fields(p_)) {
    if (field.name.ends_with("sizes")) continue;  // by convention fields named ..sizes hold local sizes
    if (field.kind->program) continue;            // whoever reads facts goes through held Programs itself
    o << ' ' << field.name << '=';
    param_rules::print(o, field.in(p_), *field.kind);
  }
  return o.str();
}

// ---- rules ----------------------------------------------------------------------------------------------------------
namespace {
[[noreturn]] void missing_rule(std::string_view primitive, std::string_view rule) {
  if (rule == "vjp")
    fail<TraceError>(primitive, " cannot be differentiated, neither in reverse (grad, vjp) nor forward (jvp, jacfwd): ",
                     "it has no vjp rule; stop_gradient() what it is given if no derivative is wanted");
  fail<TraceError>(primitive, " has no ", rule, " rule");
}
Arrays run_into_fresh_buffers(const Primitive& p, const Arrays& in, const Types& out) {
  if (p.traits.view) return {adopt(out.front(), memory_of(in.front()))};
  Arrays r;
  std::vector<InputView> i;
  std::vector<OutputView> o;
  i.reserve(in.size());
  o.reserve(out.size());
  r.reserve(out.size());
  for (auto& a : in) i.push_back({a.type(), a.bytes()});
  for (auto& t : out) {
    auto b = new_buffer(t);
    o.push_back({t, b.data});
    r.push_back(b.done());
  }
  FlushDenormals flush(flushes_denormals());
  p.eval(i, o);
  return r;
}
/// For a primitive that returns its own Arrays: runs it and copies its results into the given memory.
void eval_by_run(const Primitive& p, InputViews in, OutputViews out) {
  Arrays a;
  Types t;
  for (auto& i : in)
    a.push_back(adopt(i.type, std::shared_ptr<void>(std::shared_ptr<void>(), const_cast<void*>(i.data))));
  for (auto& o : out) t.push_back(o.type);
  auto r = p.run(a, t);
  for (std::size_t k = 0; k < out.size(); ++k)
    if (r[k].bytes() != out[k].data && t[k].nbytes()) std::memcpy(out[k].data, r[k].bytes(), t[k].nbytes());
}
}  // namespace
MeshAxes Primitive::named_axes() const { return rules_.named_axes ? rules_.named_axes(p_) : MeshAxes(); }
std::optional<kernels::OpId> Primitive::element() const {
  return rules_.element ? rules_.element(p_) : std::nullopt;
}
bool Primitive::saved(Saveable keep, const std::vector<std::string>& names) const {
  if (rules_.saved) return rules_.saved(p_, keep, names);
  return keep == Saveable::everything && !traits.recomputed;
}
void Primitive::eval(InputViews in, OutputViews out) const {
  if (rules_.eval) rules_.eval(p_, in, out);
  else if (rules_.run || rules_.expand) eval_by_run(*this, in, out);
  else missing_rule(name(), "eval");
}
Arrays Primitive::run(const Arrays& in, const Types& out) const {
  if (rules_.expand) {
    Within w(eval_interpreter());
    return rules_.expand(p_, in);
  }
  return rules_.run ? rules_.run(p_, in, out) : run_into_fresh_buffers(*this, in, out);
}
Arrays Primitive::expand(const Arrays& in) const {
  if (!rules_.expand) missing_rule(name(), "expand");
  return rules_.expand(p_, in);
}
Cost Primitive::cost(const Types& in, const Types& out) const {
  if (rules_.cost) return rules_.cost(p_, in, out);
  Cost c;
  for (auto* types : {&in, &out})
    for (auto& t : *types) c.bytes += static_cast<double>(t.nbytes());
  if (traits.moves || traits.collective) return c;
  for (auto& t : traits.loop == LoopRole::reduce ? in : out) c.flops += static_cast<double>(t.size());
  return c;
}
Arrays Primitive::vjp(const Vjp& v) const {
  if (!rules_.vjp) missing_rule(name(), "vjp");
  return rules_.vjp(p_, v);
}
std::optional<Linearized> Primitive::linearize(const Arrays& in, const Mask& needs) const {
  return rules_.linearize ? rules_.linearize(p_, in, needs) : std::nullopt;
}
std::optional<Pushed> Primitive::jvp(const Arrays& in, const Arrays& tangents) const {
  return rules_.jvp ? rules_.jvp(p_, in, tangents) : std::nullopt;
}
std::optional<DimFactors> Primitive::factors(const Types& in) const {
  if (rules_.factors || traits.core < 0) return rules_.factors ? rules_.factors(p_, in) : std::nullopt;
  return batch_factors(in, infer(in), in[0].shape.size() - static_cast<std::size_t>(traits.core));
}
PrimitivePtr Primitive::resized(const Types& local_in, const Types& local_out) const {
  if (rules_.resized) return rules_.resized(p_, local_in, local_out);
  return held(rules_, &copied, const_cast<void*>(p_));
}
std::vector<Mapped> Primitive::batch(const std::vector<Mapped>& in, const BatchRules& b) const {
  if (rules_.batch) return rules_.batch(p_, in, b);
  if (rules_.lift) return b.lifted(rules_.lift(p_, b.size), in);
  if (traits.core >= 0) return b.lifted(resized({}, {}), in);
  missing_rule(name(), "lift or batch");
}
std::optional<std::vector<Sharded>> Primitive::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  return rules_.shard ? rules_.shard(p_, in, s) : std::nullopt;
}

// ---- the registry ---------------------------------------------------------------------------------------------------
std::vector<RegistryEntry>& registry() {
  static std::vector<RegistryEntry> r;
  return r;
}
bool detail::add_primitive(const RegistryEntry& added) {
  auto& all = registry();
  if (std::none_of(all.begin(), all.end(), [&](auto& e) { return *e.rules->type == *added.rules->type; }))
    all.push_back(added);
  return true;
}
}  // namespace bora
