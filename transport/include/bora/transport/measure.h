// measure.h -- times collectives on the ranks of a job.
#pragma once
#include <string>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::transport {
/// One collective at one size. `bytes`: of the vector that a rank holds (all_reduce, broadcast), gathers (all_gather)
/// or contributes (reduce_scatter, all_to_all). Bus bandwidth as nccl-tests define it: the rate at the slowest link,
/// whatever the algorithm.
struct Measured {
  CollectiveKind kind = CollectiveKind::barrier;
  std::int64_t bytes = 0;
  double seconds = 0;        // median over repetitions of the slowest rank's time
  double bus_bandwidth = 0;  // bytes / s
};
/// Times a collective for every size, back to back between barriers; one that takes more than 0.1 s at most 4 times.
/// All ranks of the group call it with the same arguments, and all get the same numbers. registered: on buffers of
/// Context::allocate.
std::vector<Measured> measure(Context&, const Group&, CollectiveKind, const std::vector<std::int64_t>& bytes,
                              int repetitions = 5, Dtype = Dtype::f32, bool registered = false);
/// One line for each algorithm of the collective for `bytes` on `ranks`, spread evenly and in order over `hosts`: its
/// hops, the streams and bytes sent by the busiest rank, the bytes that the busiest host sends to others, and the time
/// the model expects within a host, or on 1 and on 10 Gbit/s. "*": the model's choice; "table": the choice of the table
/// for unmeasured links.
std::string explain(CollectiveKind, int ranks, int hosts, std::int64_t bytes);
}  // namespace bora::transport
