// draw.h -- helpers shared by samplers. Private.
#pragma once
#include "bora/random/random.h"
#include "ops/api/support.h"

namespace bora::random {
using ops::elementwise_factors;
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
/// A parameter in the dtype of the draw.
Array value_of(const Parameter& p, Dtype dtype);
/// The shape of a draw with these parameters. Throws ShapeError if `shape` is not one that they broadcast to.
Shape draw_shape(std::string_view what, const std::optional<Shape>& shape, std::initializer_list<Parameter> parameters);
/// a * b + c as XLA computes it: with one rounding in f32 and f64, with two in bf16.
Array contracted(const Array& a, const Array& b, const Array& c);
/// loggamma whose numbers below the range stay finite and in order, for softmax.
Array bounded_loggamma(std::string_view what, const Array& k, const Array& a, const Shape& shape, Dtype dtype,
                       const DrawOptions& draw);
Array draw_bits(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw);
}  // namespace bora::random
