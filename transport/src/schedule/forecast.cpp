#include "bora/transport/forecast.h"
#include <algorithm>
#include <set>
#include "schedule/codec.h"
#include "schedule/plan.h"
#include "schedule/sum.h"

namespace bora::transport {
Forecast forecast(const Group& group, const CollectiveCall& call, const Wiring& wiring, int rank) {
  auto host = [&](int r) { return wiring.ranks_per_host == 0 ? 0 : r / wiring.ranks_per_host; };
  std::vector<int> hosts(static_cast<std::size_t>(*std::max_element(group.ranks.begin(), group.ranks.end())) + 1);
  for (auto r : group.ranks) hosts[static_cast<std::size_t>(r)] = host(r);
  auto layout = layout_of(group.ranks, hosts);
  Costs costs;
  costs.wire.alpha = wiring.latency_s;
  costs.wire.beta = 1 / wiring.bytes_per_s;
  Tuning tuning{.forced = read_algorithms(wiring.algorithms)};
  if (wiring.measured && wiring.ranks_per_host > 0) tuning.costs = costs;
  auto position = static_cast<int>(std::find(group.ranks.begin(), group.ranks.end(), rank) - group.ranks.begin());
  auto plan = make_plan(group, call, layout, tuning, position);
  Forecast f{.algorithm = std::string(plan.algorithm->name)};
  f.crosses = std::any_of(group.ranks.begin(), group.ranks.end(), [&](int r) { return host(r) != host(rank); });
  auto element = plan.element, running = plan.running;
  std::set<int> peers;
  std::int64_t summed = 0;  // numbers that others send to be summed here
  auto sends = [&](int to, std::int64_t bytes) {
    f.sent += bytes;
    peers.insert(to);
    if (host(group.ranks[static_cast<std::size_t>(to)]) != host(rank)) f.wired += bytes;
  };
  for (auto& step : plan.schedule.steps) {
    if (step.kind == Step::Kind::send) sends(step.peer, step.from.size() * element);
    if (step.kind == Step::Kind::sum) summed += (step.last - step.first) * step.to.size();
    if (step.kind == Step::Kind::sum && step.next >= 0)
      sends(step.next, step.to.size() * (step.last == layout.size ? element : running));
  }
  f.memory = plan.schedule.work * element + std::min(summed * element, kWindow * std::ssize(peers));
  if (!call.wire.exact()) {  // the codec's copies of the operand and of the sum: Operation::begin_encoded
    bool scatters = call.kind == CollectiveKind::reduce_scatter;
    f.memory += plan.bytes;
    if (!scatters) f.memory += plan.bytes;
    else if (!call.wire.blocks())
      f.memory += encoded_bytes(call.wire, call.recv_counts[static_cast<std::size_t>(position)]);
  }
  for (auto to : peers)
    if (auto r = group.ranks[static_cast<std::size_t>(to)]; host(r) == host(rank)) f.neighbours.push_back(r);
  costs.wire.beta *= wiring.sharing;  // after the choice: a job measures a wire that nothing else uses
  f.seconds = estimate(*plan.algorithm, plan.bytes, layout, chunk_limit(layout, tuning)).seconds(costs);
  return f;
}
}  // namespace bora::transport
