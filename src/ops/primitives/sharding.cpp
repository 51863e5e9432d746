// Primitives on Specs: reshard, reshard_like, accumulate, and the two ends of shard_map.
#include "array/api/splits.h"
#include "ops/api/collective_primitives.h"
#include "bora/array/communicator.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "kernels/api/loop.h"
#include "ops/api/blocks.h"
#include "ops/api/same_everywhere.h"
#include "ops/primitives/elementwise_rules.h"
#include "bora/array/primitive.h"

namespace bora {
namespace ops {
namespace {
Spec prepend_unsplit(Spec s) {
  s.insert(0, MeshAxes{});
  return s;
}
/// The Spec of a mapped array: the mapped dimension is split over the mesh axes that the vmap is given, else over the
/// one that has its name, so that each rank holds some of the replicas.
Spec with_mapped(const Spec& s, const BatchRules& b) {
  auto lifted = prepend_unsplit(s);
  auto* mesh = here().mesh;
  if (!mesh) return lifted;
  for (auto& a : b.over.axes)
    if (mesh->has(a) && !s.uses(a)) lifted[0].push_back(a);
  if (!lifted[0].empty() || b.axis_name.empty()) return lifted;
  if (AxisName axis(b.axis_name); mesh->has(axis) && !s.uses(axis)) lifted[0].push_back(axis);
  return lifted;
}
/// The same for a constraint, which says nothing about a mapped dimension that no mesh axis is for.
Spec constraint_on_mapped(const Spec& s, const BatchRules& b) {
  for (auto& a : b.over.axes)
    check<ShardError>(!b.over.strict || !s.uses(a), "vmap: its spmd_axis_name '", a.str(), "' splits the mapped axis, "
                      "and the constraint ", s, " inside of it uses the same mesh axis; name each axis once");
  auto lifted = with_mapped(s, b);
  if (lifted[0].empty()) lifted[0] = unconstrained;
  return lifted;
}
/// The Spec that a constraint gives x: unconstrained dimensions keep their axes but those that the others take.
Spec constrained(Spec spec, const Spec& x) {
  auto said = spec;
  for (std::size_t d = 0; d < spec.size(); ++d) {
    if (!said[d].open()) continue;
    std::size_t k = 0;
    while (k < x[d].size() && !said.uses(x[d][k])) ++k;
    spec[d] = x[d].head(k);
  }
  return spec;
}
bool splits_over(const Spec& spec, const MeshAxes& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](auto& a) { return spec.uses(a); });
}
Type constrained_type(const Spec& spec, const Types& in) {
  check<ShardError>(spec.size() <= in[0].shape.size(), "with_sharding_constraint: Spec", spec, " has ", spec.size(),
                    " entries, but the array is ", in[0]);
  return in[0];
}
/// A backward pass gathers parameters again (`recomputed`) instead of keeping them whole. No rule needs of_rows and
/// mapped: files of Programs have them.
struct Reshard {
  Spec spec;
  bool of_rows = false;
  std::int64_t mapped = 0;  // dimensions in front that vmaps put there
  static constexpr std::string_view name = "reshard";
  static constexpr bool enters_shard = true, takes_symbolic = true, view = true, keeps_scope = true, recomputed = true,
                        linear = true;
  Type infer(const Types& in) const { return constrained_type(spec, in); }
  Array vjp(const Vjp& v) const { return reshard_like(v.ct[0], v.in[0]); }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    return b.lifted(primitive(Reshard{constraint_on_mapped(spec, b), of_rows, mapped + 1}), in);
  }
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    return {s.reshard(in[0], constrained(spec, in[0].spec))};
  }
  static SamplesOf<Reshard> samples() { return {{{Spec{"data", none}, false}, {random_values({3, 2}, -1, 1, 1)}},
            {{Spec{none, "data"}, true}, {random_values({3, 2}, -1, 1, 2)}}}; }
};
/// The operand's Spec is not known while a Program is staged (Programs are global), so the vjp names the operand
/// instead.
struct ReshardLike {
  bool complete;
  Spec mapped = {};  // of dimensions in front that vmaps put there: splits of those that the second operand has not
  static constexpr std::string_view name = "reshard_like";
  static constexpr bool takes_symbolic = true, view = true, linear = true;
  Type infer(const Types& in) const { return in[0]; }
  Arrays vjp(const Vjp& v) const { return {reshard_like(v.ct[0], v.in[0]), {}}; }
  /// The gradients that the lanes have of one parameter stay with their ranks.
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    return b.lifted(primitive(ReshardLike{complete, in[1].axis < 0 ? with_mapped(mapped, b) : prepend_unsplit(mapped)}),
                    in);
  }
  /// A split operand gets a split cotangent. For an operand that is replicated, a pending sum stays pending.
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto spec = in[1].spec;
    for (std::size_t d = 0; d < mapped.size(); ++d)
      for (auto& a : mapped[d])
        if (!spec.uses(a)) spec[d].push_back(a);
    return {s.reshard(in[0], spec, complete ? MeshAxes{} : in[0].partial)};
  }
  static SamplesOf<ReshardLike> samples() {
    SamplesOf<ReshardLike> r;
    for (bool complete : {false, true})
      r.push_back({{complete}, {random_values({3, 2}, -1, 1, 1), random_values({3, 2}, -1, 1, 2)}});
    return r;
  }
};
/// reshard_like whose sums over some axes travel as `wire` says. Its own derivative is exact.
struct GradientLike {
  bool complete;
  Wire wire;
  MeshAxes over;
  static constexpr std::string_view name = "gradient_like";
  static constexpr bool takes_symbolic = true, view = true, linear = true;
  Type infer(const Types& in) const { return in[0]; }
  Arrays vjp(const Vjp& v) const { return {reshard_like(v.ct[0], v.in[0]), {}}; }
  GradientLike lift(std::int64_t) const { return *this; }
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    return {s.reshard_over(in[0], in[1].spec, complete ? MeshAxes{} : in[0].partial, wire, over)};
  }
  static SamplesOf<GradientLike> samples() {  // exact: the laws compare with a sum in one process
    return {{{true, {}, {"data"}}, {random_values({3, 2}, -1, 1, 1), random_values({3, 2}, -1, 1, 2)}}};
  }
};
/// Reshard of a parameter whose gradient travels rounded: its vjp is a GradientLike. A dimension that a vmap adds
/// changes nothing: the stages of a pipeline, whose ranks share the rows, have parameters too.
struct ReshardParameter {
  Spec spec;
  Wire wire;
  MeshAxes over;
  static constexpr std::string_view name = "reshard_parameter";
  static constexpr bool enters_shard = true, takes_symbolic = true, view = true, keeps_scope = true, recomputed = true,
                        linear = true;
  Type infer(const Types& in) const { return constrained_type(spec, in); }
  Array vjp(const Vjp& v) const { return call_one(GradientLike{false, wire, over}, {v.ct[0], v.in[0]}); }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    return b.lifted(primitive(ReshardParameter{constraint_on_mapped(spec, b), wire, over}), in);
  }
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    return {s.reshard(in[0], constrained(spec, in[0].spec))};
  }
  static SamplesOf<ReshardParameter> samples() {  // exact, as those of GradientLike
    return {{{Spec{none, none}, {}, {"data"}}, {random_values({3, 2}, -1, 1, 1)}},
            {{Spec{"data", none}, {}, {"data"}}, {random_values({3, 2}, -1, 1, 2)}}};
  }
};
/// `add` completes a pending sum before mixing it with a complete value, so that other uses share the result. An
/// accumulator wants the opposite: stay pending through the whole loop, complete once behind it.
struct Accumulate {
  static constexpr std::string_view name = "accumulate";
  static constexpr bool takes_symbolic = true;
  static constexpr int in_place = 0;
  Type infer(const Types& in) const {
    check<ShapeError>(in[0] == in[1], "accumulate: ", in[0], " and ", in[1], " differ");
    return in[0];
  }
  kernels::OpId element() const { return kernels::find_op("add"); }
  void eval(InputViews in, OutputViews out) const {
    static OneOpKernels kernels;
    kernels.run(element(), in, out);
  }
  Arrays vjp(const Vjp& v) const { return {v.ct[0], v.ct[0]}; }
  Accumulate lift(std::int64_t) const { return {}; }
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    const auto& spec = in[1].spec.trivial() ? in[0].spec : in[1].spec;
    auto a = s.reshard(in[0], spec, in[0].partial), b = s.reshard(in[1], spec, in[1].partial);
    auto lacking = [](const Sharded& x, const Sharded& y) {
      MeshAxes r;
      for (auto& m : y.partial)
        if (!x.partial.has(m)) r.push_back(m);
      return r;
    };
    auto la = lacking(a, b), lb = lacking(b, a);
    if (!la.empty()) a = s.to_partial(a, la);
    if (!lb.empty()) b = s.to_partial(b, lb);
    a.local = call_one(Accumulate{}, {a.local, b.local});
    return {a};
  }
  static SamplesOf<Accumulate> samples() {
    return {{{}, {random_values({2, 3}, -1, 1, 1), random_values({2, 3}, -1, 1, 2)}}};
  }
};
/// Axes of the mesh in force that neither Spec nor partial mention.
MeshAxes unmentioned(std::string_view what, const Spec& spec, const MeshAxes& partial) {
  MeshAxes r;
  for (auto& a : this_mesh(what).axes)
    if (!spec.uses(a.first) && !partial.has(a.first)) r.push_back(a.first);
  return r;
}
/// The mesh axis with the name of a vmap over n elements, if the region of a shard_map leaves it to the vmap: each of
/// its ranks works on its own elements there, as it does where with_sharding_constraint splits them.
std::optional<AxisName> axis_of_vmap(const BatchRules& b, const MeshAxes& unused) {
  if (b.axis_name.empty() || !here().mesh) return none;
  AxisName axis(b.axis_name);
  return unused.has(axis) && here().mesh->has(axis) ? std::optional(axis) : none;
}
MeshAxes without(MeshAxes axes, const AxisName& axis) {
  axes.remove(axis);
  return axes;
}
/// n elements of a vmap, as many for each rank of this axis.
void check_spread(std::int64_t n, const AxisName& axis, const BatchRules& b) {
  auto& mesh = *here().mesh;
  check<ShardError>(mesh.cuts_evenly(n, MeshAxes(std::vector{axis})), "shard_map: the ", n,
                    " elements of a vmap named '", b.axis_name, "' cannot be spread evenly over the ",
                    mesh.axis_size(axis), " ranks of that mesh axis (mesh ", to_string(mesh), ")");
}
struct ToLocal {
  Spec spec;
  Shape local_sizes;
  MeshAxes unused = {};
  static constexpr std::string_view name = "to_local";
  static constexpr bool enters_shard = true, takes_symbolic = true, view = true, blocks = true, linear = true;
  Type infer(const Types& in) const { return {local_sizes, in[0].dtype}; }
  /// Every rank got the replicated operand: the cotangents add up.
  Array vjp(const Vjp& v) const {
    return to_global(v.ct[0], v.in[0].shape(), spec, unmentioned(name, spec, {}), unused);
  }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    auto axis = axis_of_vmap(b, unused);
    if (!axis) return b.lifted(primitive(ToLocal{prepend_unsplit(spec), prepend(b.size, local_sizes), unused}), in);
    auto ranks = here().mesh->axis_size(*axis);
    check_spread(b.size, *axis, b);
    auto lifted = prepend_unsplit(spec);
    lifted[0].push_back(*axis);
    return b.lifted(primitive(ToLocal{lifted, prepend(b.size / ranks, local_sizes), without(unused, *axis)}), in);
  }
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto y = s.reshard(in[0], spec);
    return {{y.local, y.local.type(), Spec::replicated(y.spec.size())}};
  }
};
struct ToGlobal {
  Shape shape;
  Spec spec;
  MeshAxes partial;
  MeshAxes unused = {};
  static constexpr std::string_view name = "to_global";
  static constexpr bool enters_shard = true, view = true, blocks = true, linear = true;
  Type infer(const Types& in) const { return {shape, in[0].dtype}; }
  /// Asserting that it is replicated takes the mean over the axes not named.
  Array vjp(const Vjp& v) const {
    auto copies = this_mesh(name).parts(unmentioned(name, spec, partial));
    auto g = to_local(v.ct[0], spec, unused);
    return copies == 1 ? g : g / copies;
  }
  /// b.size: of this rank's elements.
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    auto axis = axis_of_vmap(b, unused);
    auto lifted = prepend_unsplit(spec);
    if (!axis) return b.lifted(primitive(ToGlobal{prepend(b.size, shape), lifted, partial, unused}), in);
    auto ranks = here().mesh->axis_size(*axis);
    check_spread(b.size * ranks, *axis, b);
    lifted[0].push_back(*axis);
    auto y = b.lifted(primitive(ToGlobal{prepend(b.size * ranks, shape), lifted, without(partial, *axis),
                                         without(unused, *axis)}), in);
    // A sum over these ranks is one of as many equal terms: each would have computed all elements.
    if (partial.has(*axis)) y[0].value = y[0].value * ranks;
    return y;
  }
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto want = s.local_shape(shape, spec);
    check<ShardError>(in[0].type.shape == want, "shard_map: this rank returned ", in[0].type.shape,
                      " where its block of ", shape, " is ", want);
    return {{in[0].local, {shape, in[0].type.dtype}, spec, partial}};
  }
};
Spec padded(std::string_view what, Spec s, const Shape& shape) {
  check<ShardError>(s.size() <= shape.size(), what, ": Spec", s, " has ", s.size(),
                    " entries, but the array has shape ", shape);
  s.resize(shape.size());
  return s;
}
}  // namespace
PrimitivePtr resharding(const Spec& spec) { return primitive(Reshard{spec}); }
const Spec* constraint_of(const Primitive& p) {
  auto* r = as<Reshard>(p);
  auto* parameter = as<ReshardParameter>(p);
  return r ? &r->spec : parameter ? &parameter->spec : nullptr;
}
}  // namespace ops

GradientWire::GradientWire(const Wire& w, const MeshAxes& axes) : wire(w), over(axes) {
  check<ValueError>(!wire.blocks() || valid_block(wire.block), "GradientWire: blocks of ", word(wire.codec),
                    " have a multiple of 64 numbers up to 4096, got ", wire.block);
}
Array with_sharding_constraint(const Array& x, const Spec& spec, const GradientWire& gradients) {
  return ops::placed("with_sharding_constraint", x, spec, gradients, kComparedBytes);
}
Array ops::placed(std::string_view what, const Array& x, const Spec& spec, const GradientWire& gradients,
                  std::int64_t compare_up_to) {
  auto y = constrained(x, spec, gradients);  // throws for a Spec that does not fit
  if (is_placed_eagerly(x)) check_same_everywhere(what, x, padded(what, spec, x.shape()), compare_up_to);
  return y;
}
Array ops::constrained(const Array& x, const Spec& spec, const GradientWire& gradients) {
  auto whole = ops::padded("with_sharding_constraint", spec, x.shape());
  if (!gradients.rounds() || ops::splits_over(whole, gradients.over)) return call_one(ops::Reshard{whole}, {x});
  return call_one(ops::ReshardParameter{whole, gradients.wire, gradients.over}, {x});
}
Array constrain_rows(const Array& x, const Spec& spec) {
  return call_one(ops::Reshard{ops::padded("constrain_rows", spec, x.shape()), true}, {x});
}
Array reshard_like(const Array& x, const Array& like) { return call_one(ops::ReshardLike{false}, {x, like}); }
Array complete_like(const Array& x, const Array& like) { return call_one(ops::ReshardLike{true}, {x, like}); }
Array complete_gradient_like(const Array& x, const Array& like, const GradientWire& gradients) {
  if (!gradients.rounds()) return complete_like(x, like);
  return call_one(ops::GradientLike{true, gradients.wire, gradients.over}, {x, like});
}
Array accumulate(const Array& total, const Array& term) { return call_one(ops::Accumulate{}, {total, term}); }
Array to_local(const Array& x, const Spec& s) { return to_local(x, s, {}); }
bool gives_blocks(const Primitive& p) { return as<ops::ToLocal>(p) != nullptr; }
Type local_type(const Array& x, const Spec& s) {
  auto& mesh = this_mesh("shard_map");
  auto spec = ops::padded("shard_map", s, x.shape());
  auto local = x.type();
  for (std::size_t d = 0; d < spec.size(); ++d)
    local.shape[d] = block_size(local.shape[d], spec[d], mesh, here().rank);
  return local;
}
Array to_local(const Array& x, const Spec& s, const MeshAxes& unused) {
  return call_one(ops::ToLocal{ops::padded("shard_map", s, x.shape()), local_type(x, s).shape, unused}, {x});
}
Array to_global(const Array& x, const Shape& shape, const Spec& spec, const MeshAxes& partial) {
  return to_global(x, shape, spec, partial, {});
}
Array to_global(const Array& x, const Shape& shape, const Spec& spec, const MeshAxes& partial, const MeshAxes& unused) {
  return call_one(ops::ToGlobal{shape, ops::padded("shard_map", spec, shape), partial, unused}, {x});
}
}  // namespace bora
