// terms.h -- the terms of a sum that is still pending over mesh axes, as one array; and rounded.
#pragma once
#include "bora/array/array.h"
#include "bora/array/mesh.h"

namespace bora {
/// [parts, ..] of x [..]: what each part of the mesh axes `over` contributes to x, split over them; the sum along the
/// first dimension is x. Of a pending sum every rank has its own term, and nothing is sent; of a complete value the
/// first part has all of it and the others zeros. parts: those of the mesh in force; 1 without one. Throws ShardError
/// if x is split over one of these axes.
Array terms_of_sum(const Array& x, const MeshAxes& over);
/// x as a narrower floating-point dtype. The terms of a pending sum are rounded one by one, and it stays pending:
/// astype would send the terms first and round the sum.
Array rounded_sum(const Array& x, Dtype dtype);
}  // namespace bora
