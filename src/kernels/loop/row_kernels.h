// row_kernels.h -- turns a function on lanes into kernels over rows, one for each set of operands that are constant
// along the row. Included once per file of isa/, which instantiates it for its lane types.
#pragma once
#include "kernels/loop/functions.h"
#include "kernels/loop/kernel_table.h"

namespace bora::kernels::BORA_ISA {
namespace {
template <class X> struct MaskFor { using type = typename MaskOf<typename X::Element>::type; };
template <> struct MaskFor<M> { using type = M; };
template <> struct MaskFor<W> { using type = W; };

/// One operand of a row: a stream of elements, or one value.
template <class X, bool Scalar> struct Stream {
  using E = typename Memory<X>::E;
  const E* p;
  BORA_INLINE explicit Stream(const E* q) : p(q) {}
  BORA_INLINE X full(std::int64_t i) const { return Memory<X>::load(p + i); }
  BORA_INLINE X part(std::int64_t i, int k) const { return Memory<X>::load(p + i, k); }
};
template <class X> struct Stream<X, true> {
  using E = typename Memory<X>::E;
  X value;
  BORA_INLINE explicit Stream(const E* q) : value(Memory<X>::fill(*q)) {}
  BORA_INLINE X full(std::int64_t) const { return value; }
  BORA_INLINE X part(std::int64_t, int) const { return value; }
};
template <class X> BORA_INLINE X within(X x) { return x; }
BORA_INLINE B within(B x) { return B(x.v & 0xffu); }  // u8 is held in 32 bits: cut off the overflow

template <class Fn, bool Cheap, class... Streams> BORA_INLINE void one_row(void* out, std::int64_t n, Streams... s) {
  using X = decltype(within(Fn::f(s.full(0)...)));
  auto* o = static_cast<typename Memory<X>::E*>(out);
  std::int64_t i = 0;
  if constexpr (Cheap) {
    for (; i + 4 * X::size <= n; i += 4 * X::size) {
      X a = within(Fn::f(s.full(i)...)), b = within(Fn::f(s.full(i + X::size)...));
      X c = within(Fn::f(s.full(i + 2 * X::size)...)), d = within(Fn::f(s.full(i + 3 * X::size)...));
      Memory<X>::store(o + i, a);
      Memory<X>::store(o + i + X::size, b);
      Memory<X>::store(o + i + 2 * X::size, c);
      Memory<X>::store(o + i + 3 * X::size, d);
    }
  }
  for (; i + X::size <= n; i += X::size) Memory<X>::store(o + i, within(Fn::f(s.full(i)...)));
  if (int k = static_cast<int>(n - i)) Memory<X>::store(o + i, within(Fn::f(s.part(i, k)...)), k);
}
template <class X, bool Scalar> BORA_INLINE Stream<X, Scalar> stream(const Rows& r, std::int64_t row) {
  return Stream<X, Scalar>(static_cast<const typename Memory<X>::E*>(r.at) + row * r.pitch);
}
template <class Fn, bool Cheap, class Out, unsigned Scalars, class... In> struct Over;
template <class Fn, bool Cheap, class Out, unsigned Scalars, class A> struct Over<Fn, Cheap, Out, Scalars, A> {
  static void run(const Rows* in, Rows out, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r)
      one_row<Fn, Cheap>(static_cast<typename Memory<Out>::E*>(out.at) + r * out.pitch, n,
                         stream<A, Scalars & 1>(in[0], r));
  }
};
template <class Fn, bool Cheap, class Out, unsigned Scalars, class A, class C>
struct Over<Fn, Cheap, Out, Scalars, A, C> {
  static void run(const Rows* in, Rows out, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r)
      one_row<Fn, Cheap>(static_cast<typename Memory<Out>::E*>(out.at) + r * out.pitch, n,
                         stream<A, (Scalars & 1) != 0>(in[0], r), stream<C, (Scalars & 2) != 0>(in[1], r));
  }
};
template <class Fn, bool Cheap, class Out, unsigned Scalars, class A, class C, class E>
struct Over<Fn, Cheap, Out, Scalars, A, C, E> {
  static void run(const Rows* in, Rows out, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r)
      one_row<Fn, Cheap>(static_cast<typename Memory<Out>::E*>(out.at) + r * out.pitch, n,
                         stream<A, (Scalars & 1) != 0>(in[0], r), stream<C, (Scalars & 2) != 0>(in[1], r),
                         stream<E, (Scalars & 4) != 0>(in[2], r));
  }
};
template <class Fn, bool Cheap, class Out, unsigned Scalars, class... In> void fill_kernel(Kernel& k) {
  k.by_scalars[Scalars] = Over<Fn, Cheap, Out, Scalars, In...>::run;
  if constexpr (Scalars + 2 < (1u << sizeof...(In)))
    fill_kernel<Fn, Cheap, Out, Scalars + 1, In...>(k);  // not: all scalar
}
template <class Fn> struct Rounded {
  template <class... X> static BORA_INLINE F f(X... x) { return round_to_bf16(Fn::f(x...)); }
};
template <class A, class C> inline constexpr bool same_type = false;
template <class A> inline constexpr bool same_type<A, A> = true;

/// The kernels of one operation for lanes X in format f. bf16 uses the f32 kernel where nothing is rounded, rounds in
/// the kernel where the operation is cheap, and otherwise runs the f32 kernel and a separate rounding step.
template <class Fn, Op Id, int Cost, Domain Dom, class X, class... In> void add_with(KernelTable& t, Format f) {
  using Out = decltype(Fn::f(In{}...));
  fill_kernel<Fn, Cost <= 2, Out, 0, In...>(t.op[Id][static_cast<int>(f)]);
  if constexpr (same_type<X, F>) {
    Kernel& k = t.op[Id][static_cast<int>(Format::bf16)];
    if constexpr (!same_type<Out, F> || Dom == Domain::ordered || Dom == Domain::choose)
      k = t.op[Id][static_cast<int>(f)];
    else if constexpr (Cost <= 5) fill_kernel<Rounded<Fn>, false, Out, 0, In...>(k);
  }
}
#define BORA_UNARY(NAME, COST, DOMAIN, ...)                                   \
  struct op_##NAME {                                                          \
    template <class T> static BORA_INLINE auto f(T a) { return __VA_ARGS__; } \
  };
#define BORA_BINARY(NAME, COST, DOMAIN, ...)                                       \
  struct op_##NAME {                                                               \
    template <class T> static BORA_INLINE auto f(T a, T b) { return __VA_ARGS__; } \
  };
#define BORA_TERNARY(NAME, COST, DOMAIN, ...)                                                    \
  struct op_##NAME {                                                                             \
    template <class R, class T> static BORA_INLINE auto f(R a, T b, T c) { return __VA_ARGS__; } \
  };
#include "kernels/loop/op_list.h"
#undef BORA_UNARY
#undef BORA_BINARY
#undef BORA_TERNARY

template <class X, Format Fm> void add_operations(KernelTable& t) {
#define BORA_UNARY(NAME, COST, DOMAIN, ...) \
  if constexpr (accepts(Domain::DOMAIN, Fm)) add_with<op_##NAME, k_##NAME, COST, Domain::DOMAIN, X, X>(t, Fm);
#define BORA_BINARY(NAME, COST, DOMAIN, ...) \
  if constexpr (accepts(Domain::DOMAIN, Fm)) add_with<op_##NAME, k_##NAME, COST, Domain::DOMAIN, X, X, X>(t, Fm);
#define BORA_TERNARY(NAME, COST, DOMAIN, ...)                                                       \
  if constexpr (Domain::DOMAIN == Domain::choose)                                                   \
    add_with<op_##NAME, k_##NAME, COST, Domain::DOMAIN, X, typename MaskFor<X>::type, X, X>(t, Fm); \
  else if constexpr (accepts(Domain::DOMAIN, Fm))                                                   \
    add_with<op_##NAME, k_##NAME, COST, Domain::DOMAIN, X, X, X, X>(t, Fm);
#include "kernels/loop/op_list.h"
#undef BORA_UNARY
#undef BORA_BINARY
#undef BORA_TERNARY
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
