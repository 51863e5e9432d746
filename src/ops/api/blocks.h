// blocks.h -- the two ends of shard_map with the mesh axes that nothing between them uses.
#pragma once
#include "bora/array/array.h"
#include "bora/array/mesh.h"

namespace bora {
/// This rank's block of x. unused: axes of the mesh that no Spec of the region and none of its collectives names. A
/// vmap with the name of one of them is split over it inside of the region.
Array to_local(const Array& x, const Spec& spec, const MeshAxes& unused);
/// Is p the end of shard_map whose result is blocks? Of the other end the operand is.
bool gives_blocks(const Primitive& p);
/// The type of that block.
Type local_type(const Array& x, const Spec& spec);
/// The array of these blocks; `partial`: axes over which they are terms of a sum.
Array to_global(const Array& local, const Shape& global, const Spec& spec, const MeshAxes& partial,
                const MeshAxes& unused);
}  // namespace bora
