// select.h -- the choice of an algorithm for a collective: by a model of its cost on measured links, or by fixed
// rules.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "schedule/cost.h"

namespace bora::transport {
/// Rank 0's decisions for all ranks.
struct Tuning {
  std::optional<Costs> costs = {};  // none: links were not measured
  std::vector<const Algorithm*> forced = {};
  bool measure = false;  // costs are still to be measured
  std::string bytes() const;
};
/// Throws TransportError on bytes that are not a Tuning's.
Tuning read_tuning(std::string_view);
/// "all_reduce=chain,broadcast=double_tree". Throws ConfigError on names that do not exist.
std::vector<const Algorithm*> read_algorithms(const std::string&);

/// Depends only on values that every member knows. bytes: those of all elements that count_of counts, as they are sent.
/// wire: of blocks, it leaves out algorithms that pass running sums on; ConfigError if one of these is forced.
const Algorithm& choose_algorithm(CollectiveKind, std::int64_t bytes, bool uniform, const Layout&, const Tuning& = {},
                                  const Wire& = {});
/// Bytes of the largest message of a group.
std::int64_t chunk_limit(const Layout&, const Tuning&);
}  // namespace bora::transport
