// select.h -- which algorithm a collective uses: a model of what each would cost on measured links, or a fixed table.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "schedule/schedule.h"

namespace bora::transport {
/// Where the members of a group are.
struct Layout {
  int size = 1;
  int hosts = 1;                 // that have members
  int most = 1, least = 1;       // members of a host
  std::vector<int> blocks = {};  // position of every host's first member, then size; empty unless the members of each host are side by side,
                                 // there are several hosts, and some have several members
};
/// `hosts`: of every rank of the job, any numbers; empty: all on one.
Layout layout_of(const std::vector<int>& ranks, const std::vector<int>& hosts);

/// What every member knows of a collective.
struct Size {
  Op op = Op::barrier;
  std::int64_t bytes = 0;
  bool uniform = false;
};
/// A link between two ranks, in seconds: until a message arrives, of the processor for each further one, for each byte.
struct LinkCost {
  double alpha = 0, message = 0, beta = 0;
};
struct Costs {
  LinkCost here = {3e-6, 0.5e-6, 0.1e-9};    // within a host: shared memory
  LinkCost wire = {100e-6, 8e-6, 0.9e-9};    // between hosts: tcp on 10 Gbit/s
  double gamma = 0.05e-9;                    // seconds for each byte summed
};
/// What rank 0 decides for all ranks.
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

/// What the busiest rank, and the host with most to send, do for one collective. Source: the cost model of Thakur et al. 2005.
struct Estimate {
  struct Part {
    double hops = 0, messages = 0, bytes = 0, fill = 0;  // fill: bytes that pass before a pipeline is full
  };
  Part here = {}, wire = {};
  double reduced = 0;  // bytes
  double seconds(const Costs&) const;
};
Estimate estimate(const Size&, const Layout&, Algorithm, std::int64_t chunk_limit);
/// Depends only on what every member knows.
Algorithm choose_algorithm(const Size&, const Layout&, const Tuning& = {});
/// Bytes of the largest message of a group.
std::int64_t chunk_limit(const Layout&, const Tuning&);
}  // namespace bora::transport
