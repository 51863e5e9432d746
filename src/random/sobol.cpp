// The Sobol sequence: each point is the sum modulo 2 of direction numbers, one for each bit of the Gray code of its
// position, so any rank computes its own points.
#include "bora/random/sobol.h"
#include <bit>
#include "bora/ops/creation.h"
#include "ops/api/same_everywhere.h"
#include "random/draw.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora::random {
namespace {
/// A primitive polynomial modulo 2, as bits, and the first direction numbers of its dimension. The first dimension has
/// all ones. S. Joe and F. Y. Kuo, Constructing Sobol sequences with better two-dimensional projections (2008).
struct Start {
  std::uint32_t polynomial;
  std::uint32_t m[9];
};
constexpr Start starts[kSobolDimensions - 1] = {{3, {1}},
                                                {7, {1, 3}},
                                                {11, {1, 3, 1}},
                                                {13, {1, 1, 1}},
                                                {19, {1, 1, 3, 3}},
                                                {25, {1, 3, 5, 13}},
                                                {37, {1, 1, 5, 5, 17}},
                                                {41, {1, 1, 5, 5, 5}},
                                                {47, {1, 1, 7, 11, 19}},
                                                {55, {1, 1, 5, 1, 1}},
                                                {59, {1, 1, 1, 3, 11}},
                                                {61, {1, 3, 5, 5, 31}},
                                                {67, {1, 3, 3, 9, 7, 49}},
                                                {91, {1, 1, 1, 15, 21, 21}},
                                                {97, {1, 3, 1, 13, 27, 49}},
                                                {103, {1, 1, 1, 15, 7, 5}},
                                                {109, {1, 3, 1, 15, 13, 25}},
                                                {115, {1, 1, 5, 5, 19, 61}},
                                                {131, {1, 3, 7, 11, 23, 15, 103}},
                                                {137, {1, 3, 7, 13, 13, 15, 69}},
                                                {143, {1, 1, 3, 13, 7, 35, 63}},
                                                {145, {1, 3, 5, 9, 1, 25, 53}},
                                                {157, {1, 3, 1, 13, 9, 35, 107}},
                                                {167, {1, 3, 1, 5, 27, 61, 31}},
                                                {171, {1, 1, 5, 11, 19, 41, 61}},
                                                {185, {1, 3, 5, 3, 3, 13, 69}},
                                                {191, {1, 1, 7, 13, 1, 19, 1}},
                                                {193, {1, 3, 7, 5, 13, 19, 59}},
                                                {203, {1, 1, 3, 9, 25, 29, 41}},
                                                {211, {1, 3, 5, 13, 23, 1, 55}},
                                                {213, {1, 3, 7, 3, 13, 59, 17}},
                                                {229, {1, 3, 1, 3, 5, 53, 69}},
                                                {239, {1, 1, 5, 5, 23, 33, 13}},
                                                {241, {1, 1, 7, 7, 1, 61, 123}},
                                                {247, {1, 1, 7, 9, 13, 61, 49}},
                                                {253, {1, 3, 3, 5, 3, 55, 33}},
                                                {285, {1, 3, 1, 15, 31, 13, 49, 245}},
                                                {299, {1, 3, 5, 15, 31, 59, 63, 97}},
                                                {301, {1, 3, 1, 11, 11, 11, 77, 249}},
                                                {333, {1, 3, 1, 11, 27, 43, 71, 9}},
                                                {351, {1, 1, 7, 15, 21, 11, 81, 45}},
                                                {355, {1, 3, 7, 3, 25, 31, 65, 79}},
                                                {357, {1, 3, 1, 1, 19, 11, 3, 205}},
                                                {361, {1, 1, 5, 9, 19, 21, 29, 157}},
                                                {369, {1, 3, 7, 11, 1, 33, 89, 185}},
                                                {391, {1, 3, 3, 3, 15, 9, 79, 71}},
                                                {397, {1, 3, 7, 11, 15, 39, 119, 27}},
                                                {425, {1, 1, 3, 1, 11, 31, 97, 225}},
                                                {451, {1, 1, 1, 3, 23, 43, 57, 177}},
                                                {463, {1, 3, 7, 7, 17, 17, 37, 71}},
                                                {487, {1, 3, 1, 5, 27, 63, 123, 213}},
                                                {501, {1, 1, 3, 5, 11, 43, 53, 133}},
                                                {529, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
                                                {539, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
                                                {545, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
                                                {557, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
                                                {563, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
                                                {601, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
                                                {607, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
                                                {617, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
                                                {623, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
                                                {631, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
                                                {637, {1, 1, 3, 13, 25, 47, 39, 87, 257}}};
/// The direction numbers of bit `bit` of all d dimensions are row `bit`.
std::vector<std::vector<std::uint32_t>> directions(std::int64_t d) {
  std::vector<std::vector<std::uint32_t>> v(32, std::vector<std::uint32_t>(static_cast<std::size_t>(d)));
  for (std::size_t j = 0; j < static_cast<std::size_t>(d); ++j)
    for (std::size_t i = 0; i < 32; ++i) {
      auto polynomial = j == 0 ? 1u : starts[j - 1].polynomial;
      auto degree = static_cast<std::size_t>(std::bit_width(polynomial)) - 1;
      if (j == 0 || i < degree) {
        v[i][j] = (j == 0 ? 1u : starts[j - 1].m[i]) << (31 - i);
        continue;
      }
      v[i][j] = v[i - degree][j] ^ (v[i - degree][j] >> degree);
      for (std::size_t b = 1; b < degree; ++b)
        if (polynomial >> (degree - b) & 1) v[i][j] ^= v[i - b][j];
    }
  return v;
}
}  // namespace
Array sobol(std::int64_t n, std::int64_t d, const SobolOptions& options) {
  check<ValueError>(d >= 1 && d <= kSobolDimensions, "sobol: there are 1 to ", kSobolDimensions, " dimensions, got ",
                    d);
  check<ValueError>(n >= 0 && options.skip >= 0 && n <= (std::int64_t{1} << 32) - options.skip,
                    "sobol: points lie in [0, 2^32), got ", n, " points after ", options.skip);
  check<DtypeError>(options.dtype == f32 || options.dtype == f64, "sobol: the dtype must be f32 or f64, got ",
                    options.dtype);
  const auto& spec = options.draw.spec;
  check<ShardError>(spec.size() <= 2, "sobol: the Spec ", spec, " has more entries than the two dimensions of points");
  auto at = iota({n}, 0, i64), columns = iota({d}, 0, i64);
  if (spec.size() > 0 && !spec[0].empty()) at = ops::constrained(at, Spec{spec[0]});
  if (spec.size() > 1 && !spec[1].empty()) columns = ops::constrained(columns, Spec{spec[1]});
  at = at + options.skip;
  auto gray = broadcast_in_dim((at ^ (at >> 1)).astype(u32), {n, d}, {0});
  auto x = broadcast_in_dim((columns * 0).astype(u32), {n, d}, {1});
  if (options.key.defined()) x = x ^ broadcast_to(bits(options.key, {d}), {n, d});
  auto v = directions(d);
  // The bits of the last position bound those of all; the Gray code has no more.
  auto used = std::bit_width(static_cast<std::uint64_t>(options.skip + n));
  for (std::size_t b = 0; b < v.size() && b < static_cast<std::size_t>(used); ++b) {
    auto set = (gray >> static_cast<int>(b)) & 1;
    x = x ^ set * broadcast_to(asarray(v[b]), {n, d});
  }
  if (options.dtype == f32) return (x >> 8).astype(f32) * 0x1p-24;
  return x.astype(f64) * 0x1p-32;
}
}  // namespace bora::random
