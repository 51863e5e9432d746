#include "schedule/sum.h"
#include <algorithm>
#include <cstring>
#include "schedule/codec.h"
#include "schedule/denormals.h"

namespace bora::transport {
namespace {
constexpr std::size_t kBlock = 512;  // elements whose running result stays in the first-level cache

template <class T> T load(const std::byte* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
/// `Stored` in memory, `Acc` while summing.
template <class Stored, class Acc, class F>
void fold(const std::vector<const std::byte*>& parts, std::byte* out, std::size_t n, Stretch s, F f,
          bool mean = false) {
  Acc acc[kBlock];
  for (std::size_t i = 0; i < n; i += kBlock) {
    auto m = std::min(kBlock, n - i);
    auto read = [&](std::size_t p, std::size_t j) {
      return static_cast<Acc>(load<Stored>(parts[p] + (i + j) * sizeof(Stored)));
    };
    std::size_t p = s.before ? 0 : std::min<std::size_t>(parts.size(), 2);
    if (s.before) std::memcpy(acc, s.before + i * sizeof(Acc), m * sizeof(Acc));
    else if (p == 2)
#pragma omp simd
      for (std::size_t j = 0; j < m; ++j) acc[j] = f(read(0, j), read(1, j));
    else
#pragma omp simd
      for (std::size_t j = 0; j < m; ++j) acc[j] = read(0, j);
    for (; p < parts.size(); ++p)
#pragma omp simd
      for (std::size_t j = 0; j < m; ++j) acc[j] = f(acc[j], read(p, j));
    if (s.ends == 0) {
      std::memcpy(out + i * sizeof(Acc), acc, m * sizeof(Acc));
      continue;
    }
    if constexpr (!std::is_same_v<Acc, Stored> || std::is_floating_point_v<Acc>)
      if (mean)
#pragma omp simd
        for (std::size_t j = 0; j < m; ++j) acc[j] /= static_cast<Acc>(s.ends);
#pragma omp simd
    for (std::size_t j = 0; j < m; ++j) {
      auto x = static_cast<Stored>(acc[j]);
      std::memcpy(out + (i + j) * sizeof(Stored), &x, sizeof x);
    }
  }
}
template <class Stored, class Acc = Stored>
void reduce(Reduction r, const std::vector<const std::byte*>& parts, std::byte* out, std::size_t n, Stretch s) {
  switch (r) {
    case Reduction::sum:
    case Reduction::mean:
      return fold<Stored, Acc>(
          parts, out, n, s, [](Acc a, Acc b) { return static_cast<Acc>(a + b); }, r == Reduction::mean);
    case Reduction::max:
      return fold<Stored, Acc>(parts, out, n, s, [](Acc a, Acc b) { return a > b || a != a ? a : b; });
    case Reduction::min:
      return fold<Stored, Acc>(parts, out, n, s, [](Acc a, Acc b) { return a < b || a != a ? a : b; });
    default: fail<ValueError>("ranks combine by sum, mean, max or min");
  }
}
/// By the codec, whose kernels convert eight numbers at once, a block of all parts after the other.
void reduce_f16(Reduction r, const std::vector<const std::byte*>& parts, std::byte* out, std::size_t n, Stretch s) {
  auto& kernels = codec(Codec::f16).kernels.back();
  std::vector<float> wide(parts.size() * kBlock);
  std::vector<const std::byte*> blocks;
  for (std::size_t p = 0; p < parts.size(); ++p)
    blocks.push_back(reinterpret_cast<const std::byte*>(wide.data() + p * kBlock));
  float sums[kBlock];
  for (std::size_t i = 0; i < n; i += kBlock) {
    auto m = std::min(kBlock, n - i);
    auto count = static_cast<std::int64_t>(m);
    for (std::size_t p = 0; p < parts.size(); ++p)
      kernels.decode(parts[p] + i * sizeof(float16), count, 1, wide.data() + p * kBlock);
    auto before = s.before ? s.before + i * sizeof(float) : nullptr;
    if (s.ends == 0) reduce<float>(r, blocks, out + i * sizeof(float), m, {before, 0});
    else {
      reduce<float>(r, blocks, reinterpret_cast<std::byte*>(sums), m, {before, s.ends});
      kernels.encode(sums, count, 1, out + i * sizeof(float16));
    }
  }
}
}  // namespace

std::size_t running_size(Dtype d) { return dtype_size(accumulator(d)); }
void reduce_in_order(Reduction r, Dtype d, const std::vector<const std::byte*>& parts, std::byte* out, std::size_t n) {
  reduce_in_order(r, d, parts, out, n, {.ends = static_cast<int>(parts.size())});
}
void reduce_in_order(Reduction r, Dtype d, const std::vector<const std::byte*>& parts, std::byte* out, std::size_t n,
                     Stretch s) {
  if (n == 0) return;
  KeepDenormals kept;
  if (is_complex(d)) {  // sums of the parts
    check<DtypeError>(r == Reduction::sum || r == Reduction::mean, "complex numbers have no order");
    return reduce_in_order(r, real_dtype(d), parts, out, 2 * n, s);
  }
  check<DtypeError>(r != Reduction::mean || is_float(d), "a mean needs a floating dtype, got ", d);
  check<DtypeError>(is_numeric(d), "random keys cannot be reduced");
  if (d == f16) return reduce_f16(r, parts, out, n, s);
  dispatch_real(d, "a sum of ranks", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>)
      reduce<std::uint8_t>(r == Reduction::sum ? Reduction::max : r, parts, out, n, s);
    else if constexpr (is_float_class<T>) reduce<T, float>(r, parts, out, n, s);
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)  // sums wrap: they are made in unsigned numbers
      r == Reduction::sum ? reduce<std::make_unsigned_t<T>>(r, parts, out, n, s) : reduce<T>(r, parts, out, n, s);
    else reduce<T>(r, parts, out, n, s);
  });
}
}  // namespace bora::transport
