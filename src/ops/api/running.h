// running.h -- running products and extremes as one operation, which Shard does block by block.
#pragma once
#include "bora/array/array.h"

namespace bora::ops {
enum class RunningKind : std::uint8_t { prod, max, min, logsumexp };
/// Along `axis`, which lies in [0, ndim), from the front or the back, each element of x combined with all before it:
/// composed of other operations, lg n steps of them, but where x is split along the axis. Types as x.
Array running(RunningKind kind, const Array& x, std::int64_t axis, bool reverse);
}  // namespace bora::ops
