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
/// A line for each algorithm there is for `bytes` on `ranks`, spread evenly and in order over `hosts`: its hops, the streams and bytes that the
/// busiest rank sends, the bytes that the busiest host sends to others, and the time the model expects within a host, or on 1 and on 10
/// Gbit/s. A star: the model's choice; "table": that of the table for links that have not been measured.
std::string explain(Op, int ranks, int hosts, std::int64_t bytes);
}  // namespace bora::transport
