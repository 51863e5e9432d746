// Permute and send_recv: their algorithm and its cost.
#include "schedule/build.h"
#include "schedule/cost.h"

namespace bora::transport {
namespace {
namespace permute {
void direct(Builder& b) {
  Range all{0, b.call.send_counts[0]};
  if (b.call.target >= 0 && b.call.target != b.rank) b.send(b.call.target, all);
  if (b.call.source == b.rank) b.copy(all, all);
  else if (b.call.source >= 0) b.receive(b.call.source, all);
  else if (b.call.kind == CollectiveKind::permute) b.add({.kind = Step::Kind::zero, .to = all});
}
void direct_cost(Model& m) { m.rounds(1, m.chunks(m.S), m.S, m.L); }
constexpr Algorithm kPermuteRows[] = {{CollectiveKind::permute, "direct", direct, direct_cost, {.whole = true}}};
constexpr Algorithm kSendRecvRows[] = {{CollectiveKind::send_recv, "direct", direct, direct_cost, {.whole = true}}};
}  // namespace permute
}  // namespace
const AlgorithmTable kPermute{permute::kPermuteRows}, kSendRecv{permute::kSendRecvRows};
}  // namespace bora::transport
