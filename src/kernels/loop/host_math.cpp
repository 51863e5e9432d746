#include "kernels/loop/host_math.h"
#include <bit>
#include <cmath>

namespace bora::kernels {
namespace {
// 2/pi, 19 words of 64 bits after the point.
constexpr std::uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};
/// 64 bits of 2/pi from bit position `at` after the point (negative positions are 0).
std::uint64_t two_over_pi(int at) {
  if (at <= -64) return 0;
  if (at < 0) return kTwoOverPi[0] >> -at;
  const int w = at / 64, s = at % 64;
  return s == 0 ? kTwoOverPi[w] : kTwoOverPi[w] << s | kTwoOverPi[w + 1] >> (64 - s);
}
}  // namespace

double reduce_angle(double x, std::int64_t* quadrant) {
  const auto b = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t m = (b & 0x000fffffffffffffull) | 0x0010000000000000ull;  // |x| = m * 2^e
  const int e = static_cast<int>(b >> 52 & 0x7ff) - 1075;
  // |x| * 2/pi mod 4: bits of 2/pi before position e - 2 give multiples of 4. Three words from there: 2 integer bits,
  // 190 of the fraction.
  using Wide = unsigned __int128;
  const int at = e - 2;
  const std::uint64_t w0 = two_over_pi(at), w1 = two_over_pi(at + 64), w2 = two_over_pi(at + 128);
  const Wide low = Wide(m) * w1 + static_cast<std::uint64_t>(Wide(m) * w2 >> 64);
  const Wide p = (Wide(m * w0) << 64) + low;  // modulo 4, scaled by 2^126
  auto q = static_cast<std::int64_t>(p >> 126);
  auto f = static_cast<__int128>(p << 2) >> 2;  // the fraction in [-1/2, 1/2), times 2^126
  if ((p >> 125 & 1) != 0) ++q;
  *quadrant = b >> 63 ? -q : q;
  const double r = static_cast<double>(f) * 0x1p-126 * 1.57079632679489661923;
  return b >> 63 ? -r : r;
}
float sin_large(float x, int quarter) { return static_cast<float>(sin_large(static_cast<double>(x), quarter)); }
double sin_large(double x, int quarter) {
  std::int64_t q;
  const double r = reduce_angle(x, &q);
  q += quarter;
  // |r| <= pi/4: Taylor series to beyond the last bit, in fixed order: the bits depend on no library's version.
  const double z = r * r;
  double s = 0, c = 0;
  if (q & 1) {
    for (int k = 20; k >= 2; k -= 2) c = (1 + c) * -z / (k * (k - 1));
    c += 1;
  } else {
    for (int k = 21; k >= 3; k -= 2) s = (1 + s) * -z / (k * (k - 1));
    s = std::fma(r, s, r);
  }
  const double y = q & 1 ? c : s;
  return q & 2 ? -y : y;
}
float fmod_exact(float x, float y) { return std::fmod(x, y); }
double fmod_exact(double x, double y) { return std::fmod(x, y); }
}  // namespace bora::kernels
