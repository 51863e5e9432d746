// draw.h -- helpers shared by samplers. Private.
#pragma once
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/primitives.h"
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "bora/ops/transform.h"
#include "bora/random/distributions.h"

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
/// A parameter in the dtype of the draw.
Array value_of(const Parameter& p, Dtype dtype);
/// The shape of a draw with these parameters. Throws ShapeError if `shape` is not one that they broadcast to.
Shape draw_shape(std::string_view what, const std::optional<Shape>& shape, std::initializer_list<Parameter> parameters);
/// a * b + c as XLA computes it: with one rounding in f32 and f64, with two in bf16.
Array contracted(const Array& a, const Array& b, const Array& c);
/// Labels of an operation on equal shapes, element by element.
Factors elementwise_factors(const Types& in);
Array draw_bits(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw);
}  // namespace bora::random
