#include "bora/train/local.h"
#include "bora/array/communicator.h"
#include "bora/ops/shape.h"
#include "bora/ops/transform.h"

namespace bora::local::detail {
namespace {
bool on_mesh(const Axis& replica) { return here().mesh && here().mesh->has(AxisName(replica.name)); }
/// The rules without the mesh axis of the replicas.
AxisMapping inside(const AxisMapping& mapping, const Axis& replica) {
  std::vector<Rule> rules;
  for (auto rule : mapping.rules()) {
    bool whole = rule.mesh.empty();
    rule.mesh.remove(AxisName(replica.name));
    if (whole || !rule.mesh.empty()) rules.push_back(rule);
  }
  return AxisMapping(rules);
}
/// How a leaf without the axis is stored; plain Arrays are whole.
Spec spec_of_leaf(const tree::LeafRef& leaf, std::int64_t ndim, const Axis& replica, const AxisMapping& storage) {
  auto* x = leaf.as<NamedArray>();
  if (!x) return Spec::replicated(static_cast<std::size_t>(ndim));
  auto axes = x->axes();
  std::erase_if(axes, [&](auto& a) { return a.name == replica.name; });
  return spec_for(axes, inside(storage, replica));
}
/// ((x[0] + x[1]) + x[2]) + .. as sums of two, whose order nothing changes; a reduction's would depend on the other
/// dimensions of a rank's block.
Array sum_in_order(const Array& x) {
  auto shape = x.shape();
  shape.erase(0);
  auto at = [&](std::int64_t m) { return reshape(slice_in_dim(x, 0, m, m + 1), shape); };
  auto total = at(0);
  constexpr std::int64_t unrolled = 64;
  if (x.shape(0) > unrolled) {
    auto add = [](const Array& t, const Array& y) { return std::pair{t + y, none}; };
    return scan(add, total, slice_in_dim(x, 0, 1, x.shape(0))).first;
  }
  for (std::int64_t m = 1; m < x.shape(0); ++m) total = total + at(m);
  return total;
}
/// A rank first gets its part of all replicas' numbers, cut along the dimension with most of them on a rank, or all of
/// them if they are few.
Array ordered_mean(const Array& x, const Spec& spec, const Axis& replica) {
  auto all = spec;
  all.insert(0, MeshAxes{});
  auto apart = all;
  constexpr std::int64_t few = 8192;
  if (on_mesh(replica) && x.size() > few) {
    std::size_t longest = 0;
    double most = 1;
    for (std::size_t d = 1; d < all.size(); ++d) {
      auto n = static_cast<double>(x.shape(static_cast<std::int64_t>(d))) / here().mesh->parts(all[d]);
      if (n > most) most = n, longest = d;
    }
    if (longest > 0) apart[longest].push_back(AxisName(replica.name));
  }
  auto total = sum_in_order(with_sharding_constraint(wide(x), apart));
  return with_sharding_constraint(total / static_cast<double>(replica.size), spec);
}
}  // namespace

void check(const Axis& replica, const Options& o) {
  bora::check<ValueError>(replica.size >= 1, "local: axis '", replica.name, "' has size ", replica.size,
                          "; there must be 1 replica or more");
  bora::check<ValueError>(o.every >= 1, "local: .every is ", o.every, "; replicas meet every 1 or more steps");
  if (!on_mesh(replica)) return;
  auto ranks = here().mesh->axis_size(AxisName(replica.name));
  bora::check<ShardError>(replica.size % ranks == 0, "local: ", replica.size,
                          " replicas cannot be spread evenly over the ", ranks, " ranks of mesh axis '", replica.name,
                          "'");
}
Dims take_axis(tree::Node state, tree::Node others, const Axis& replica) {
  for (auto& slot : tree::slots(state)) {
    if (!slot.leaf.defined()) continue;
    auto* x = slot.leaf.as<NamedArray>();
    bora::check<AxisError>(!x || (!x->axes().empty() && x->axes()[0] == replica), "local: ", slot.path, " has ",
                           [&] { return to_string(x->array().type()); }, " without axis ", replica.name, " (",
                           replica.size, ") in front; make the state with begin()");
  }
  Dims positions = fx::remove_axis(state, replica, "local");
  for (auto& p : positions) p = 0;
  auto more = fx::remove_axis(others, replica, "local");
  positions.insert(positions.end(), more.begin(), more.end());
  return positions;
}
Arrays each(const FlatFn& f, const Arrays& leaves, const Dims& positions, const Axis& replica) {
  UseMapping scope(inside(current_mapping(), replica));
  return fx::named_vmap(f, leaves, positions, replica);
}
void repeat(tree::Node t, const Axis& replica, const AxisMapping& storage) {
  for (auto& slot : tree::slots(t)) {
    if (!slot.leaf.defined()) continue;
    auto a = slot.leaf.get();
    auto spec = spec_of_leaf(slot.leaf, a.ndim(), replica, storage);
    spec.insert(0, on_mesh(replica) ? MeshAxes(std::string_view(replica.name)) : MeshAxes{});
    auto shape = a.shape();
    shape.insert(0, replica.size);
    a = with_sharding_constraint(broadcast_to(expand_dims(a, 0), shape), spec);
    if (auto* x = slot.leaf.as<NamedArray>()) {
      auto axes = x->axes();
      axes.insert(axes.begin(), replica);
      *x = tree::Leaf<NamedArray>::with_axes(a, axes);
    } else slot.leaf.set(a);
  }
}
void take_mean(tree::Node t, const Axis& replica, const AxisMapping& storage) {
  for (auto& slot : tree::slots(t)) {
    if (!slot.leaf.defined()) continue;
    auto a = slot.leaf.get();
    bora::check<ShapeError>(a.ndim() > 0 && a.shape(0) == replica.size, "local: ", slot.path, " is ", a.type(),
                            "; its first dimension must be the ", replica.size, " replicas");
    auto y = ordered_mean(a, spec_of_leaf(slot.leaf, a.ndim() - 1, replica, storage), replica);
    if (auto* x = slot.leaf.as<NamedArray>()) {
      std::vector<Axis> axes(x->axes().begin() + 1, x->axes().end());
      *x = tree::Leaf<NamedArray>::with_axes(y, axes);
    } else slot.leaf.set(y);
  }
}
void own(tree::Node one, const Array& zero) {
  for (auto& slot : tree::slots(one)) {
    if (!slot.leaf.defined() || slot.leaf.as<NamedArray>()) continue;
    auto a = slot.leaf.get();
    if (is_numeric(a.dtype()) && a.dtype() != boolean) slot.leaf.set(a + zero.astype(a.dtype()));
  }
}
Array zero_of_each(const Axis& replica) {
  auto zero = full_of({{replica.size}, i32}, 0);
  return on_mesh(replica) ? with_sharding_constraint(zero, Spec{MeshAxes(std::string_view(replica.name))}) : zero;
}
void place_scalars(tree::Node replicas, const Axis& replica) {
  if (!on_mesh(replica)) return;
  for (auto& slot : tree::slots(replicas))
    if (slot.leaf.defined() && slot.leaf.get().ndim() == 1)
      slot.leaf.set(with_sharding_constraint(slot.leaf.get(), Spec{MeshAxes(std::string_view(replica.name))}));
}
Array wide(const Array& x) { return x.dtype() == Dtype::bf16 ? x.astype(f32) : x; }
}  // namespace bora::local::detail
