// complex.h -- complex numbers: their parts, and arrays made of parts.
//
// A dtype complex64 or complex128 is stored as std::complex<float> or <double>. Arithmetic, exp, expm1, log, log1p,
// sqrt, rsqrt, sin, cos, tan, sinh, cosh, tanh, sigmoid, power, sums, products, means, matrix products, == and != take
// complex Arrays; functions that mean nothing for them (an order, rounding, ..) throw DtypeError. A complex Array does
// not become real by astype(): say real(x) or abs(x).
//
// Derivatives follow JAX: a derivative in reverse is the transpose of the derivative as a linear map, without
// conjugation. So the gradient of a real loss is the conjugate of the direction of steepest ascent: descend along
// conj(g).
#pragma once
#include "bora/array/array.h"

namespace bora {
/// re + i im: complex128 if either is f64, else complex64. Throws DtypeError for a complex operand.
Array complex(const Array& re, const Array& im);
Array complex(const Array& re, Scalar im);
Array complex(Scalar re, const Array& im);
/// The parts of x in its real dtype; of real numbers: x itself, and zeros.
Array real(const Array& x);
Array imag(const Array& x);  // the imaginary part; zeros of real x
/// The complex conjugate; real numbers do not change.
Array conj(const Array& x);
Array conjugate(const Array& x);  // conj
/// The argument in (-pi, pi]; of real numbers 0 or pi (NaN stays). Integers give f32.
Array angle(const Array& x);
/// boolean: is the imaginary part other than (equal to) 0?
Array iscomplex(const Array& x);
Array isreal(const Array& x);                                               // boolean: is the imaginary part 0?
inline bool iscomplexobj(const Array& x) { return is_complex(x.dtype()); }  // is x's dtype complex?
inline bool isrealobj(const Array& x) { return !is_complex(x.dtype()); }    // is x's dtype real?
}                                                                           // namespace bora
