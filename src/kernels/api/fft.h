// fft.h -- discrete Fourier transforms of complex numbers.
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels {
/// out[o, k, i] = scale * sum over j of in[o, j, i] exp(-+2 pi i j k / n), for the signs - and (inverse) +; in and out
/// are [outer, n, inner] of a complex dtype and must not overlap. Any n >= 1; threaded; the same bits for every number
/// of threads and both instruction sets.
void fft(Dtype, bool inverse, double scale, const void* in, void* out, std::int64_t outer, std::int64_t n,
         std::int64_t inner);
}  // namespace bora::kernels
