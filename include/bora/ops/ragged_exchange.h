// ragged_exchange.h -- an exchange of slices of different lengths between the members of mesh axes.
#pragma once
#include "bora/ops/collectives.h"

namespace bora {
/// `output` [M, ..] with the slices written into it that the other members send of their `operand` [L, ..] (inside
/// shard_map, or over the axis_name of a vmap), as jax.lax.ragged_all_to_all. The other operands are integers [n], n a
/// multiple k of the number of members: slice i, operand[input_offsets[i] : + send_sizes[i]], goes to member i / k,
/// which writes it at output_offsets[i]; of the slices that come, slice i is from member i / k and has recv_sizes[i]
/// rows, which must be what that member sends. Rows that would lie outside of output are dropped; where slices
/// overlap the last one stays. Derivatives by operand and output. Slices travel padded to min(L, M) rows, as shapes do
/// not depend on values: n min(L, M) rows leave each member. Throws ShapeError, DtypeError for operands that do not
/// fit.
Array ragged_all_to_all(const Array& operand, const Array& output, const Array& input_offsets, const Array& send_sizes,
                        const Array& output_offsets, const Array& recv_sizes, const MeshAxes& axes);
}  // namespace bora
