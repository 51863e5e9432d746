#include "bora/shard/abstract.h"
#include "bora/train/plan.h"

namespace bora {
std::vector<RankClass> plan_classes(const MeshShape& shape, const MeshLinks& links,
                                    const std::function<RankPlan(const Mesh&)>& plan) {
  std::vector<RankClass> all(1);
  auto of_rank = [&](RankClass& c, int rank) {
    auto mesh = Mesh::abstract(shape, links, rank);
    UseMesh scope(mesh);
    c.plan = plan(mesh);
    c.work = work_of(*c.plan.step);
  };
  SameSizes sizes;
  of_rank(all[0], 0);
  auto ranks = sizes.classes(shape);
  all.resize(ranks.size());
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    all[k].ranks = std::move(ranks[k]);
    if (k > 0) of_rank(all[k], all[k].ranks[0]);
  }
  return all;
}
}  // namespace bora
