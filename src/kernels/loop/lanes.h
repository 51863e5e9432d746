// lanes.h -- the lane contract and its SIMD implementation. Elementary functions (functions.h) are written once over
// these types:
//   F f32   U u32   S i32   B u8 (in 32 bits)   M a mask of 32-bit lanes   D f64   L i64   W a mask of 64-bit lanes
// Each instruction set includes this header in a namespace of its own (BORA_ISA). Two rules give the same bits
// everywhere: only correctly rounded or exact instructions (no rcpps, rsqrtps: vendors differ); a*b+c is fused only
// where fma() is written. The functions must also work on lanes that record (recording_lanes.h): they branch on any()
// only where it exists.
//   numbers: + - * / -x  fma(a,b,c)  fnma(a,b,c) = c-a*b  vmin vmax (the second if either is NaN)  sqrt
//            round floor ceil trunc
//   integers: + - * & | ^ ~  << n  >> n (logical)  shl shr sar by lanes
//   masks: < <= > >= == != & | ^ ~  any  select(m,a,b)
//   bits(F)->U  bits(D)->L  real(U)->F  real(L)->D  to_int(float)->integer (of whole numbers)  to_float(integer)
//   scale(x, n) = x * 2^n with one rounding, n a whole number in a float lane
//   patch(m, y, f, x...): y, but f(x...) in the lanes of m
#pragma once
#include <immintrin.h>
#include <cstdint>
#define BORA_INLINE inline __attribute__((always_inline))

namespace bora::kernels::BORA_ISA {
namespace {
#ifdef __AVX512F__
inline constexpr int kBytes = 64;
#define BORA_MM(f) _mm512_##f
#define BORA_INTS __m512i
#define BORA_REPEAT64 _mm512_set1_epi64
#else
inline constexpr int kBytes = 32;
#define BORA_MM(f) _mm256_##f
#define BORA_INTS __m256i
#define BORA_REPEAT64 _mm256_set1_epi64x
#endif
BORA_INLINE auto repeat(float x) { return BORA_MM(set1_ps)(x); }
BORA_INLINE auto repeat(double x) { return BORA_MM(set1_pd)(x); }
BORA_INLINE auto repeat(std::uint32_t x) { return BORA_MM(set1_epi32)(static_cast<int>(x)); }
BORA_INLINE auto repeat(std::int32_t x) { return BORA_MM(set1_epi32)(x); }
BORA_INLINE auto repeat(std::int64_t x) { return BORA_REPEAT64(x); }
template <class T> struct Stored;
#define BORA_STORED(T, S)                                  \
  template <> struct Stored<T> {                           \
    using type = S;                                        \
    typedef S Vector __attribute__((vector_size(kBytes))); \
  };
BORA_STORED(float, float)
BORA_STORED(double, double)
BORA_STORED(std::uint32_t, std::uint32_t)
BORA_STORED(std::int32_t, std::int32_t)
BORA_STORED(std::int64_t, std::int64_t)
BORA_STORED(std::uint8_t, std::uint32_t)
#undef BORA_STORED

/// A SIMD batch of elements T, each in a 32- or 64-bit lane.
template <class T> struct Lane {
  using Element = T;
  using Storage = typename Stored<T>::type;
  using V = typename Stored<T>::Vector;
  static constexpr int size = kBytes / static_cast<int>(sizeof(Storage));
  V v;
  Lane() = default;
  BORA_INLINE Lane(V x) : v(x) {}
  BORA_INLINE explicit Lane(Storage x) : v((V)repeat(x)) {}
};
using F = Lane<float>;
using U = Lane<std::uint32_t>;
using S = Lane<std::int32_t>;
using B = Lane<std::uint8_t>;
using D = Lane<double>;
using L = Lane<std::int64_t>;
typedef std::uint64_t UV64 __attribute__((vector_size(kBytes)));
typedef std::int32_t IV32 __attribute__((vector_size(kBytes)));
typedef std::int64_t IV64 __attribute__((vector_size(kBytes)));

/// All lanes of a mask are all ones or 0 in memory; in registers AVX-512 holds one bit per lane.
template <int Bytes> struct Mask {
  static constexpr int size = kBytes / Bytes;
#ifdef __AVX512F__
  using R = unsigned;  // low `size` bits
  static constexpr R all = (1u << (size - 1)) * 2u - 1u;
  R m;
#else
  struct I4 {
    using type = IV32;
  };
  struct I8 {
    using type = IV64;
  };
  template <int N, class X, class Y> struct Pick { using type = typename X::type; };
  template <class X, class Y> struct Pick<8, X, Y> { using type = typename Y::type; };
  using R = typename Pick<Bytes, I4, I8>::type;
  R m;
#endif
};
using M = Mask<4>;
using W = Mask<8>;
template <class T> struct MaskOf { using type = Mask<sizeof(typename Lane<T>::Storage)>; };

// clang-format off
/// Signed integers wrap, which C++ guarantees for unsigned ones only.
template <class T> BORA_INLINE auto wrapping(Lane<T> a) { return a.v; }
BORA_INLINE U::V wrapping(S a) { return reinterpret_cast<U::V>(a.v); }
BORA_INLINE UV64 wrapping(L a) { return reinterpret_cast<UV64>(a.v); }
#define BORA_OP(op, as) \
  template <class T> BORA_INLINE Lane<T> operator op(Lane<T> a, Lane<T> b) { \
    return Lane<T>(reinterpret_cast<typename Lane<T>::V>(as(a) op as(b))); \
  }
#define BORA_PLAIN(a) (a).v
BORA_OP(+, wrapping) BORA_OP(-, wrapping) BORA_OP(*, wrapping)
BORA_OP(/, BORA_PLAIN) BORA_OP(&, BORA_PLAIN) BORA_OP(|, BORA_PLAIN) BORA_OP(^, BORA_PLAIN)
#undef BORA_PLAIN
#undef BORA_OP
// clang-format on
template <class T> BORA_INLINE Lane<T> operator-(Lane<T> a) {
  return Lane<T>(reinterpret_cast<typename Lane<T>::V>(-wrapping(a)));
}
template <class T> BORA_INLINE Lane<T> operator~(Lane<T> a) { return Lane<T>(~a.v); }
BORA_INLINE U operator<<(U a, int n) { return U(a.v << n); }
BORA_INLINE U operator>>(U a, int n) { return U(a.v >> n); }
BORA_INLINE S operator>>(S a, int n) { return S(a.v >> n); }
BORA_INLINE L operator<<(L a, int n) { return L(reinterpret_cast<IV64>(reinterpret_cast<UV64>(a.v) << n)); }
BORA_INLINE L operator>>(L a, int n) { return L(reinterpret_cast<IV64>(reinterpret_cast<UV64>(a.v) >> n)); }
BORA_INLINE U rotl(U a, int n) { return U((a.v << n) | (a.v >> (32 - n))); }

BORA_INLINE U bits(F a) { return U(reinterpret_cast<U::V>(a.v)); }
BORA_INLINE L bits(D a) { return L(reinterpret_cast<L::V>(a.v)); }
BORA_INLINE F real(U a) { return F(reinterpret_cast<F::V>(a.v)); }
BORA_INLINE D real(L a) { return D(reinterpret_cast<D::V>(a.v)); }
BORA_INLINE U as_unsigned(S a) { return U(reinterpret_cast<U::V>(a.v)); }
BORA_INLINE L as_unsigned(L a) { return a; }
BORA_INLINE S as_signed(U a) { return S(reinterpret_cast<S::V>(a.v)); }
BORA_INLINE U word(B a) { return U(a.v); }
BORA_INLINE B as_byte(U a) { return B(a.v & 0xffu); }

#define BORA_FLOAT(X, s)                                                                    \
  BORA_INLINE X fma(X a, X b, X c) { return X(X::V(BORA_MM(fmadd_##s)(a.v, b.v, c.v))); }   \
  BORA_INLINE X fnma(X a, X b, X c) { return X(X::V(BORA_MM(fnmadd_##s)(a.v, b.v, c.v))); } \
  BORA_INLINE X vmin(X a, X b) { return X(X::V(BORA_MM(min_##s)(a.v, b.v))); }              \
  BORA_INLINE X vmax(X a, X b) { return X(X::V(BORA_MM(max_##s)(a.v, b.v))); }              \
  BORA_INLINE X sqrt(X a) { return X(X::V(BORA_MM(sqrt_##s)(a.v))); }                       \
  BORA_INLINE X round(X a) { return X(X::V(BORA_ROUND(s)(a.v, 8))); }                       \
  BORA_INLINE X floor(X a) { return X(X::V(BORA_ROUND(s)(a.v, 9))); }                       \
  BORA_INLINE X ceil(X a) { return X(X::V(BORA_ROUND(s)(a.v, 10))); }                       \
  BORA_INLINE X trunc(X a) { return X(X::V(BORA_ROUND(s)(a.v, 11))); }
#ifdef __AVX512F__
#define BORA_ROUND(s) _mm512_roundscale_##s
#else
#define BORA_ROUND(s) _mm256_round_##s
#endif
BORA_FLOAT(F, ps)
BORA_FLOAT(D, pd)
#undef BORA_FLOAT
#undef BORA_ROUND
BORA_INLINE S to_int(F a) { return S(reinterpret_cast<S::V>(BORA_MM(cvtps_epi32)(a.v))); }
BORA_INLINE F to_float(S a) { return F(F::V(BORA_MM(cvtepi32_ps)((BORA_INTS)a.v))); }
// |a| < 2^51: adding 1.5 * 2^52 puts a whole number into the low bits.
BORA_INLINE L to_int(D a) { return bits(a + D(6755399441055744.0)) - L(0x4338000000000000); }
BORA_INLINE D to_float(L a) { return real(a + L(0x4338000000000000)) - D(6755399441055744.0); }

#ifdef __AVX512F__
template <int N> BORA_INLINE Mask<N> operator&(Mask<N> a, Mask<N> b) { return {a.m & b.m}; }
template <int N> BORA_INLINE Mask<N> operator|(Mask<N> a, Mask<N> b) { return {a.m | b.m}; }
template <int N> BORA_INLINE Mask<N> operator^(Mask<N> a, Mask<N> b) { return {a.m ^ b.m}; }
template <int N> BORA_INLINE Mask<N> operator~(Mask<N> a) { return {a.m ^ Mask<N>::all}; }
template <int N> BORA_INLINE bool any(Mask<N> a) { return a.m != 0; }
template <int N> BORA_INLINE bool at(Mask<N> a, int i) { return (a.m >> i) & 1u; }
#define BORA_COMPARE_F(X, s, Mk)                                                                 \
  BORA_INLINE Mk operator<(X a, X b) { return {_mm512_cmp_##s##_mask(a.v, b.v, _CMP_LT_OQ)}; }   \
  BORA_INLINE Mk operator<=(X a, X b) { return {_mm512_cmp_##s##_mask(a.v, b.v, _CMP_LE_OQ)}; }  \
  BORA_INLINE Mk operator==(X a, X b) { return {_mm512_cmp_##s##_mask(a.v, b.v, _CMP_EQ_OQ)}; }  \
  BORA_INLINE Mk operator!=(X a, X b) { return {_mm512_cmp_##s##_mask(a.v, b.v, _CMP_NEQ_UQ)}; } \
  BORA_INLINE X select(Mk m, X a, X b) { return X(X::V(_mm512_mask_blend_##s(m.m, b.v, a.v))); }
#define BORA_COMPARE_I(X, s, t, Mk)                                                                      \
  BORA_INLINE Mk operator<(X a, X b) { return {_mm512_cmplt_##s##_mask((__m512i)a.v, (__m512i)b.v)}; }   \
  BORA_INLINE Mk operator<=(X a, X b) { return {_mm512_cmple_##s##_mask((__m512i)a.v, (__m512i)b.v)}; }  \
  BORA_INLINE Mk operator==(X a, X b) { return {_mm512_cmpeq_##s##_mask((__m512i)a.v, (__m512i)b.v)}; }  \
  BORA_INLINE Mk operator!=(X a, X b) { return {_mm512_cmpneq_##s##_mask((__m512i)a.v, (__m512i)b.v)}; } \
  BORA_INLINE X select(Mk m, X a, X b) { return X((X::V)_mm512_mask_blend_##t(m.m, (__m512i)b.v, (__m512i)a.v)); }
BORA_COMPARE_F(F, ps, M)
BORA_COMPARE_F(D, pd, W)
BORA_COMPARE_I(U, epu32, epi32, M)
BORA_COMPARE_I(B, epu32, epi32, M)
BORA_COMPARE_I(S, epi32, epi32, M)
BORA_COMPARE_I(L, epi64, epi64, W)
#undef BORA_COMPARE_F
#undef BORA_COMPARE_I
BORA_INLINE F scale(F x, F n) { return F(F::V(_mm512_scalef_ps(x.v, n.v))); }
BORA_INLINE D scale(D x, D n) { return D(D::V(_mm512_scalef_pd(x.v, n.v))); }
BORA_INLINE U shl(U a, U n) { return U((U::V)_mm512_sllv_epi32((__m512i)a.v, (__m512i)n.v)); }
BORA_INLINE U shr(U a, U n) { return U((U::V)_mm512_srlv_epi32((__m512i)a.v, (__m512i)n.v)); }
BORA_INLINE S sar(S a, S n) { return S((S::V)_mm512_srav_epi32((__m512i)a.v, (__m512i)n.v)); }
BORA_INLINE L shl(L a, L n) { return L((L::V)_mm512_sllv_epi64((__m512i)a.v, (__m512i)n.v)); }
BORA_INLINE L shr(L a, L n) { return L((L::V)_mm512_srlv_epi64((__m512i)a.v, (__m512i)n.v)); }
BORA_INLINE L sar(L a, L n) { return L((L::V)_mm512_srav_epi64((__m512i)a.v, (__m512i)n.v)); }
#else
template <int N> BORA_INLINE Mask<N> operator&(Mask<N> a, Mask<N> b) { return {a.m & b.m}; }
template <int N> BORA_INLINE Mask<N> operator|(Mask<N> a, Mask<N> b) { return {a.m | b.m}; }
template <int N> BORA_INLINE Mask<N> operator^(Mask<N> a, Mask<N> b) { return {a.m ^ b.m}; }
template <int N> BORA_INLINE Mask<N> operator~(Mask<N> a) { return {~a.m}; }
template <int N> BORA_INLINE bool any(Mask<N> a) { return _mm256_movemask_epi8((__m256i)a.m) != 0; }
template <int N> BORA_INLINE bool at(Mask<N> a, int i) { return a.m[i] != 0; }
template <class T> BORA_INLINE typename MaskOf<T>::type operator<(Lane<T> a, Lane<T> b) { return {a.v < b.v}; }
template <class T> BORA_INLINE typename MaskOf<T>::type operator<=(Lane<T> a, Lane<T> b) { return {a.v <= b.v}; }
template <class T> BORA_INLINE typename MaskOf<T>::type operator==(Lane<T> a, Lane<T> b) { return {a.v == b.v}; }
template <class T> BORA_INLINE typename MaskOf<T>::type operator!=(Lane<T> a, Lane<T> b) { return {a.v != b.v}; }
template <class T> BORA_INLINE Lane<T> select(typename MaskOf<T>::type m, Lane<T> a, Lane<T> b) {
  return Lane<T>((typename Lane<T>::V)_mm256_blendv_epi8((__m256i)b.v, (__m256i)a.v, (__m256i)m.m));
}
// Two factors: the first product is exact, so only the second one rounds (or overflows), as in one scaling instruction.
BORA_INLINE F scale(F x, F n) {
  F h = floor(n * F(0.5f));
  auto power = [](F k) __attribute__((always_inline)) { return real((as_unsigned(to_int(k)) + U(127u)) << 23); };
  return x * power(h) * power(n - h);
}
BORA_INLINE D scale(D x, D n) {
  D h = floor(n * D(0.5));
  auto power = [](D k) __attribute__((always_inline)) { return real((to_int(k) + L(1023)) << 52); };
  return x * power(h) * power(n - h);
}
BORA_INLINE U shl(U a, U n) { return U((U::V)_mm256_sllv_epi32((__m256i)a.v, (__m256i)n.v)); }
BORA_INLINE U shr(U a, U n) { return U((U::V)_mm256_srlv_epi32((__m256i)a.v, (__m256i)n.v)); }
BORA_INLINE S sar(S a, S n) { return S((S::V)_mm256_srav_epi32((__m256i)a.v, (__m256i)n.v)); }
BORA_INLINE L shl(L a, L n) { return L((L::V)_mm256_sllv_epi64((__m256i)a.v, (__m256i)n.v)); }
BORA_INLINE L shr(L a, L n) { return L((L::V)_mm256_srlv_epi64((__m256i)a.v, (__m256i)n.v)); }
BORA_INLINE L sar(L a, L n) {
  L sign(L::V(a.v < 0));
  return shr(a ^ sign, n) ^ sign;
}
#endif
template <class X> BORA_INLINE auto operator>(X a, X b) { return b < a; }
template <class X> BORA_INLINE auto operator>=(X a, X b) { return b <= a; }
// Masks as truth values: false < true.
template <int N> BORA_INLINE Mask<N> operator<(Mask<N> a, Mask<N> b) { return ~a & b; }
template <int N> BORA_INLINE Mask<N> operator<=(Mask<N> a, Mask<N> b) { return ~a | b; }
template <int N> BORA_INLINE Mask<N> operator==(Mask<N> a, Mask<N> b) { return ~(a ^ b); }
template <int N> BORA_INLINE Mask<N> operator!=(Mask<N> a, Mask<N> b) { return a ^ b; }
template <int N> BORA_INLINE Mask<N> select(Mask<N> m, Mask<N> a, Mask<N> b) { return (m & a) | (~m & b); }

// Shifts of the integer types without an instruction of their own. A count of the width or more shifts everything out.
BORA_INLINE S shl(S a, S n) { return as_signed(shl(as_unsigned(a), as_unsigned(n))); }
BORA_INLINE S shr(S a, S n) { return as_signed(shr(as_unsigned(a), as_unsigned(n))); }
BORA_INLINE U sar(U a, U n) { return as_unsigned(sar(as_signed(a), as_signed(n))); }
BORA_INLINE B shl(B a, B n) { return B(shl(U(a.v), U(n.v)).v); }
BORA_INLINE B shr(B a, B n) { return B(shr(U(a.v), U(n.v)).v); }
BORA_INLINE B sar(B a, B n) { return as_byte(as_unsigned(sar(as_signed(U(a.v << 24)), as_signed(U(n.v)))) >> 24); }

/// y, but f(x...) where m: for cases too rare to be worth vector code. f is the same scalar code on every instruction
/// set.
template <class Mk, class X, class Fn, class... Xs> BORA_INLINE X patch(Mk m, X y, Fn f, Xs... x) {
  if (__builtin_expect(any(m), 0))
    for (int i = 0; i < X::size; ++i)
      if (at(m, i)) y.v[i] = f(x.v[i]...);
  return y;
}
/// f(a, b) lane by lane.
template <class X, class Fn> BORA_INLINE X each(X a, X b, Fn f) {
  X r;
  for (int i = 0; i < X::size; ++i) r.v[i] = f(a.v[i], b.v[i]);
  return r;
}

// Memory. A block holds 32- or 64-bit elements; a mask is all ones or 0. part: the first k elements only.
#ifdef __AVX512F__
template <class X> struct Memory {
  using E = typename X::Storage;
  static constexpr bool wide = sizeof(E) == 8;
  static BORA_INLINE X load(const E* p) {
    X r;
    __builtin_memcpy(&r.v, p, kBytes);
    return r;
  }
  static BORA_INLINE void store(E* p, X x) { __builtin_memcpy(p, &x.v, kBytes); }
  static BORA_INLINE X load(const E* p, int k) {
    if constexpr (wide) return X((typename X::V)_mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << k) - 1u), p));
    else return X((typename X::V)_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << k) - 1u), p));
  }
  static BORA_INLINE void store(E* p, X x, int k) {
    if constexpr (wide) _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1u << k) - 1u), (__m512i)x.v);
    else _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << k) - 1u), (__m512i)x.v);
  }
  static BORA_INLINE X fill(E x) { return X(x); }
};
template <> struct Memory<M> {
  using E = std::uint32_t;
  static BORA_INLINE M of(U x) { return {static_cast<unsigned>(_mm512_movepi32_mask((__m512i)x.v))}; }
  static BORA_INLINE U to(M x) { return U((U::V)_mm512_movm_epi32(static_cast<__mmask16>(x.m))); }
  static BORA_INLINE M load(const E* p) { return of(Memory<U>::load(p)); }
  static BORA_INLINE M load(const E* p, int k) { return of(Memory<U>::load(p, k)); }
  static BORA_INLINE void store(E* p, M x) { Memory<U>::store(p, to(x)); }
  static BORA_INLINE void store(E* p, M x, int k) { Memory<U>::store(p, to(x), k); }
  static BORA_INLINE M fill(E x) { return {x ? M::all : 0u}; }
};
template <> struct Memory<W> {
  using E = std::int64_t;
  static BORA_INLINE W of(L x) { return {static_cast<unsigned>(_mm512_movepi64_mask((__m512i)x.v))}; }
  static BORA_INLINE L to(W x) { return L((L::V)_mm512_movm_epi64(static_cast<__mmask8>(x.m))); }
  static BORA_INLINE W load(const E* p) { return of(Memory<L>::load(p)); }
  static BORA_INLINE W load(const E* p, int k) { return of(Memory<L>::load(p, k)); }
  static BORA_INLINE void store(E* p, W x) { Memory<L>::store(p, to(x)); }
  static BORA_INLINE void store(E* p, W x, int k) { Memory<L>::store(p, to(x), k); }
  static BORA_INLINE W fill(E x) { return {x ? W::all : 0u}; }
};
#else
alignas(64) inline constexpr std::int32_t kTail32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
alignas(64) inline constexpr std::int64_t kTail64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
template <class X> struct Memory {
  using E = typename X::Storage;
  static constexpr bool wide = sizeof(E) == 8;
  static BORA_INLINE __m256i tail(int k) {
    if constexpr (wide) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTail64 + 4 - k));
    else return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTail32 + 8 - k));
  }
  static BORA_INLINE X load(const E* p) {
    X r;
    __builtin_memcpy(&r.v, p, kBytes);
    return r;
  }
  static BORA_INLINE void store(E* p, X x) { __builtin_memcpy(p, &x.v, kBytes); }
  static BORA_INLINE X load(const E* p, int k) {
    if constexpr (wide) return X((typename X::V)_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), tail(k)));
    else return X((typename X::V)_mm256_maskload_epi32(reinterpret_cast<const int*>(p), tail(k)));
  }
  static BORA_INLINE void store(E* p, X x, int k) {
    if constexpr (wide) _mm256_maskstore_epi64(reinterpret_cast<long long*>(p), tail(k), (__m256i)x.v);
    else _mm256_maskstore_epi32(reinterpret_cast<int*>(p), tail(k), (__m256i)x.v);
  }
  static BORA_INLINE X fill(E x) { return X(x); }
};
template <> struct Memory<M> {
  using E = std::uint32_t;
  static BORA_INLINE M load(const E* p) { return {(M::R)Memory<U>::load(p).v}; }
  static BORA_INLINE M load(const E* p, int k) { return {(M::R)Memory<U>::load(p, k).v}; }
  static BORA_INLINE void store(E* p, M x) { Memory<U>::store(p, U((U::V)x.m)); }
  static BORA_INLINE void store(E* p, M x, int k) { Memory<U>::store(p, U((U::V)x.m), k); }
  static BORA_INLINE M fill(E x) { return {(M::R)U(x).v}; }
};
template <> struct Memory<W> {
  using E = std::int64_t;
  static BORA_INLINE W load(const E* p) { return {Memory<L>::load(p).v}; }
  static BORA_INLINE W load(const E* p, int k) { return {Memory<L>::load(p, k).v}; }
  static BORA_INLINE void store(E* p, W x) { Memory<L>::store(p, L(x.m)); }
  static BORA_INLINE void store(E* p, W x, int k) { Memory<L>::store(p, L(x.m), k); }
  static BORA_INLINE W fill(E x) { return {L(x).v}; }
};
#endif
}  // namespace
}  // namespace bora::kernels::BORA_ISA
