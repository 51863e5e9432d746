// select.h -- the choice of an algorithm for a collective: by a model of its cost on measured links, or by a fixed
// table.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "schedule/schedule.h"

namespace bora::transport {
/// The distribution of a group's members over hosts.
struct Layout {
  int size = 1;
  int hosts = 1;                 // with members
  int most = 1, least = 1;       // members of a host
  // Position of every host's first member, then size; empty unless the members of each host are side by side, there are
  // several hosts, and some have several members.
  std::vector<int> blocks = {};
};
/// `hosts`: a host number for every rank of the job; empty: all on one.
Layout layout_of(const std::vector<int>& ranks, const std::vector<int>& hosts);

/// The properties of a collective that every member knows.
struct Size {
  Op op = Op::barrier;
  std::int64_t bytes = 0;
  bool uniform = false;
};
/// Costs of a link between two ranks, in seconds: latency of a message, processor time of each further one, time of
/// each byte.
struct LinkCost {
  double alpha = 0, message = 0, beta = 0;
};
struct Costs {
  LinkCost here = {3e-6, 0.5e-6, 0.1e-9};    // within a host: shared memory
  LinkCost wire = {100e-6, 8e-6, 0.9e-9};    // between hosts: tcp on 10 Gbit/s
  double gamma = 0.05e-9;                    // seconds for each byte summed
};
/// Rank 0's decisions for all ranks.
struct Tuning {
  std::optional<Costs> costs = {};  // none: the fixed table
  std::vector<std::pair<Op, Algorithm>> forced = {};
  bool measure = false;  // costs are still to be measured
  std::string bytes() const;
};
/// Throws TransportError on bytes that are not a Tuning's.
Tuning read_tuning(std::string_view);
/// "all_reduce=chain,broadcast=double_tree". Throws ConfigError on names that do not exist.
std::vector<std::pair<Op, Algorithm>> read_algorithms(const std::string&);

/// The work of the busiest rank, and of the host that sends most, for one collective. Source: the cost model of Thakur
/// et al. 2005.
struct Estimate {
  struct Part {
    double hops = 0, messages = 0, bytes = 0, fill = 0;  // fill: bytes that pass before a pipeline is full
  };
  Part here = {}, wire = {};
  double reduced = 0;  // bytes
  double seconds(const Costs&) const;
};
Estimate estimate(const Size&, const Layout&, Algorithm, std::int64_t chunk_limit);
/// Depends only on values that every member knows.
Algorithm choose_algorithm(const Size&, const Layout&, const Tuning& = {});
/// Bytes of the largest message of a group.
std::int64_t chunk_limit(const Layout&, const Tuning&);
}  // namespace bora::transport
