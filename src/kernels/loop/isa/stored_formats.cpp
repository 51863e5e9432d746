// stored_formats.cpp -- kernels of the block interpreter for dtypes that are stored only: i8, i16, u16 (in a block as
// i32), f16 and f8 (as f32). Stores wrap or round, so that a cast followed by a store is the store alone.
#include <immintrin.h>
#include <type_traits>
#include "kernels/loop/row_kernels.h"

namespace bora::kernels::BORA_ISA {
namespace {
using I = std::int64_t;
/// out[r, i] = in[r, i] as S, as O.
template <class S, class In, class O> void through(const Rows* in, Rows out, I rows, I n) {
  for (I r = 0; r < rows; ++r) {
    const In* p = static_cast<const In*>(in[0].at) + r * in[0].pitch;
    O* o = static_cast<O*>(out.at) + r * out.pitch;
    for (I i = 0; i < n; ++i) o[i] = static_cast<O>(static_cast<S>(p[i]));
  }
}
template <class S, class In, class O> void spread(const Rows* in, Rows out, I rows, I n) {
  for (I r = 0; r < rows; ++r) {
    const auto v = static_cast<O>(static_cast<S>(static_cast<const In*>(in[0].at)[r * in[0].pitch]));
    O* o = static_cast<O*>(out.at) + r * out.pitch;
    for (I i = 0; i < n; ++i) o[i] = v;
  }
}
struct ToFloat {
  using From = std::uint16_t;
  using To = float;
  static constexpr I size = 8;
  static void group(const From* p, To* o) {
    _mm256_storeu_ps(o, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
};
struct ToHalf {
  using From = float;
  using To = std::uint16_t;
  static constexpr I size = 8;
  static void group(const From* p, To* o) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(o), _mm256_cvtps_ph(_mm256_loadu_ps(p), _MM_FROUND_TO_NEAREST_INT));
  }
};
struct RoundTrip {
  using From = float;
  using To = float;
  static constexpr I size = 8;
  static void group(const From* p, To* o) {
    _mm256_storeu_ps(o, _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(p), _MM_FROUND_TO_NEAREST_INT)));
  }
};
template <class From, class To> void copy_lanes(const From* p, To* o) {
  for (int i = 0; i < F::size; ++i) o[i] = static_cast<To>(p[i]);
}
struct F8ToFloat {
  using From = std::uint8_t;
  using To = float;
  static constexpr I size = F::size;
  static void group(const From* p, To* o) {
    std::uint32_t code[size];
    copy_lanes(p, code);
    Memory<F>::store(o, of_f8(Memory<U>::load(code)));
  }
};
struct ToF8 {
  using From = float;
  using To = std::uint8_t;
  static constexpr I size = F::size;
  static void group(const From* p, To* o) {
    std::uint32_t code[size];
    Memory<U>::store(code, to_f8(Memory<F>::load(p)));
    copy_lanes(code, o);
  }
};
struct F8RoundTrip {
  using From = float;
  using To = float;
  static constexpr I size = F::size;
  static void group(const From* p, To* o) { Memory<F>::store(o, of_f8(to_f8(Memory<F>::load(p)))); }
};
template <class C> void grouped(const Rows* in, Rows out, I rows, I n) {
  using From = typename C::From;
  using To = typename C::To;
  for (I r = 0; r < rows; ++r) {
    const From* p = static_cast<const From*>(in[0].at) + r * in[0].pitch;
    To* o = static_cast<To*>(out.at) + r * out.pitch;
    I i = 0;
    for (; i + C::size <= n; i += C::size) C::group(p + i, o + i);
    if (i == n) continue;
    From a[C::size] = {};
    To b[C::size];
    for (I j = i; j < n; ++j) a[j - i] = p[j];
    C::group(a, b);
    for (I j = i; j < n; ++j) o[j] = b[j - i];
  }
}
template <class C> void spread_group(const Rows* in, Rows out, I rows, I n) {
  for (I r = 0; r < rows; ++r) {
    typename C::From a[C::size] = {static_cast<const typename C::From*>(in[0].at)[r * in[0].pitch]};
    typename C::To b[C::size], *o = static_cast<typename C::To*>(out.at) + r * out.pitch;
    C::group(a, b);
    for (I i = 0; i < n; ++i) o[i] = b[0];
  }
}
template <class S, class In, class O> Kernel whole() {
  Kernel k;
  k.by_scalars[0] = through<S, In, O>;
  k.by_scalars[1] = spread<S, In, O>;
  return k;
}
template <class C> Kernel converts() {
  Kernel k;
  k.by_scalars[0] = grouped<C>;
  k.by_scalars[1] = spread_group<C>;
  return k;
}
template <class Load, class Store, class Round> void floating(KernelTable& t, Format format) {
  const auto f = static_cast<int>(format);
  t.load[f] = converts<Load>();
  t.store[f] = converts<Store>();
  t.cast[static_cast<int>(Format::f32)][f] = converts<Round>();
}
template <class S> void integer(KernelTable& t, Format format) {
  const auto f = static_cast<int>(format);
  t.load[f] = whole<S, S, std::int32_t>();
  t.store[f] = whole<S, std::int32_t, S>();
  t.cast[static_cast<int>(Format::i32)][f] = whole<S, std::int32_t, std::int32_t>();
}
}  // namespace

void add_stored(KernelTable& t) {
  integer<std::int8_t>(t, Format::i8);
  integer<std::int16_t>(t, Format::i16);
  integer<std::uint16_t>(t, Format::u16);
  floating<ToFloat, ToHalf, RoundTrip>(t, Format::f16);
  floating<F8ToFloat, ToF8, F8RoundTrip>(t, Format::f8);
}
}  // namespace bora::kernels::BORA_ISA
