// complex_arcs.h -- inverses of trigonometric and hyperbolic functions of complex numbers. Private.
#pragma once
#include "bora/array/array.h"

namespace bora::ops {
// Principal values; on a branch cut the sign of a part that is zero says on which side z lies.
// Source: Kahan 1987, Branch cuts for complex elementary functions.
Array complex_arcsin(const Array& z);
Array complex_arccos(const Array& z);
Array complex_arctan(const Array& z);
Array complex_arcsinh(const Array& z);
Array complex_arccosh(const Array& z);
Array complex_arctanh(const Array& z);
}  // namespace bora::ops
