// Values of a Program whose split turned to another dimension for the operation that made them, and was moved back. An
// operation that wants a value as it was made takes it so; which of the two is not read is dead code in the end.
#include "bora/array/primitive_base.h"
#include "shard/interpreter.h"

namespace bora {
const Sharded* Shard::as_made(const Sharded& x) const {
  auto known = turned_.find(x.local.get());
  if (known == turned_.end()) return nullptr;
  auto& [local, spec, made] = known->second;
  return spec == x.spec && made.type == x.type && made.partial == x.partial ? &made : nullptr;
}
bool Shard::only_sliced(const Sharded& x, const Spec& target) const {
  for (std::size_t d = 0; d < target.size(); ++d)
    if (x.spec[d].size() > target[d].size() || target[d].head(x.spec[d].size()) != x.spec[d]) return false;
  return true;
}
void Shard::keep_as_made(const Sharded& x, const Sharded& made) const {
  if (defers() && x.local.get() != made.local.get()) turned_.emplace(x.local.get(), Turned{x.local, x.spec, made});
}
void Shard::also_as_made(const PrimitivePtr& p, const std::vector<Sharded>& in, const std::vector<Sharded>& ready,
                         const Sharded& y) const {
  auto role = p->traits.loop;
  if (turned_.empty() || (role != LoopRole::op && role != LoopRole::cast && role != LoopRole::bitcast)) return;
  const Sharded* first = nullptr;
  for (auto& x : ready)
    if (auto* made = as_made(x); made && !first && made->partial.empty()) first = made;
  if (!first || !y.partial.empty()) return;
  const auto spec = first->spec;
  Arrays locals;
  Types types;
  for (std::size_t j = 0; j < in.size(); ++j) {
    auto* made = as_made(ready[j]);
    bool scalar = in[j].type.shape.empty(), same = made && made->spec == spec && made->partial.empty();
    // A row that is stretched may have to be gathered.
    bool slices = in[j].symbolic ? in[j].symbolic->size * mesh_.size() <= y.type.size()
                                 : in[j].partial.empty() && !in[j].moved && only_sliced(in[j], spec);
    if (!same && !scalar && (in[j].type.shape != y.type.shape || !slices)) return;
    locals.push_back(same ? made->local : scalar ? ready[j].local : reshard(in[j], spec).local);
    types.push_back(locals.back().type());
  }
  Type local{local_shape(y.type.shape, spec), y.type.dtype};
  keep_as_made(y, {call(p->resized(types, {local}), locals).front(), y.type, spec});
}
}  // namespace bora
