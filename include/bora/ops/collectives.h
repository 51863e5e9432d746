// collectives.h -- the collective primitives as Shard emits them: ragged parts, and the global shape they are about. For rules.
#pragma once
#include "bora/array/rules.h"

namespace bora::ops {
/// sizes: each member's part of dimension dim, in part order. of: the global shape when Shard asks, for the fingerprint.
/// How members are combined.
enum class Combine : std::uint8_t { sum, max, min };
Array all_reduce(const Array& x, const MeshAxes& axes, Combine kind, const Shape& of);
Array all_gather(const Array& x, const MeshAxes& axes, std::int64_t dim, const Dims& sizes, const Shape& of);
Array reduce_scatter(const Array& x, const MeshAxes& axes, std::int64_t dim, const Dims& sizes, const Shape& of);
Array all_to_all(const Array& x, const MeshAxes& axes, std::int64_t split_dim, std::int64_t concat_dim, const Dims& split_sizes,
                 const Dims& concat_sizes, const Shape& of);
/// Where this rank's block of n over `axes` begins, counted from where its block over `within` does; next = 1: where it ends. i32.
Array block_start(std::int64_t n, const MeshAxes& axes, const MeshAxes& within = {}, std::int64_t next = 0);
}  // namespace bora::ops
