// dft.h -- the primitive of discrete Fourier transforms. Private.
#pragma once
#include "bora/array/array.h"

namespace bora::ops {
/// complex: exp(-..); inverse: exp(+..); real: real numbers to the first n/2 + 1; to_real: back from these.
enum class DftKind : std::uint8_t { complex, inverse, real, to_real };
/// The transform along `axis`, of length n on the side that is whole, times `scale`.
Array dft(DftKind kind, const Array& x, std::int64_t axis, std::int64_t n, double scale);
}  // namespace bora::ops
