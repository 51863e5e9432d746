#include "bora/ops/creation.h"
#include "bora/optim/transforms.h"

namespace bora::optim {
namespace {
/// The parameters of numbers `which`, in their order.
Leaves part_of(const Leaves& p, const std::vector<std::size_t>& which) {
  Leaves r;
  for (auto i : which) {
    r.paths.push_back(p.paths[i]);
    r.arrays.push_back(p.arrays[i]);
    if (!p.decays.empty()) r.decays.push_back(p.decays[i]);
    if (!p.axes.empty()) r.axes.push_back(p.axes[i]);
  }
  return r;
}
struct Partition {
  std::vector<Labelled> parts;
  static constexpr std::string_view name = "partition";
  struct State {
    optim::State of = {};
  };
  /// Numbers of the parameters of each part.
  std::vector<std::vector<std::size_t>> groups(const Leaves& p) const {
    std::vector<std::vector<std::size_t>> r(parts.size());
    for (std::size_t i = 0; i < p.arrays.size(); ++i)
      for (std::size_t k = 0; k < parts.size(); ++k)
        if (parts[k].mask(p, i)) {
          r[k].push_back(i);
          break;
        }
    return r;
  }
  State init(const Leaves& p) const {
    State s;
    auto all = groups(p);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      auto mine = part_of(p, all[k]);
      detail::store(s.of, parts[k].label, parts[k].transform.init_flat(mine), mine);
    }
    return s;
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    State next;
    auto r = u;
    auto all = groups(p);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      auto mine = part_of(p, all[k]);
      Arrays gradients;
      for (auto i : all[k]) gradients.push_back(u[i]);
      optim::State inner;
      detail::load(s.of, parts[k].label, inner, mine);
      auto [updates, after] = parts[k].transform.update_flat(gradients, inner, mine);
      for (std::size_t i = 0; i < updates.size(); ++i) r[all[k][i]] = updates[i];
      detail::store(next.of, parts[k].label, after, mine);
    }
    return {r, next};
  }
  static std::vector<Partition> samples() {
    return {{{{"slow", scale_by_lion(), by_layer}, {"fast", scale_by_adam()}}}, {{{"only", ema(0.9), by_layer}}}};
  }
};
}  // namespace
Transform partition(std::vector<Labelled> parts) {
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (std::size_t j = 0; j < k; ++j)
      check<ValueError>(parts[j].label != parts[k].label, "partition: two parts are called '", parts[k].label, "'");
  return Transform(Partition{std::move(parts)});
}
Transform masked(const Transform& inner, Mask mask) { return partition({{"inner", inner, std::move(mask)}}); }
}  // namespace bora::optim
