#include "bora/optim/overwrite.h"
#include <algorithm>

namespace bora::optim::detail {
void keep(tree::Node t, const std::vector<const void*>& places, Keep which) {
  for (auto& s : tree::slots(t)) {
    bool among = std::find(places.begin(), places.end(), s.leaf.at) != places.end();
    if (s.leaf.defined() && among != (which == Keep::these)) s.leaf.set(Array());
  }
}
void check_overwrites(tree::Node state, tree::Node overwrites) {
  auto now = tree::slots(state), next = tree::slots(overwrites);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!now[i].leaf.defined()) continue;
    check<ValueError>(i < next.size() && next[i].path == now[i].path && next[i].leaf.defined(),
                      "apply_updates: no overwrite for '", now[i].path,
                      "', which its gradient replaces; give the first part of partition_for_grad_overwrite(gradients)");
    check<ShapeError>(next[i].leaf.get().type() == now[i].leaf.get().type(), "apply_updates: the overwrite of '",
                      now[i].path, "' is ", next[i].leaf.get().type(), ", the state ", now[i].leaf.get().type());
  }
}
}  // namespace bora::optim::detail
