// memory_checkpoint_state.h -- a state to take snapshots of.
#pragma once
#include "bora/bora.h"
#include "train/steps.h"

namespace bora::test {
struct State {
  NamedArray wide, tall, scalar;
};
const AxisMapping kSplit{{"rows", "data"}, {"long", "data"}};
/// `base` tells states apart. The first leaf is split, others are where FSDP leaves them.
inline State state_of(float base, std::int64_t length) {
  Axis rows{"rows", 13}, columns{"columns", 7}, tall{"long", length};
  return {auto_sharded(full({rows, columns}, base) + arange(rows).astype(f32) * 2),
          auto_sharded(arange(tall).astype(f32) + base), auto_sharded(full(std::vector<Axis>{}, base))};
}
inline std::vector<float> numbers(const State& s) { return numbers_of(tree::node(s)); }
}  // namespace bora::test
