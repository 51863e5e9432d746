#include "train/api/not_finite.h"
#include <sstream>
#include "bora/ops/indexing.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/tree/tree.h"

namespace bora::training {
std::optional<NotFinite> first_not_finite(tree::Node t) {
  for (auto& slot : tree::slots(t)) {
    if (!slot.leaf.defined()) continue;
    auto x = slot.leaf.get();
    if (!is_float(x.dtype()) || all(isfinite(x)).item<bool>()) continue;
    NotFinite found{slot.path, {}, 0};
    while (x.ndim() > 0) {  // one dimension after the other: no rank needs all of the leaf
      Dims others;
      for (std::int64_t d = 1; d < x.ndim(); ++d) others.push_back(d);
      auto bad = !isfinite(x);
      auto i = argmax((others.empty() ? bad : any(bad, others)).astype(i32)).item<std::int32_t>();
      found.place.push_back(i);
      x = view(x, std::int64_t{i});
    }
    found.value = x.astype(f32).item<float>();
    return found;
  }
  return {};
}
std::string to_string(const NotFinite& n) {
  std::ostringstream text;
  text << "'" << n.path << "' is " << n.value << " at [";
  for (std::size_t d = 0; d < n.place.size(); ++d) text << (d ? ", " : "") << n.place[d];
  text << "]";
  return text.str();
}
}  // namespace bora::training
