// reduction_operators.h -- what reductions apply to numbers and to vectors of them, and in which types. Private.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include "bora/base/dtype.h"

namespace bora::kernels::reductions {
/// Accumulator type of T. Integers wrap, so they are summed unsigned; bool is handled as bytes.
template <class T> struct AccOf { using type = std::make_unsigned_t<T>; };
template <> struct AccOf<bfloat16> { using type = float; };
template <> struct AccOf<float> { using type = float; };
template <> struct AccOf<double> { using type = double; };
template <> struct AccOf<bool> { using type = std::uint8_t; };

/// 32 partials as vectors of 32 bytes.
template <class A> struct Lanes {
  typedef A Vec __attribute__((vector_size(32)));
  static constexpr int width = 32 / sizeof(A), count = 32 / width;
  Vec v[count];
};
/// Loads `width` values in the accumulator type.
template <class R> auto load_vec(const R* x) {
  typename Lanes<typename AccOf<R>::type>::Vec v;
  if constexpr (std::is_same_v<R, bfloat16>) {
    typedef std::uint16_t Half __attribute__((vector_size(16)));
    typedef std::uint32_t Word __attribute__((vector_size(32)));
    Half h;
    std::memcpy(&h, x, sizeof h);
    Word w = __builtin_convertvector(h, Word) << 16;
    std::memcpy(&v, &w, sizeof v);
  } else std::memcpy(&v, x, sizeof v);
  return v;
}

// Operators on scalars and vectors. Of -0 and +0, max and min keep the later one, as fused loops do. S: the type in
// which max and min compare.
struct Sum {
  template <class T, class A> static constexpr A identity() { return A(0); }
  template <class S, class V> static V apply(V a, V x) { return a + x; }
};
struct Prod {
  template <class T, class A> static constexpr A identity() { return A(1); }
  template <class S, class V> static V apply(V a, V x) { return a * x; }
};
struct Max {
  template <class T, class A> static constexpr A identity() {
    if constexpr (std::is_floating_point_v<A>) return -std::numeric_limits<A>::infinity();
    else return static_cast<A>(std::numeric_limits<T>::min());
  }
  template <class S, class V> static V apply(V a, V x) { return ((S(a) > S(x)) | (a != a)) ? a : x; }
};
struct Min {
  template <class T, class A> static constexpr A identity() {
    if constexpr (std::is_floating_point_v<A>) return std::numeric_limits<A>::infinity();
    else return static_cast<A>(std::numeric_limits<T>::max());
  }
  template <class S, class V> static V apply(V a, V x) { return ((S(a) < S(x)) | (a != a)) ? a : x; }
};
/// The type in which values of T compare: T itself for integers, else the accumulator type.
template <class T, class A> using Compare = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, T, A>;
template <class S> struct VecOf { typedef S type __attribute__((vector_size(32))); };

template <class T> auto value(T x) {
  using A = typename AccOf<T>::type;
  return static_cast<A>(x);
}
/// bool is read as bytes.
template <class T> const auto* raw(const T* x) {
  if constexpr (std::is_same_v<T, bool>) return reinterpret_cast<const std::uint8_t*>(x);
  else if constexpr (std::is_integral_v<T>) return reinterpret_cast<const std::make_unsigned_t<T>*>(x);
  else return x;
}
}  // namespace bora::kernels::reductions
