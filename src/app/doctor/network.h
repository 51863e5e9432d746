// network.h -- the network between the hosts of a job.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "findings.h"

namespace bora::transport {
class Context;
struct Config;
}  // namespace bora::transport
namespace bora::app::doctor {
/// Segments of TCP that this host has sent, and sent again. root: the parent folder of /proc, for tests.
struct TcpCounters {
  std::int64_t sent = 0, again = 0;
};
TcpCounters tcp_counters(const std::string& root = "");
/// Segments that were sent again in the time between.
void look_at_retransmissions(const TcpCounters& before, const TcpCounters& after, Findings&);
/// A link of a job: round trips and the rate from a rank to another.
struct Link {
  int from = 0, to = 0;
  double bytes_per_s = 0, round_trip_s = 0;
};
/// Each rank to the next one on another host. Absolute numbers, and the slowest against the fastest.
void look_at_links(const std::vector<Link>&, const std::vector<std::string>& hosts, Findings&);
/// Every rank calls it: MTU and whether such packets arrive, links, segments sent again. Findings of one host go to its
/// report, of several to those of the job, which rank 0 gets.
void look_at_network(transport::Context&, const transport::Config&, const std::vector<std::string>& hosts, HostReport&,
                     Findings& job);
}  // namespace bora::app::doctor
