// adjoint.h -- transposes and halves of matrices, for derivatives. Private.
#pragma once
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora::linalg {
inline Array t(const Array& x) { return swapaxes(x, -1, -2); }
/// Derivatives of complex numbers are transposed without conjugation (bora/ops/complex.h): rules in terms of adjoints
/// take conjugated cotangents and give conjugated results.
inline Array adjoint(const Array& x) { return conj(t(x)); }
inline Array conj_if_any(const Array& x) { return x.defined() ? conj(x) : x; }
inline Array hermitian(const Array& a) { return (a + adjoint(a)) * 0.5; }
/// The derivative by the entries that are read: each of those below the diagonal stands for two.
inline Array of_lower_half(const Array& both) { return tril(both) * (1 - 0.5 * eye(both.shape(-1), both.dtype())); }
}  // namespace bora::linalg
