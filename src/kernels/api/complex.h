// complex.h -- kernels of complex numbers, over contiguous memory. They run alone: fused loops hold real numbers.
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"
#include "kernels/api/gemm.h"
#include "kernels/api/loop.h"

namespace bora::kernels {
/// The result dtype of an elementwise operation, the last of whose operands is complex. Throws DtypeError where the
/// operation is not defined.
Dtype complex_result(OpId, const Dtype* in);
/// out[i] = op(in[0][i], ..) for operands of dtype d (select: the first is boolean).
void run_complex(OpId, Dtype d, const void* const* in, void* out, std::int64_t n);

enum class Part : std::uint8_t { real, imag, magnitude, angle };
/// out[i] = that part of in[i], in the real dtype of d.
void take_part(Part, Dtype d, const void* in, void* out, std::int64_t n);
/// out[i] = re[i] + i im[i], of complex dtype d. im = null: zeros.
void join_parts(Dtype d, const void* re, const void* im, void* out, std::int64_t n);
void conjugate(Dtype d, const void* in, void* out, std::int64_t n);
/// Between complex dtypes, or from real to complex dtypes of the same width, or to boolean (not 0).
void cast_complex(Dtype from, Dtype to, const void* in, void* out, std::int64_t n);
/// out[outer, inner] = product over n of in[outer, n, inner], in order.
void multiply_complex(Dtype d, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner);
/// gemm() of complex matrices: four products of their parts.
void gemm_complex(const Gemm&);
}  // namespace bora::kernels
