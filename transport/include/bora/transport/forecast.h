// forecast.h -- what a collective would cost between ranks that do not exist: exact bytes, the cost model's seconds.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::transport {
/// Hosts with ranks_per_host ranks each, side by side (0: one host), and the wire between them.
struct Wiring {
  int ranks_per_host = 0;
  double bytes_per_s = 1.1e9, latency_s = 100e-6;
  /// The job measures its links when it starts, and chooses its algorithms by their costs (BORA_CALIBRATE). Else, and
  /// on one host, the fixed table chooses.
  bool measured = true;
  std::string algorithms = {};  // forced ones, as Config::algorithms
  int sharing = 1;              // equal groups that send over the wire of a host at the same time
};
struct Forecast {  // what a collective costs
  std::string algorithm = {};
  std::int64_t sent = 0;   // bytes that this rank sends, as Traffic::bytes_sent counts them
  std::int64_t wired = 0;  // those of them that go to other hosts
  // Bytes beside the caller's: its scratch, a codec's copies, and what others have sent and waits to be summed.
  std::int64_t memory = 0;
  std::vector<int> neighbours = {};  // ranks of its own host to which it sends
  bool crosses = false;    // some ranks of the group are on other hosts than others
  double seconds = 0;      // by the cost model, for the busiest rank, with free links
};
/// Refuses what ranks would refuse later: a block that its codec does not take (ValueError), and forced algorithms
/// (Config::algorithms) that cannot sum what this wire carries (ConfigError).
void check_wire(const Wire&, const std::string& algorithms);
/// For `rank`, a member of the group. Throws ValueError / DtypeError as starting it would.
Forecast forecast(const Group&, const CollectiveCall&, const Wiring&, int rank);
}  // namespace bora::transport
