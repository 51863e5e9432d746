#include "bora/base/shape.h"
#include <algorithm>

namespace bora {
std::int64_t volume(const Shape& s) {
  constexpr auto most = std::int64_t{1} << 58;                // bounds the bytes of 16-byte elements by 2^62
  if (std::find(s.begin(), s.end(), 0) != s.end()) return 0;  // however large the other sizes are
  std::int64_t n = 1;
  for (auto d : s)
    check<ShapeError>(!__builtin_mul_overflow(n, d, &n) && n <= most, "a shape of ", s,
                      " has more elements than any memory (2^58); is a size or a repeat count wrong?");
  return n;
}
std::string to_string(const Dims& d) {
  std::string r = "[";
  for (std::size_t i = 0; i < d.size(); ++i) r += (i ? ", " : "") + std::to_string(d[i]);
  return r + "]";
}
std::string to_string(const Shape& s) { return to_string(s.dims()); }
Dims strides_of(const Shape& s) {
  Dims r(s.size(), 1);
  // Only the strides of an empty array can overflow (see volume), and no code reads through them.
  for (std::size_t i = s.size(); i-- > 1;) __builtin_mul_overflow(r[i], s[i], &r[i - 1]);
  return r;
}
Shape broadcast_shapes(std::string_view what, const Shape& a, const Shape& b) {
  auto n = std::max(a.size(), b.size());
  Shape r(Dims(n, 1));
  for (std::size_t i = 0; i < n; ++i) {
    auto x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    check<ShapeError>(x == y || x == 1 || y == 1, what, ": shapes do not broadcast: ", a, " and ", b,
                      "; dimensions must be equal or 1, counted from the last");
    r[n - 1 - i] = x == 1 ? y : x;
  }
  return r;
}
std::int64_t normalize_axis(std::string_view what, std::int64_t axis, std::int64_t ndim) {
  check<IndexError>(-ndim <= axis && axis < ndim, what, ": axis ", axis, " does not exist; the array has ", ndim,
                    " dimension", ndim == 1 ? "" : "s");
  return axis < 0 ? axis + ndim : axis;
}
std::size_t hash_combine(std::size_t seed, std::size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2);
  return seed * 0xff51afd7ed558ccdull;
}
std::size_t hash_value(const Shape& s) {
  std::size_t h = s.size();
  for (auto d : s) h = hash_combine(h, static_cast<std::size_t>(d));
  return h;
}
}  // namespace bora
