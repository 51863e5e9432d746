// Training with local steps: the batch, the keys and the rules of its replicas.
#include "bora/array/communicator.h"
#include "bora/ops/shape.h"
#include "bora/train/trainable.h"

namespace bora::training {
local::Options local_options(const StepOptions& o) {
  auto r = o.local;
  r.storage = o.storage;
  r.trains = o.trains;
  return r;
}
AxisMapping with_replicas(const AxisMapping& storage) {
  auto rules = storage.rules();
  rules.insert(rules.begin(), {std::string(local::kReplica), MeshAxes(local::kReplica)});
  return AxisMapping(rules);
}
Array key_of_each(const Array& key, const Axis& replica) {
  auto keys = replica.size == 1 ? expand_dims(key, 0) : random::split(key, replica.size);
  if (!here().mesh || !here().mesh->has(AxisName(replica.name))) return keys;
  return with_sharding_constraint(keys, Spec{MeshAxes(replica.name)});
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
}  // namespace bora::training
