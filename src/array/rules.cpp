#include "bora/array/rules.h"
#include <algorithm>

namespace bora {
std::string describe(const Sharded& x) {
  auto r = to_string(x.type);
  if (!x.spec.trivial() || !x.partial.empty()) r += to_string(x.spec);
  for (auto& a : x.partial) r += " +" + a.str();
  return r;
}
Shape ShardRules::local_shape(const Shape& s, const Spec& spec) const {
  Shape r = s;
  MeshAxes used;
  for (std::size_t d = 0; d < s.size() && d < spec.size(); ++d)
    for (auto& a : spec[d]) {
      check<ShardError>(!used.has(a), "mesh axis '", a.str(), "' is used twice in Spec", spec,
                        " for an array of shape ", s, "; a mesh axis can split one dimension only");
      used.push_back(a);
    }
  for (std::size_t d = 0; d < s.size() && d < spec.size(); ++d)
    if (!spec[d].empty()) r[d] = block_of(s[d], mesh().parts(spec[d]), mesh().part(rank(), spec[d])).size();
  return r;
}
bool ShardRules::same_blocks(std::int64_t n, std::int64_t m, const MeshAxes& axes) const {
  auto p = mesh().parts(axes);
  for (int b = 1; b < p; ++b)
    if (block_of(n, p, b).begin * m != block_of(m, p, b).begin * n) return false;
  return true;
}
}  // namespace bora
