// terms.h -- the terms of a sum that is still pending over mesh axes, as one array.
#pragma once
#include "bora/array/array.h"
#include "bora/array/mesh.h"

namespace bora {
/// [parts, ..] of x [..]: what each part of the mesh axes `over` contributes to x, split over them; the sum along the
/// first dimension is x. Of a pending sum every rank has its own term, and nothing is sent; of a complete value the
/// first part has all of it and the others zeros. parts: those of the mesh in force; 1 without one. Throws ShardError
/// if x is split over one of these axes.
Array terms_of_sum(const Array& x, const MeshAxes& over);
}  // namespace bora
