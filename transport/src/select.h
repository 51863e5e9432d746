// select.h -- which algorithm a collective uses: a model of what each would cost, or a fixed table.
#pragma once
#include <cstdint>
#include <vector>
#include "schedule.h"

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
/// Depends only on what every member knows.
Algorithm choose_algorithm(const Size&, const Layout&);
}  // namespace bora::transport
