// recording_lanes.h -- the lane contract of lanes.h implemented by a recorder: each operation becomes a node of a
// Graph, with the instructions that the lanes of the graph's instruction set use, so that a generated loop gives the
// bits of the interpreter.
#pragma once
#include <bit>
#include <cstring>
#include <type_traits>
#include "kernels/loop/recorded.h"
#define BORA_INLINE inline

namespace bora::kernels::BORA_ISA {
namespace {
/// The graph that this thread records into.
thread_local jit::Graph* graph = nullptr;
using jit::P;

template <class T> struct Stored { using type = T; };
template <> struct Stored<std::uint8_t> { using type = std::uint32_t; };
template <class T> struct Lane {
  using Element = T;
  using Storage = typename Stored<T>::type;
  static constexpr bool wide = sizeof(Storage) == 8, floating = std::is_floating_point_v<T>;
  int v = -1;  // a node
  Lane() = default;
  explicit Lane(Storage x) {
    using I = std::conditional_t<wide, std::uint64_t, std::uint32_t>;
    v = graph->constant(std::bit_cast<I>(x), wide);
  }
  static Lane of(int node) {
    Lane r;
    r.v = node;
    return r;
  }
};
using F = Lane<float>;
using U = Lane<std::uint32_t>;
using S = Lane<std::int32_t>;
using B = Lane<std::uint8_t>;
using D = Lane<double>;
using L = Lane<std::int64_t>;
template <int Bytes> struct Mask { int m = -1; };
using M = Mask<4>;
using W = Mask<8>;
template <class T> struct MaskOf { using type = Mask<sizeof(typename Lane<T>::Storage)>; };

template <class X> X put(P op, int a, int b = -1, int c = -1, std::uint64_t imm = 0) {
  return X::of(graph->add({.op = op, .wide = X::wide, .in = {a, b, c, -1}, .imm = imm}));
}
template <int N> Mask<N> put_mask(P op, int a, int b = -1, std::uint64_t imm = 0) {
  return {graph->add({.op = op, .wide = N == 8, .mask = true, .in = {a, b, -1, -1}, .imm = imm})};
}
inline bool v4() { return graph->isa == Isa::v4; }

#define BORA_OP(op, real, whole) \
  template <class T> Lane<T> operator op(Lane<T> a, Lane<T> b) { \
    return put<Lane<T>>(Lane<T>::floating ? P::real : P::whole, a.v, b.v); \
  }
BORA_OP(+, add, iadd) BORA_OP(-, sub, isub)
BORA_OP(&, iand, iand) BORA_OP(|, ior, ior) BORA_OP(^, ixor, ixor)
#undef BORA_OP
inline L wide_product(L a, L b);
template <class T> Lane<T> operator*(Lane<T> a, Lane<T> b) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (!v4()) return wide_product(a, b);
  }
  return put<Lane<T>>(Lane<T>::floating ? P::mul : P::imul, a.v, b.v);
}
template <class T> Lane<T> operator/(Lane<T> a, Lane<T> b) {
  static_assert(Lane<T>::floating);
  return put<Lane<T>>(P::div, a.v, b.v);
}
template <class T> Lane<T> sign_bit() {
  return Lane<T>::of(graph->constant(Lane<T>::wide ? std::uint64_t{1} << 63 : 0x80000000u, Lane<T>::wide));
}
template <class T> Lane<T> operator-(Lane<T> a) {
  if constexpr (Lane<T>::floating) return a ^ sign_bit<T>();
  else return Lane<T>(typename Lane<T>::Storage{0}) - a;
}
template <class T> Lane<T> operator~(Lane<T> a) { return a ^ Lane<T>(static_cast<typename Lane<T>::Storage>(-1)); }
template <class X> X shifted(P op, X a, int n) { return put<X>(op, a.v, -1, -1, static_cast<std::uint64_t>(n)); }
inline U operator<<(U a, int n) { return shifted(P::shl, a, n); }
inline U operator>>(U a, int n) { return shifted(P::shr, a, n); }
inline S operator>>(S a, int n) { return shifted(P::sar, a, n); }
inline L operator<<(L a, int n) { return shifted(P::shl, a, n); }
inline L operator>>(L a, int n) { return shifted(P::shr, a, n); }
inline U rotl(U a, int n) { return v4() ? shifted(P::rotl, a, n) : (a << n) | (a >> (32 - n)); }
inline L wide_product(L a, L b) {  // AVX2 multiplies 32-bit words: the low product plus the cross products
  auto words = [](L x, L y) { return put<L>(P::umul32, x.v, y.v); };
  return words(a, b) + ((words(a >> 32, b) + words(a, b >> 32)) << 32);
}

inline U bits(F a) { return U::of(a.v); }
inline L bits(D a) { return L::of(a.v); }
inline F real(U a) { return F::of(a.v); }
inline D real(L a) { return D::of(a.v); }
inline U as_unsigned(S a) { return U::of(a.v); }
inline L as_unsigned(L a) { return a; }
inline S as_signed(U a) { return S::of(a.v); }
inline B as_byte(U a) { return B::of((a & U(0xffu)).v); }

#define BORA_FLOAT(X)                                                          \
  inline X fma(X a, X b, X c) { return put<X>(P::fma, a.v, b.v, c.v); }        \
  inline X fnma(X a, X b, X c) { return put<X>(P::fnma, a.v, b.v, c.v); }      \
  inline X vmin(X a, X b) { return put<X>(P::vmin, a.v, b.v); }                \
  inline X vmax(X a, X b) { return put<X>(P::vmax, a.v, b.v); }                \
  inline X sqrt(X a) { return put<X>(P::sqrt, a.v); }                          \
  inline X round(X a) { return shifted(P::round, a, 8); }                      \
  inline X floor(X a) { return shifted(P::round, a, 9); }                      \
  inline X ceil(X a) { return shifted(P::round, a, 10); }                      \
  inline X trunc(X a) { return shifted(P::round, a, 11); }
BORA_FLOAT(F)
BORA_FLOAT(D)
#undef BORA_FLOAT
inline S to_int(F a) { return put<S>(P::to_int, a.v); }
inline F to_float(S a) { return put<F>(P::to_float, a.v); }
inline L to_int(D a) { return bits(a + D(6755399441055744.0)) - L(0x4338000000000000); }
inline D to_float(L a) { return real(a + L(0x4338000000000000)) - D(6755399441055744.0); }

template <int N> Mask<N> operator&(Mask<N> a, Mask<N> b) { return put_mask<N>(P::mand, a.m, b.m); }
template <int N> Mask<N> operator|(Mask<N> a, Mask<N> b) { return put_mask<N>(P::mor, a.m, b.m); }
template <int N> Mask<N> operator^(Mask<N> a, Mask<N> b) { return put_mask<N>(P::mxor, a.m, b.m); }
template <int N> Mask<N> operator~(Mask<N> a) { return put_mask<N>(P::mnot, a.m); }
/// AVX-512 has every comparison; AVX2 has == and signed > of integers: the others swap operands, invert the result or
/// flip the sign bits.
template <class T> auto compared(Lane<T> a, Lane<T> b, jit::Predicate p) {
  constexpr int n = sizeof(typename Lane<T>::Storage);
  if constexpr (Lane<T>::floating) return put_mask<n>(P::cmp, a.v, b.v, p);
  else {
    constexpr bool is_signed = std::is_signed_v<T>;
    if (v4()) return put_mask<n>(is_signed ? P::icmp : P::ucmp, a.v, b.v, p);
    if (p == jit::kEqual) return put_mask<n>(P::icmp, a.v, b.v, p);
    if (p == jit::kNotEqual) return ~put_mask<n>(P::icmp, a.v, b.v, jit::kEqual);
    if (p == jit::kLessEqual) return ~compared(b, a, jit::kLess);
    if constexpr (!is_signed) a = a ^ sign_bit<T>(), b = b ^ sign_bit<T>();
    return put_mask<n>(P::icmp, b.v, a.v, jit::kGreater);
  }
}
template <class T> auto operator<(Lane<T> a, Lane<T> b) { return compared(a, b, jit::kLess); }
template <class T> auto operator<=(Lane<T> a, Lane<T> b) { return compared(a, b, jit::kLessEqual); }
template <class T> auto operator==(Lane<T> a, Lane<T> b) { return compared(a, b, jit::kEqual); }
template <class T> auto operator!=(Lane<T> a, Lane<T> b) { return compared(a, b, jit::kNotEqual); }
template <class T> Lane<T> select(typename MaskOf<T>::type m, Lane<T> a, Lane<T> b) {
  return put<Lane<T>>(P::select, m.m, a.v, b.v);
}
template <class X> auto operator>(X a, X b) { return b < a; }
template <class X> auto operator>=(X a, X b) { return b <= a; }
template <int N> Mask<N> operator<(Mask<N> a, Mask<N> b) { return ~a & b; }
template <int N> Mask<N> operator<=(Mask<N> a, Mask<N> b) { return ~a | b; }
template <int N> Mask<N> operator==(Mask<N> a, Mask<N> b) { return ~(a ^ b); }
template <int N> Mask<N> operator!=(Mask<N> a, Mask<N> b) { return a ^ b; }
template <int N> Mask<N> select(Mask<N> m, Mask<N> a, Mask<N> b) { return (m & a) | (~m & b); }

/// One scaling instruction, or two factors of which only the second one rounds.
template <class X> X scaled(X x, X n) {
  if (v4()) return put<X>(P::scalef, x.v, n.v);
  X h = floor(n * X(static_cast<typename X::Storage>(0.5)));
  auto power = [](X k) {
    if constexpr (X::wide) return real((to_int(k) + L(1023)) << 52);
    else return real((as_unsigned(to_int(k)) + U(127u)) << 23);
  };
  return x * power(h) * power(n - h);
}
inline F scale(F x, F n) { return scaled(x, n); }
inline D scale(D x, D n) { return scaled(x, n); }
inline U shl(U a, U n) { return put<U>(P::shlv, a.v, n.v); }
inline U shr(U a, U n) { return put<U>(P::shrv, a.v, n.v); }
inline S sar(S a, S n) { return put<S>(P::sarv, a.v, n.v); }
inline L shl(L a, L n) { return put<L>(P::shlv, a.v, n.v); }
inline L shr(L a, L n) { return put<L>(P::shrv, a.v, n.v); }
inline L sar(L a, L n) {
  if (v4()) return put<L>(P::sarv, a.v, n.v);
  L sign = select(a < L(0), L(-1), L(0));
  return shr(a ^ sign, n) ^ sign;
}
inline S shl(S a, S n) { return as_signed(shl(as_unsigned(a), as_unsigned(n))); }
inline S shr(S a, S n) { return as_signed(shr(as_unsigned(a), as_unsigned(n))); }
inline U sar(U a, U n) { return as_unsigned(sar(as_signed(a), as_signed(n))); }
inline U word(B a) { return U::of(a.v); }
inline B shl(B a, B n) { return B::of(shl(word(a), word(n)).v); }
inline B shr(B a, B n) { return B::of(shr(word(a), word(n)).v); }
inline B sar(B a, B n) { return as_byte(as_unsigned(sar(as_signed(word(a) << 24), as_signed(word(n)))) >> 24); }

/// A host function on single lanes. Its captures are passed in 8 bytes.
template <class X, class Fn, int Arity>
void call_lanes(std::uint64_t closure, std::uint64_t mask, void* result, const void* a, const void* b, int lanes) {
  alignas(Fn) unsigned char f[sizeof(Fn)];
  std::memcpy(f, &closure, sizeof(Fn));
  const Fn& fn = *reinterpret_cast<const Fn*>(f);
  using E = typename X::Storage;
  auto* r = static_cast<E*>(result);
  for (int i = 0; i < lanes; ++i) {
    if ((mask >> i & 1u) == 0) continue;
    if constexpr (Arity == 1) r[i] = fn(static_cast<const E*>(a)[i]);
    else r[i] = fn(static_cast<const E*>(a)[i], static_cast<const E*>(b)[i]);
  }
}
template <class X, int Arity, class Fn> X call_host(int mask, int otherwise, Fn f, int a, int b) {
  static_assert(sizeof(Fn) <= 8 && std::is_trivially_copyable_v<Fn>);
  std::uint64_t closure = 0;
  if constexpr (!std::is_empty_v<Fn>) std::memcpy(&closure, &f, sizeof(Fn));
  const auto call = graph->host_call({call_lanes<X, Fn, Arity>, closure});
  return X::of(graph->add({.op = P::host, .wide = X::wide, .in = {mask, otherwise, a, b}, .imm = call}));
}
template <class Mk, class X, class Fn> X patch(Mk m, X y, Fn f, X a) { return call_host<X, 1>(m.m, y.v, f, a.v, -1); }
template <class Mk, class X, class Fn> X patch(Mk m, X y, Fn f, X a, X b) {
  return call_host<X, 2>(m.m, y.v, f, a.v, b.v);
}
template <class X, class Fn> X each(X a, X b, Fn f) { return call_host<X, 2>(-1, -1, f, a.v, b.v); }
}  // namespace
}  // namespace bora::kernels::BORA_ISA
