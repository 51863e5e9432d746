#include "bora/generate/replicas.h"
#include <algorithm>
#include <numeric>
#include "bora/array/array.h"
#include "bora/base/error.h"
#include "bora/ops/creation.h"
#include "bora/shard/mesh.h"
#include "bora/transport/transport.h"
#include "bora/tree/node.h"

namespace bora::generate {
Replicas::Replicas(models::Stepper& mine, const Mesh& all) : mine_(mine), all_(all) {}
tree::Node Replicas::parameters() { return mine_.parameters(); }
void Replicas::allot(std::int64_t n) {
  bora::check<ValueError>(n % all_.size() == 0, "replicas: ", n, " pages are no equal groups of ", all_.size());
  pages_ = n / all_.size();
  mine_.allot(pages_);
}
Array Replicas::step(const models::Step& all) {
  models::Step mine;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(all_.size()), 0);
  std::int64_t rank = 0;
  auto tokens = all.tokens.begin();
  for (auto& row : all.rows) {
    auto page = std::find_if(row.pages.begin(), row.pages.end(), [](auto p) { return p >= 0; });
    auto owner = page == row.pages.end() ? -1 : *page / pages_;
    bora::check<ValueError>(owner >= rank && owner < all_.size(), "replicas: a row with pages of rank ", owner,
                            " behind one of rank ", rank);
    rank = owner;
    counts[static_cast<std::size_t>(owner)] += row.wanted * vocabulary();
    auto end = tokens + row.count;
    if (owner == all_.rank()) {
      mine.tokens.insert(mine.tokens.end(), tokens, end);
      auto& to = mine.rows.emplace_back(row);
      for (auto& p : to.pages) p -= p < 0 ? 0 : static_cast<std::int32_t>(owner * pages_);
    }
    tokens = end;
  }
  Array scores;
  if (!mine.rows.empty()) scores = mine_.step(mine).concrete();
  auto numbers = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<float> whole(static_cast<std::size_t>(all_.rank() == 0 ? numbers : 0));
  if (numbers > 0) {
    std::vector<int> ranks(counts.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    CollectiveCall call{.kind = CollectiveKind::gather,
                        .in = counts[static_cast<std::size_t>(all_.rank())] > 0 ? scores.bytes() : nullptr,
                        .out = whole.data(),
                        .recv_counts = counts,
                        .describe = [] { return std::string("the scores of the replicas"); }};
    all_.context().run({std::move(ranks), "of the replicas"}, call);
  }
  return asarray(whole, Shape{static_cast<std::int64_t>(whole.size()) / vocabulary(), vocabulary()});
}
}  // namespace bora::generate
