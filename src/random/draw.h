// draw.h -- helpers shared by samplers. Private.
#pragma once
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/primitives.h"
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "bora/random/random.h"

namespace bora::random {
/// Throws DtypeError unless k is a key, ShapeError unless it is one key.
void one_key(std::string_view what, const Array& k);
/// Throws DtypeError unless the dtype is floating.
void floating(std::string_view what, Dtype dtype);
/// x rounded to the dtype.
double rounded(double x, Dtype dtype);
/// The next number of the dtype after x towards `to`.
double next_after(double x, double to, Dtype dtype);
/// The smallest normal number.
double tiny(Dtype dtype);
Array draw_bits(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw);
}  // namespace bora::random
