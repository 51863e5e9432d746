// dft.h -- the primitive of discrete Fourier transforms. Private.
#pragma once
#include <optional>
#include "bora/array/rules.h"

namespace bora::ops {
/// complex: exp(-..); inverse: exp(+..); real: real numbers to the first n/2 + 1; to_real: back from these.
enum class DftKind : std::uint8_t { complex, inverse, real, to_real };
/// The transform along `axis`, of length n on the side that is whole, times `scale`.
Array dft(DftKind kind, const Array& x, std::int64_t axis, std::int64_t n, double scale);
/// The same of x, split along `axis`, in four steps: as a matrix [n1, n2], whose columns and then rows are transformed
/// where the ranks have them whole, with three all_to_alls. Nothing if n has no factors n1 and n2 of at least as many
/// rows as there are parts.
std::optional<Sharded> dft_in_steps(DftKind kind, const Sharded& x, std::int64_t axis, std::int64_t n, double scale,
                                    ShardRules&);
}  // namespace bora::ops
