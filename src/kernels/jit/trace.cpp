// trace.cpp -- functions.h over recorded lanes.
#define BORA_ISA recorded
#define BORA_RECORDED
#include "kernels/jit/trace.h"
#include "kernels/loop/functions.h"

namespace bora::kernels::recorded {
namespace {
using jit::Graph;
struct Recording {
  explicit Recording(Graph& g) { graph = &g; }
  ~Recording() { graph = nullptr; }
};
template <class X> struct MaskFor { using type = typename MaskOf<typename X::Element>::type; };
template <> struct MaskFor<M> { using type = M; };
template <> struct MaskFor<W> { using type = W; };
template <class X> X from_node(int v) {
  if constexpr (requires(X x) { x.m; }) return {v};
  else return X::of(v);
}
template <class X> int node(X x) {
  if constexpr (requires { x.m; }) return x.m;
  else return x.v;
}
template <class X> int within(X x) { return node(x); }
template <> int within<B>(B x) { return (word(x) & U(0xffu)).v; }  // u8 is held in 32 bits: cut off the overflow

#define BORA_UNARY(NAME, COST, DOMAIN, ...)                       \
  struct op_##NAME {                                              \
    template <class T> static auto f(T a) { return __VA_ARGS__; } \
  };
#define BORA_BINARY(NAME, COST, DOMAIN, ...)                           \
  struct op_##NAME {                                                   \
    template <class T> static auto f(T a, T b) { return __VA_ARGS__; } \
  };
#define BORA_TERNARY(NAME, COST, DOMAIN, ...)                                        \
  struct op_##NAME {                                                                 \
    template <class R, class T> static auto f(R a, T b, T c) { return __VA_ARGS__; } \
  };
#include "kernels/loop/op_list.h"
#undef BORA_UNARY
#undef BORA_BINARY
#undef BORA_TERNARY

using Trace = int (*)(const int* in);
template <class Fn, class A> int trace1(const int* in) { return within(Fn::f(from_node<A>(in[0]))); }
template <class Fn, class A> int trace2(const int* in) {
  return within(Fn::f(from_node<A>(in[0]), from_node<A>(in[1])));
}
template <class Fn, class R, class A> int trace3(const int* in) {
  return within(Fn::f(from_node<R>(in[0]), from_node<A>(in[1]), from_node<A>(in[2])));
}
struct Table {
  Trace op[kOps][kFormats] = {};
};
template <class X, Format Fm> void add_operations(Table& t) {
  constexpr int f = static_cast<int>(Fm);
#define BORA_UNARY(NAME, COST, DOMAIN, ...) \
  if constexpr (accepts(Domain::DOMAIN, Fm)) t.op[k_##NAME][f] = trace1<op_##NAME, X>;
#define BORA_BINARY(NAME, COST, DOMAIN, ...) \
  if constexpr (accepts(Domain::DOMAIN, Fm)) t.op[k_##NAME][f] = trace2<op_##NAME, X>;
#define BORA_TERNARY(NAME, COST, DOMAIN, ...)                                                                          \
  if constexpr (Domain::DOMAIN == Domain::choose) t.op[k_##NAME][f] = trace3<op_##NAME, typename MaskFor<X>::type, X>; \
  else if constexpr (accepts(Domain::DOMAIN, Fm)) t.op[k_##NAME][f] = trace3<op_##NAME, X, X>;
#include "kernels/loop/op_list.h"
#undef BORA_UNARY
#undef BORA_BINARY
#undef BORA_TERNARY
}
const Table& table() {
  static const Table t = [] {
    Table r;
    add_operations<F, Format::f32>(r);
    add_operations<F, Format::bf16>(r);
    add_operations<D, Format::f64>(r);
    add_operations<S, Format::i32>(r);
    add_operations<U, Format::u32>(r);
    add_operations<B, Format::u8>(r);
    add_operations<L, Format::i64>(r);
    add_operations<M, Format::mask32>(r);
    add_operations<W, Format::mask64>(r);
    return r;
  }();
  return t;
}
constexpr Domain kDomain[] = {
#define BORA_UNARY(NAME, COST, DOMAIN, ...) Domain::DOMAIN,
#define BORA_BINARY BORA_UNARY
#define BORA_TERNARY BORA_UNARY
#include "kernels/loop/op_list.h"
#undef BORA_UNARY
#undef BORA_BINARY
#undef BORA_TERNARY
};

/// Truncates and saturates as the interpreter does; NaN gives 0.
S to_i32(F x) {
  S r = put<S>(P::truncate, x.v);  // INT32_MIN where x does not fit
  r = select(x >= F(2147483648.f), S(INT32_MAX), r);
  return select(x == x, r, S(0));
}
U to_u32(F x) {
  auto high = x >= F(2147483648.f);
  U r = as_unsigned(put<S>(P::truncate, select(high, x - F(2147483648.f), x).v));
  r = select(high, r ^ U(0x80000000u), r);
  r = select(x >= F(4294967296.f), U(~0u), r);
  return select(x > F(0.f), r, U(0u));
}
U to_u8(F x) {
  U r = as_unsigned(put<S>(P::truncate, x.v));
  r = select(x >= F(256.f), U(255u), r);
  return select(x > F(0.f), r, U(0u));
}
F from_u32(U x) {  // both halves are exact, so that only the sum rounds
  F high = to_float(as_signed(x >> 16)), low = to_float(as_signed(x & U(0xffffu)));
  return fma(high, F(65536.f), low);
}
D from_i64(L x) {
  if (v4()) return put<D>(P::to_float, x.v);
  // The high word times 2^32 and the low word, each in the low bits of a power of two: both exact, only the sum rounds.
  L low = (x & L(0xffffffff)) | L(0x4330000000000000);
  L high = ((x ^ L(INT64_MIN)) >> 32) | L(0x4530000000000000);
  return (real(high) - D(0x1.00000801p84)) + real(low);
}
int to_i64(D x) {
  if (!v4()) return -1;
  L r = put<L>(P::truncate, x.v);
  r = select(x >= D(9223372036854775808.), L(INT64_MAX), r);
  return select(x == x, r, L(0)).v;
}
/// From i32 or f32, the dtypes in which those that are stored only compute.
int cast_to_stored(Format to, int v) {
  switch (to) {
    case Format::i8: return (as_signed(U::of(v) << 24) >> 24).v;
    case Format::i16: return (as_signed(U::of(v) << 16) >> 16).v;
    case Format::u16: return (U::of(v) & U(0xffffu)).v;
    case Format::f8: return of_f8(to_f8(F::of(v))).v;
    default: return put<F>(P::to_half, v).v;
  }
}
int cast32(Format from, Format to, int v) {
  if (from == Format::mask32) {
    if (is_float(to)) return select(M{v}, F(1.f), F(0.f)).v;
    return select(M{v}, U(1u), U(0u)).v;
  }
  if (to == Format::mask32) return is_float(from) ? (F::of(v) != F(0.f)).m : (U::of(v) != U(0u)).m;
  if (is_float(to)) {
    if (!is_float(from)) v = (from == Format::u32 ? from_u32(U::of(v)) : to_float(S::of(v))).v;
    return to == Format::bf16 ? round_to_bf16(F::of(v)).v : v;
  }
  if (!is_float(from)) return to == Format::u8 ? (U::of(v) & U(0xffu)).v : v;
  const F x = F::of(v);
  return to == Format::i32 ? to_i32(x).v : to == Format::u32 ? to_u32(x).v : to_u8(x).v;
}
int narrow(P op, int v) { return graph->add({.op = op, .in = {v, -1, -1, -1}}); }
template <class X> X widen(P op, int v) { return put<X>(op, v); }
/// Casts with 64-bit lanes on one side or both.
int cast64(Format from, Format to, int v) {
  if (from == Format::mask64) {
    if (to == Format::f64) return select(W{v}, D(1.), D(0.)).v;
    const L one = select(W{v}, L(1), L(0));
    return to == Format::i64 ? one.v : cast32(Format::u8, to, narrow(P::low_word, one.v));
  }
  if (width_of(from) == 4) {  // wider first: exact
    const bool real = is_float(from);
    if (real) v = widen<D>(P::widen_float, v).v;
    else v = widen<L>(from == Format::i32 ? P::sign_extend : P::zero_extend, v).v;
    from = real ? Format::f64 : Format::i64;
  }
  if (from == to) return v;
  if (to == Format::mask64) return from == Format::f64 ? (D::of(v) != D(0.)).m : (L::of(v) != L(0)).m;
  if (from == Format::i64) {
    if (to == Format::f64) return from_i64(L::of(v)).v;
    if (!is_float(to)) return cast32(Format::u32, to, narrow(P::low_word, v));
    if (!v4()) return -1;
    v = narrow(P::whole_to_f32, v);
    return to == Format::bf16 ? round_to_bf16(F::of(v)).v : v;
  }
  if (is_float(to)) {
    v = narrow(P::narrow_float, v);
    return to == Format::bf16 ? round_to_bf16(F::of(v)).v : v;
  }
  v = to_i64(D::of(v));
  if (v < 0 || to == Format::i64) return v;
  const L low(to == Format::i32 ? INT32_MIN : 0),
      high(to == Format::i32 ? std::int64_t{INT32_MAX} : to == Format::u32 ? std::int64_t{UINT32_MAX} : 255);
  L x = L::of(v);
  x = select(x < low, low, select(high < x, high, x));
  return narrow(P::low_word, x.v);
}
}  // namespace
}  // namespace bora::kernels::recorded

namespace bora::kernels::jit {
using namespace recorded;
int trace_op(Graph& g, OpId op, Format f, const int* in) {
  Recording recording(g);
  const Trace t = table().op[op][static_cast<int>(f)];
  if (t == nullptr) return -1;
  const int v = t(in);
  const Domain d = kDomain[op];
  const bool exact = gives_bool(d) || d == Domain::ordered || d == Domain::choose;
  return f == Format::bf16 && !exact ? round_to_bf16(F::of(v)).v : v;
}
int trace_cast(Graph& g, Format from, Format to, int v) {
  Recording recording(g);
  if (is_stored_format(to)) return cast_to_stored(to, v);
  return width_of(from) == 8 || width_of(to) == 8 ? cast64(from, to, v) : cast32(from, to, v);
}
int trace_loaded(Graph& g, Format f, int raw) {
  Recording recording(g);
  switch (f) {
    case Format::bf16: return (U::of(raw) << 16).v;
    case Format::f8: return of_f8(U::of(raw)).v;
    case Format::mask32: return (U::of(raw) != U(0u)).m;
    case Format::mask64: return (L::of(raw) != L(0)).m;
    default: return raw;
  }
}
int trace_to_memory(Graph& g, Format f, int v) {
  Recording recording(g);
  const bool low = g.isa == Isa::v4;  // stores cut lanes off; those of AVX2 saturate
  switch (f) {
    case Format::bf16: return (U::of(v) >> 16).v;
    case Format::f8: return to_f8(F::of(v)).v;
    case Format::i8: return low ? v : (U::of(v) & U(0xffu)).v;
    case Format::i16:
    case Format::u16: return low ? v : (U::of(v) & U(0xffffu)).v;
    case Format::mask32: return select(M{v}, U(1u), U(0u)).v;
    case Format::mask64: return select(W{v}, L(1), L(0)).v;
    default: return v;
  }
}
int trace_linear(Graph& g, bool wide, Format f, int form, int step) {
  Recording recording(g);
  int at = g.add({.op = P::form_low, .wide = wide, .imm = static_cast<std::uint64_t>(form)});
  if (wide) {
    const L x = L::of(at) + L::of(step);
    if (width_of(f) == 8) return f == Format::i64 ? x.v : from_i64(x).v;
    at = narrow(P::low_word, x.v);
  }
  const S x = wide ? S::of(at) : S::of(at) + S::of(step);
  return f == Format::i32 || f == Format::u32 ? x.v : cast32(Format::i32, f, x.v);
}
int trace_random(Graph& g, Format f, int form, int step_low, int step_high, const int* key) {
  Recording recording(g);
  const auto imm = static_cast<std::uint64_t>(form);
  U low, high;
  if (step_high < 0) {
    const L at = L::of(g.add({.op = P::form_low, .wide = true, .imm = imm})) + L::of(step_low);
    low = U::of(narrow(P::low_word, at.v));
    high = U::of(narrow(P::low_word, (at >> 32).v));
  } else {
    const U step = U::of(step_low);
    low = U::of(g.add({.op = P::form_low, .imm = imm})) + step;
    high = U::of(g.add({.op = P::form_high, .imm = imm})) + U::of(step_high);
    high = select(low < step, high + U(1u), high);
  }
  threefry(U::of(key[0]), U::of(key[1]), high, low);
  if (f == Format::i64)
    return (widen<L>(P::zero_extend, high.v) << 32 | widen<L>(P::zero_extend, low.v)).v;
  const U x = high ^ low;
  return f == Format::u8 ? (x & U(0xffu)).v : x.v;
}
int trace_to_reduce(Graph& g, Format f, int v) {
  Recording recording(g);
  if (f == Format::mask32) return select(M{v}, U(~0u), U(0u)).v;
  if (f == Format::mask64) return select(W{v}, L(-1), L(0)).v;
  return v;
}
int trace_reduced(Graph& g, Format f, int v) {
  Recording recording(g);
  switch (f) {
    case Format::mask32: return (U::of(v) != U(0u)).m;
    case Format::mask64: return (L::of(v) != L(0)).m;
    case Format::u8: return (U::of(v) & U(0xffu)).v;
    case Format::bf16: return round_to_bf16(F::of(v)).v;
    default: return v;
  }
}
}  // namespace bora::kernels::jit
