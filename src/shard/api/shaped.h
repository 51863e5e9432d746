// shaped.h -- shard_map whose results have known shapes.
#pragma once
#include "bora/shard/shard.h"

namespace bora::fx {
/// shard_map_flat with results of these global shapes: nothing is asked of the other ranks, which need not stage it
/// together, and an abstract mesh plans blocks of uneven sizes. ShardError if f's results are other blocks.
Arrays shard_map_shaped(const FlatFn& f, const Arrays& in, const std::vector<Spec>& in_specs,
                        const std::vector<Shape>& shapes, const std::vector<Spec>& specs);
}  // namespace bora::fx
