// vectorize.h -- functions of parts of an array as functions of arrays: vmap under NumPy's names.
#pragma once
#include <functional>
#include <string>
#include "bora/array/array.h"

namespace bora {
/// f of each vector of x along axis, at once: f [n] -> any shape, which replaces the axis in the result.
Array apply_along_axis(const std::function<Array(const Array&)>& f, std::int64_t axis, const Array& x);
/// f(x, axis) for each of the axes, one after the other; a dimension that f removes comes back with size 1.
Array apply_over_axes(const std::function<Array(const Array&, std::int64_t)>& f, const Array& x, const Dims& axes);
using ArraysFunction = std::function<Array(const Arrays&)>;  // of several Arrays at once
/// A function of whole arrays from a function of small ones: the signature "(n),(n,m)->(m)" gives each argument's own,
/// last dimensions; those before them are broadcast and mapped. "" is a function of scalars. Sizes with one name must
/// agree. Throws ValueError for a signature that cannot be read or another number of arguments, ShapeError naming the
/// dimension that differs. Source: jax.numpy.vectorize.
ArraysFunction vectorize(ArraysFunction f, const std::string& signature = "");
}  // namespace bora
