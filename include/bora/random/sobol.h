// sobol.h -- quasi-random points: they fill the unit cube more evenly than random ones, so that means over them
// converge faster.
#pragma once
#include "bora/random/random.h"

namespace bora::random {
inline constexpr std::int64_t kSobolDimensions = 64;  // the most dimensions of a point
struct SobolOptions {                                 // of sobol
  std::int64_t skip = 0;                              // points left out at the start of the sequence
  Array key = {};         // shifts all points by random bits (Owen's digital shift); empty: the sequence itself
  Dtype dtype = default_float();  // or f64
  DrawOptions draw = {};  // how the points are split over a mesh
};
/// Points skip, skip + 1, .. of the Sobol sequence in [0, 1)^d, [n, d] (Sobol 1967, in Antonov and Saleev's order; the
/// direction numbers of Joe and Kuo 2008): multiples of 2^-32, in f32 cut to 2^-24. A power of 2 as n, and a multiple
/// of it as skip, keep the points balanced. Throws ValueError for d outside [1, 64], negative n or skip, and points
/// from 2^32 on.
Array sobol(std::int64_t n, std::int64_t d, const SobolOptions& options = {});
}  // namespace bora::random
