// Barrier: its algorithm and its cost.
#include "schedule/build.h"
#include "schedule/cost.h"

namespace bora::transport {
namespace {
namespace barrier {
/// In round k every member signals the member 2^k further on; log2 P rounds.
void dissemination(Builder& b) {
  int got = -1;
  for (int d = 1, tag = 0; d < b.size; d *= 2, ++tag) {
    b.send_after(b.at(d), Place::in, {}, got, tag);
    got = b.receive(b.at(-d), {}, tag);
  }
}
void dissemination_cost(Model& m) { m.rounds(m.log_n(), m.log_n(), 0, 1); }
constexpr Algorithm kRows[] = {{CollectiveKind::barrier, "dissemination", dissemination, dissemination_cost}};
}  // namespace barrier
}  // namespace
const AlgorithmTable kBarrier{barrier::kRows};
}  // namespace bora::transport
