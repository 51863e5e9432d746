#include "job/averages.h"
#include <cmath>
#include <map>
#include "bora/io/tree.h"
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/ufuncs.h"
#include "bora/tree/tree.h"

namespace bora::job {
namespace {
/// The path of the state of params_ema, whatever stands around it: "optimizer.entries.params_ema".
std::string state_of(const io::Manifest& m) {
  constexpr std::string_view count = ".count";
  for (auto& leaf : m.leaves)
    if (leaf.path.starts_with("optimizer.entries.") && leaf.path.ends_with("params_ema.count"))
      return leaf.path.substr(0, leaf.path.size() - count.size());
  return {};
}
Array stored(const Array& like, const std::string& folder, const std::string& below, const std::string& path,
             const io::Place& place) {
  std::map<std::string, Array> one{{path, like}};
  io::restore_some_leaves(tree::node(one), folder, place, below);
  return one[path];
}
}  // namespace
void take_averages(tree::Node parameters, const std::string& folder, double decay, const io::Place& place) {
  auto m = io::read_manifest(folder);
  auto state = state_of(m);
  check<ConfigError>(!state.empty(), "--ema: ", folder, " has no mean of the parameters: it was written without "
                     "optimizer.ema, or by replicas of local steps, which have their own ones");
  auto updates = stored(zeros({}, i32), folder, state, "count", place).item<std::int32_t>();
  if (updates == 0) return;
  auto weights = 1 - std::pow(decay, updates);
  auto means = state + ".ema";
  for (auto& slot : tree::slots(parameters)) {
    auto found = slot.leaf.defined() ? m.find(means + "." + slot.path) : nullptr;
    if (!found) continue;
    auto old = slot.leaf.get();
    auto sum = stored(reshard_like(zeros(old.shape(), found->type.dtype), old), folder, means, slot.path, place);
    slot.leaf.set(reshard_like((sum / weights).astype(old.dtype()), old));
  }
}
}  // namespace bora::job
