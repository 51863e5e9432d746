#include "schedule/cost.h"

namespace bora::transport {
double Estimate::seconds(const Costs& c) const {
  auto time = [](const Part& p, const LinkCost& l) {
    return l.alpha * p.hops + l.message * p.messages + l.beta * (p.bytes + p.fill);
  };
  return time(here, c.here) + time(wire, c.wire) + c.gamma * reduced;
}
Estimate estimate(const Algorithm& a, std::int64_t bytes, const Layout& l, std::int64_t chunk_limit) {
  Model m{l, static_cast<double>(bytes), chunk_limit};
  if (l.size > 1) a.cost(m);
  return m.e;
}
}  // namespace bora::transport
