// measure.h -- how fast collectives are on the ranks there are.
#pragma once
#include <string>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::transport {
/// One collective at one size. `bytes`: of the vector a rank holds (all_reduce, broadcast), gathers (all_gather) or gives (reduce_scatter,
/// all_to_all). Bus bandwidth as nccl-tests define it: what the slowest link must carry, whatever the algorithm.
struct Measured {
  Op op = Op::barrier;
  std::int64_t bytes = 0;
  double seconds = 0;        // median over repetitions of the slowest rank's time
  double bus_bandwidth = 0;  // bytes / s
};
/// Times `op` for every size, back to back between barriers. Collective: all ranks of the group call it with the same arguments.
/// Every rank gets the same numbers. registered: on buffers of Context::allocate.
std::vector<Measured> measure(Context&, const Group&, Op, const std::vector<std::int64_t>& bytes, int repetitions = 5,
                              Dtype = Dtype::f32, bool registered = false);
/// One line: the algorithm chosen for `bytes` on `ranks`, its hops, and the messages and bytes of the busiest rank.
std::string explain(Op, int ranks, std::int64_t bytes);
}  // namespace bora::transport
