#include "kernels/loop/fold.h"
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

template <class T> void turn_as(Matrix from, Matrix to, I rows, I columns) {
  const T* in = static_cast<const T*>(from.at);
  T* out = static_cast<T*>(to.at);
  if (columns == 1 && from.row == 1 && to.row == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(rows) * sizeof(T));
  } else if (from.column == 1 && to.row == 1 && from.row != 0) {
    turn_dense(in, from.row, out, to.column, rows, columns);
  } else if (from.row == 1 && to.column == 1) {
    turn_dense(in, from.column, out, to.row, columns, rows);
  } else if (from.row == 0 && to.row == 1) {
    for (I c = 0; c < columns; ++c) std::fill_n(out + c * to.column, rows, in[c * from.column]);
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
