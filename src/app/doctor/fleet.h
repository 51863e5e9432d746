// fleet.h -- the hosts of a job beside each other: what differs, and which of them is slow.
#pragma once
#include <string>
#include <vector>
#include "findings.h"

namespace bora::transport {
class Context;
struct Config;
}  // namespace bora::transport
namespace bora::app::doctor {
/// Facts that differ, and the rates of the slowest host against the median.
void compare_hosts(const std::vector<HostReport>&, Findings& job);
/// The hosts' dates, in seconds, read at one moment.
void compare_dates(const std::vector<double>& seconds, const std::vector<std::string>& hosts, Findings& job);
/// What all ranks of a job find together: network, dates, the folder `out` unless it is empty. Every rank calls it with
/// the report of its host; rank 0 gets all reports and the job's findings.
struct Fleet {
  std::vector<HostReport> hosts = {};
  Findings job = {};
};
Fleet look_at_fleet(transport::Context&, const transport::Config&, const std::string& out, HostReport);
}  // namespace bora::app::doctor
