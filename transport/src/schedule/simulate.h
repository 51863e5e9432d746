// simulate.h -- runs the schedules of all ranks in memory: results, hops, messages and bytes.
#pragma once
#include <cstdint>
#include <map>
#include <vector>
#include "schedule/schedule.h"

namespace bora::transport {
struct Simulation {
  std::vector<std::vector<std::int64_t>> out;         // one buffer a rank
  int hops = 0;                                       // longest chain of messages that wait for one another
  std::vector<std::int64_t> messages, sent, reduced;  // per rank: streams sent, elements sent, elements reduced
  std::map<std::pair<int, int>, std::int64_t> between;  // elements sent from one rank to another
};
/// The simulated reduction: wraps, and shows the order.
inline std::int64_t fold_in(std::int64_t acc, std::int64_t x) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(acc) * 31 + static_cast<std::uint64_t>(x));
}
/// Runs every rank's schedule to its end on these inputs; `out_sizes` are the lengths of the outputs. Reductions are
/// fold_in. `seed` chooses the order in which messages arrive. Throws TransportError when no rank can go on, when a
/// message is left over, or when lengths do not fit.
Simulation simulate(const std::vector<Schedule>&, const std::vector<std::vector<std::int64_t>>& in,
                    const std::vector<std::int64_t>& out_sizes, unsigned seed = 0);
}  // namespace bora::transport
