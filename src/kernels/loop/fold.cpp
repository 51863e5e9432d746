#include "kernels/loop/fold.h"
#include <immintrin.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include "bora/base/error.h"
#include "kernels/array/transpose.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;

/// to[j * to_row + i] = from[i * from_row + j] for a block of 4 x 4.
void turn_quarter(const float* from, I from_row, float* to, I to_row) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_row), c = _mm_loadu_ps(from + 2 * from_row),
         d = _mm_loadu_ps(from + 3 * from_row);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a), _mm_storeu_ps(to + to_row, b);
  _mm_storeu_ps(to + 2 * to_row, c), _mm_storeu_ps(to + 3 * to_row, d);
}
void turn_quarter(const double* from, I from_row, double* to, I to_row) {
  __m256d r[4], t[4];
  for (int i = 0; i < 4; ++i) r[i] = _mm256_loadu_pd(from + i * from_row);
  t[0] = _mm256_unpacklo_pd(r[0], r[1]), t[1] = _mm256_unpackhi_pd(r[0], r[1]);
  t[2] = _mm256_unpacklo_pd(r[2], r[3]), t[3] = _mm256_unpackhi_pd(r[2], r[3]);
  for (int i = 0; i < 2; ++i) {
    _mm256_storeu_pd(to + i * to_row, _mm256_permute2f128_pd(t[i], t[i + 2], 0x20));
    _mm256_storeu_pd(to + (i + 2) * to_row, _mm256_permute2f128_pd(t[i], t[i + 2], 0x31));
  }
}
/// to[j * to_row + i] = from[i * from_row + j], i < rows, j < columns. The rest beside whole blocks one by one.
template <class T> void turn_dense(const T* from, I from_row, T* to, I to_row, I rows, I columns) {
  I i = 0;
  if constexpr (std::is_floating_point_v<T>)
    for (; i + 4 <= rows; i += 4) {
      I j = 0;
      bool eight = std::is_same_v<T, float> && i + 8 <= rows;
      if constexpr (std::is_same_v<T, float>)
        for (; eight && j + 8 <= columns; j += 8)
          transpose8(to + j * to_row + i, to_row, from + i * from_row + j, from_row);
      const I height = eight ? 8 : 4;
      for (; j + 4 <= columns; j += 4)
        for (I h = 0; h < height; h += 4)
          turn_quarter(from + (i + h) * from_row + j, from_row, to + j * to_row + i + h, to_row);
      for (; j < columns; ++j)
        for (I h = 0; h < height; ++h) to[j * to_row + i + h] = from[(i + h) * from_row + j];
      if (eight) i += 4;
    }
  for (; i < rows; ++i)
    for (I j = 0; j < columns; ++j) to[j * to_row + i] = from[i * from_row + j];
}
template <class T> void turn_as(Matrix from, Matrix to, I rows, I columns) {
  const T* in = static_cast<const T*>(from.at);
  T* out = static_cast<T*>(to.at);
  if (columns == 1 && from.row == 1 && to.row == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(rows) * sizeof(T));
  } else if (from.column == 1 && to.row == 1 && from.row != 0) {
    turn_dense(in, from.row, out, to.column, rows, columns);
  } else if (from.row == 1 && to.column == 1) {
    turn_dense(in, from.column, out, to.row, columns, rows);
  } else {
    for (I c = 0; c < columns; ++c)
      for (I r = 0; r < rows; ++r) out[r * to.row + c * to.column] = in[r * from.row + c * from.column];
  }
}

/// The type in which values of T are combined, and that in which they are compared.
template <class T> struct Lane { using type = T; };
template <> struct Lane<bfloat16> { using type = float; };
template <> struct Lane<bool> { using type = std::uint8_t; };
template <class A> struct Wrapped { using type = std::make_unsigned_t<A>; };
template <> struct Wrapped<float> { using type = float; };
template <> struct Wrapped<double> { using type = double; };

struct Sum {
  template <class A> static constexpr A identity = A(0);
  template <class A> static A apply(A a, A x) {
    using W = typename Wrapped<A>::type;
    return static_cast<A>(static_cast<W>(a) + static_cast<W>(x));
  }
};
struct Product {
  template <class A> static constexpr A identity = A(1);
  template <class A> static A apply(A a, A x) {
    using W = typename Wrapped<A>::type;
    return static_cast<A>(static_cast<W>(a) * static_cast<W>(x));
  }
};
template <class A> constexpr A kLowest = std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity()
                                                                      : std::numeric_limits<A>::min();
template <class A> constexpr A kHighest = std::is_floating_point_v<A> ? std::numeric_limits<A>::infinity()
                                                                       : std::numeric_limits<A>::max();
struct Largest {
  template <class A> static constexpr A identity = kLowest<A>;
  template <class A> static A apply(A a, A x) { return (a > x) | (a != a) ? a : x; }
};
struct Smallest {
  template <class A> static constexpr A identity = kHighest<A>;
  template <class A> static A apply(A a, A x) { return (a < x) | (a != a) ? a : x; }
};
template <class Op, class T> void fold_as(const T* in, I pitch, T* out, I n, I rows) {
  using A = typename Lane<T>::type;
  constexpr I W = kFoldedRows;
  A a[32][W];
  for (I r = 0; r < rows; r += W) {
    I parts = std::min<I>(n, 32);
    for (I i = 0; i < parts; ++i)
      for (I w = 0; w < W; ++w) a[i][w] = Op::apply(Op::template identity<A>, static_cast<A>(in[i * pitch + r + w]));
    for (I i = 32; i < n; ++i)
      for (I w = 0; w < W; ++w) a[i % 32][w] = Op::apply(a[i % 32][w], static_cast<A>(in[i * pitch + r + w]));
    for (I half = 16; half > 0; half /= 2) {
      for (I i = 0; i + half < parts; ++i)  // partial results behind the last are identities
        for (I w = 0; w < W; ++w) a[i][w] = Op::apply(a[i][w], a[i + half][w]);
      parts = std::min(parts, half);
    }
    constexpr bool one_nan = std::is_floating_point_v<A> && !std::is_same_v<Op, Sum> && !std::is_same_v<Op, Product>;
    for (I w = 0; w < W; ++w) {
      A x = a[0][w];
      if constexpr (one_nan) x = x != x ? std::numeric_limits<A>::quiet_NaN() : x;
      out[r + w] = static_cast<T>(x);
    }
  }
}
template <class T> void fold_dtype(Reduction kind, const void* in, I pitch, void* out, I n, I rows) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  switch (kind) {
    case Reduction::sum: return fold_as<Sum>(from, pitch, to, n, rows);
    case Reduction::prod: return fold_as<Product>(from, pitch, to, n, rows);
    case Reduction::max:
    case Reduction::any: return fold_as<Largest>(from, pitch, to, n, rows);
    case Reduction::min:
    case Reduction::all: return fold_as<Smallest>(from, pitch, to, n, rows);
    case Reduction::mean: fail<ValueError>("fused loop: a mean is a sum that its caller divides");
  }
}
}  // namespace

void turn(Matrix from, Matrix to, I rows, I columns, std::size_t size) {
  switch (size) {
    case 1: return turn_as<std::uint8_t>(from, to, rows, columns);
    case 2: return turn_as<std::uint16_t>(from, to, rows, columns);
    case 4: return turn_as<float>(from, to, rows, columns);
    default: return turn_as<double>(from, to, rows, columns);
  }
}
void fold(Reduction kind, Dtype d, const void* in, I pitch, void* out, I n, I rows) {
  if (d == f32) fold_dtype<float>(kind, in, pitch, out, n, rows);
  else if (d == f64) fold_dtype<double>(kind, in, pitch, out, n, rows);
  else if (d == bf16) fold_dtype<bfloat16>(kind, in, pitch, out, n, rows);
  else if (d == i32) fold_dtype<std::int32_t>(kind, in, pitch, out, n, rows);
  else if (d == u32) fold_dtype<std::uint32_t>(kind, in, pitch, out, n, rows);
  else if (d == i64) fold_dtype<std::int64_t>(kind, in, pitch, out, n, rows);
  else if (d == u8 || d == boolean) fold_dtype<std::uint8_t>(kind, in, pitch, out, n, rows);  // bool: bytes 0 and 1
  else fail<ValueError>("fused loop: no reduction of ", d);
}
}  // namespace bora::kernels
