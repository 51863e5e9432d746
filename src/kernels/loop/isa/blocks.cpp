// blocks.cpp -- kernels of the block interpreter besides operations: casts, memory to block and back, reductions,
// linear forms, random bits.
#include "kernels/loop/row_kernels.h"

namespace bora::kernels::BORA_ISA {
namespace {
// Element by element: the compiler vectorises where that pays, and conversions are exact or correctly rounded either
// way.
template <Format> struct Block;
template <> struct Block<Format::f32> { using T = float; };
template <> struct Block<Format::bf16> { using T = float; };
template <> struct Block<Format::i32> { using T = std::int32_t; };
template <> struct Block<Format::u32> { using T = std::uint32_t; };
template <> struct Block<Format::u8> { using T = std::uint32_t; };
template <> struct Block<Format::mask32> { using T = std::uint32_t; };
template <> struct Block<Format::f64> { using T = double; };
template <> struct Block<Format::i64> { using T = std::int64_t; };
template <> struct Block<Format::mask64> { using T = std::int64_t; };
template <Format Fm> using Elem = typename Block<Fm>::T;

BORA_INLINE std::uint32_t word(float x) { return __builtin_bit_cast(std::uint32_t, x); }
BORA_INLINE std::uint32_t rounded(float x) {  // bf16 in the high half
  std::uint32_t b = word(x), r = b + 0x7fffu + ((b >> 16) & 1u);
  return (x == x ? r : b | 0x400000u) & 0xffff0000u;
}
/// Truncates and saturates; NaN gives 0. low, beyond: the range as exact floats, [low, beyond).
template <class I, class X> BORA_INLINE I saturate(X x, X low, X beyond, I smallest, I largest) {
  I r = x >= beyond ? largest : smallest;
  if (x > low && x < beyond) r = static_cast<I>(x);
  return x == x ? r : I{0};
}
template <Format From, Format To> BORA_INLINE Elem<To> convert(Elem<From> v) {
  using O = Elem<To>;
  if constexpr (is_mask(To)) return static_cast<O>(v != 0 ? -1 : 0);
  else if constexpr (is_mask(From)) return static_cast<O>(static_cast<int>(v & 1));
  else if constexpr (To == Format::bf16) return __builtin_bit_cast(float, rounded(static_cast<float>(v)));
  else if constexpr (is_float(To)) return static_cast<O>(v);
  else if constexpr (is_float(From)) {
    using X = Elem<From>;
    if constexpr (To == Format::i32)
      return saturate<std::int32_t, X>(v, X(-2147483648.), X(2147483648.), INT32_MIN, INT32_MAX);
    else if constexpr (To == Format::u32) return saturate<std::uint32_t, X>(v, X(0), X(4294967296.), 0u, UINT32_MAX);
    else if constexpr (To == Format::u8) return saturate<std::uint32_t, X>(v, X(0), X(256.), 0u, 255u);
    else return saturate<std::int64_t, X>(v, X(-9223372036854775808.), X(9223372036854775808.), INT64_MIN, INT64_MAX);
  } else if constexpr (To == Format::u8) return static_cast<O>(v) & 0xffu;
  else return static_cast<O>(v);
}
struct ByteToWide {
  template <class O> static BORA_INLINE O f(std::uint8_t v) { return static_cast<O>(v); }
};
struct ByteToMask {
  template <class O> static BORA_INLINE O f(std::uint8_t v) { return static_cast<O>(v != 0 ? -1 : 0); }
};
struct HalfToFloat {
  template <class O> static BORA_INLINE O f(std::uint16_t v) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(v) << 16);
  }
};
struct LowByte {
  template <class O, class I> static BORA_INLINE O f(I v) { return static_cast<O>(v); }
};
struct LowBit {
  template <class O, class I> static BORA_INLINE O f(I v) { return static_cast<O>(v & 1); }
};
struct HighHalf {
  template <class O> static BORA_INLINE O f(float v) { return static_cast<O>(word(v) >> 16); }
};
struct HighHalfRounded {
  template <class O> static BORA_INLINE O f(float v) { return static_cast<O>(rounded(v) >> 16); }
};
struct Same {
  template <class O> static BORA_INLINE O f(O v) { return v; }
};
template <Format From, Format To> struct Cast {
  template <class O> static BORA_INLINE O f(Elem<From> v) { return convert<From, To>(v); }
};

template <class Fn, class I, class O> void map(const Rows* in, Rows out, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const I* p = static_cast<const I*>(in[0].at) + r * in[0].pitch;
    O* o = static_cast<O*>(out.at) + r * out.pitch;
    for (std::int64_t i = 0; i < n; ++i) o[i] = Fn::template f<O>(p[i]);
  }
}
template <class Fn, class I, class O> void spread(const Rows* in, Rows out, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const O v = Fn::template f<O>(static_cast<const I*>(in[0].at)[r * in[0].pitch]);
    O* o = static_cast<O*>(out.at) + r * out.pitch;
    for (std::int64_t i = 0; i < n; ++i) o[i] = v;
  }
}
template <class Fn, class I, class O> Kernel both() {
  Kernel k;
  k.by_scalars[0] = map<Fn, I, O>;
  k.by_scalars[1] = spread<Fn, I, O>;
  return k;
}
constexpr bool same_bits(Format a, Format b) {  // a cast from a to b changes nothing in a block
  return a == b || (a == Format::bf16 && b == Format::f32) ||
         (a == Format::u8 && (b == Format::i32 || b == Format::u32)) || (a == Format::i32 && b == Format::u32) ||
         (a == Format::u32 && b == Format::i32);
}
template <Format From, Format To> void cast(KernelTable& t) {
  if constexpr (!same_bits(From, To))
    t.cast[static_cast<int>(From)][static_cast<int>(To)] = both<Cast<From, To>, Elem<From>, Elem<To>>();
}
template <Format From> void casts(KernelTable& t) {
  cast<From, Format::f32>(t);
  cast<From, Format::bf16>(t);
  cast<From, Format::i32>(t);
  cast<From, Format::u32>(t);
  cast<From, Format::u8>(t);
  cast<From, Format::mask32>(t);
  cast<From, Format::f64>(t);
  cast<From, Format::i64>(t);
  cast<From, Format::mask64>(t);
}

// Reductions. Partials live in a block of 32 elements between calls.
BORA_INLINE float wrapped(float x) { return x; }
BORA_INLINE double wrapped(double x) { return x; }
template <class T> BORA_INLINE std::uint64_t wrapped(T x) { return static_cast<std::uint64_t>(x); }  // integers wrap
struct Sum {
  template <class X> static BORA_INLINE X lanes(X a, X b) { return a + b; }
  template <class T> static BORA_INLINE T one(T a, T b) { return static_cast<T>(wrapped(a) + wrapped(b)); }
};
struct Product {
  template <class X> static BORA_INLINE X lanes(X a, X b) { return a * b; }
  template <class T> static BORA_INLINE T one(T a, T b) { return static_cast<T>(wrapped(a) * wrapped(b)); }
};
struct Largest {
  template <class X> static BORA_INLINE X lanes(X a, X b) { return maximum(a, b); }
  template <class T> static BORA_INLINE T one(T a, T b) { return a != a || a > b ? a : b; }
};
struct Smallest {
  template <class X> static BORA_INLINE X lanes(X a, X b) { return minimum(a, b); }
  template <class T> static BORA_INLINE T one(T a, T b) { return a != a || a < b ? a : b; }
};
struct Every {
  template <class X> static BORA_INLINE X lanes(X a, X b) { return a & b; }
  template <class T> static BORA_INLINE T one(T a, T b) { return a & b; }
};
struct Some {
  template <class X> static BORA_INLINE X lanes(X a, X b) { return a | b; }
  template <class T> static BORA_INLINE T one(T a, T b) { return a | b; }
};
enum class After { nothing, bf16, byte };
template <class Fn, class X, After post> struct Reduce {
  using T = typename X::Storage;
  static constexpr int kParts = 32 / X::size;
  static inline T identity;  // set when the table is filled
  static BORA_INLINE void add(X (&acc)[kParts], const T* p, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + 32 <= n; i += 32)
#pragma GCC unroll 8
      for (int k = 0; k < kParts; ++k) acc[k] = Fn::lanes(acc[k], Memory<X>::load(p + i + k * X::size));
    if (i < n)
      for (int k = 0; k < kParts; ++k) {
        const auto left = n - i - k * X::size;
        if (left <= 0) break;
        T rest[X::size];
        for (int j = 0; j < X::size; ++j) rest[j] = j < left ? p[i + k * X::size + j] : identity;
        acc[k] = Fn::lanes(acc[k], Memory<X>::load(rest));
      }
  }
  static BORA_INLINE T fold(const X (&acc)[kParts]) {
    T a[32];
    for (int k = 0; k < kParts; ++k) Memory<X>::store(a + k * X::size, acc[k]);
#pragma GCC unroll 5
    for (int w = 16; w; w /= 2)
      for (int j = 0; j < w; ++j) a[j] = Fn::one(a[j], a[j + w]);
    if constexpr (std::is_floating_point_v<T> && (std::is_same_v<Fn, Largest> || std::is_same_v<Fn, Smallest>))
      if (a[0] != a[0]) a[0] = static_cast<T>(__builtin_nan(""));  // one NaN for all: their order must not show
    if constexpr (post == After::bf16) return __builtin_bit_cast(float, rounded(a[0]));
    else if constexpr (post == After::byte) return a[0] & 0xffu;
    else return a[0];
  }
  static void whole(Rows in, void* out, std::int64_t rows, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r) {
      X acc[kParts];
      for (int k = 0; k < kParts; ++k) acc[k] = X(identity);
      add(acc, static_cast<const T*>(in.at) + r * in.pitch, n);
      static_cast<T*>(out)[r] = fold(acc);
    }
  }
  static void begin(void* partials) {
    for (int j = 0; j < 32; ++j) static_cast<T*>(partials)[j] = identity;
  }
  static void block(void* partials, const void* in, std::int64_t n) {
    X acc[kParts];
    T* a = static_cast<T*>(partials);
    for (int k = 0; k < kParts; ++k) acc[k] = Memory<X>::load(a + k * X::size);
    add(acc, static_cast<const T*>(in), n);
    for (int k = 0; k < kParts; ++k) Memory<X>::store(a + k * X::size, acc[k]);
  }
  static void end(void* partials, void* out) {
    X acc[kParts];
    for (int k = 0; k < kParts; ++k) acc[k] = Memory<X>::load(static_cast<T*>(partials) + k * X::size);
    *static_cast<T*>(out) = fold(acc);
  }
};
enum { kSum, kMax, kMin, kProd, kAll, kAny };  // as Reduction
template <class Fn, class X, After post = After::nothing>
void reduction(KernelTable& t, int which, Format f, typename X::Storage identity) {
  using R = Reduce<Fn, X, post>;
  R::identity = identity;
  t.reduce[which][static_cast<int>(f)] = {R::whole, R::begin, R::block, R::end};
}
template <class X, After post = After::nothing>
void reductions(KernelTable& t, Format f, typename X::Storage lowest, typename X::Storage highest) {
  using T = typename X::Storage;
  reduction<Sum, X, post>(t, kSum, f, T{0});
  reduction<Product, X, post>(t, kProd, f, T{1});
  reduction<Largest, X>(t, kMax, f, lowest);
  reduction<Smallest, X>(t, kMin, f, highest);
}

template <Format Fm> void linear(void* out, std::int64_t n, std::int64_t start, std::int64_t stride) {
  auto* o = static_cast<Elem<Fm>*>(out);
  for (std::int64_t i = 0; i < n; ++i)
    o[i] = convert<Format::i64, Fm>(static_cast<std::int64_t>(
        static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(stride)));
}

/// One Threefry block per element, whatever its width.
template <Format Fm>
void random(void* out, std::int64_t n, const std::uint32_t* key, std::uint64_t start, std::int64_t stride) {
  const U k0(key[0]), k1(key[1]);
  U iota;
  for (int j = 0; j < U::size; ++j) iota.v[j] = static_cast<std::uint32_t>(j);
  for (std::int64_t i = 0; i < n; i += U::size) {
    const std::uint64_t c = start + static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(stride);
    U high(static_cast<std::uint32_t>(c >> 32)), low(static_cast<std::uint32_t>(c));
    if (stride == 1) {
      low = low + iota;
      high = select(low < iota, high + U(1u), high);  // c + j carries where the low word wrapped
    } else {
      for (int j = 0; j < U::size; ++j) {
        const std::uint64_t e = c + static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(stride);
        high.v[j] = static_cast<std::uint32_t>(e >> 32);
        low.v[j] = static_cast<std::uint32_t>(e);
      }
    }
    threefry(k0, k1, high, low);
    const int m = n - i < U::size ? static_cast<int>(n - i) : U::size;
    if constexpr (Fm == Format::i64) {
      std::uint32_t a[U::size], b[U::size];
      Memory<U>::store(a, high);
      Memory<U>::store(b, low);
      for (int j = 0; j < m; ++j)
        static_cast<std::uint64_t*>(out)[i + j] = static_cast<std::uint64_t>(a[j]) << 32 | b[j];
    } else {
      U x = high ^ low;
      if constexpr (Fm == Format::u8) x = x & U(0xffu);
      auto* o = static_cast<std::uint32_t*>(out) + i;
      if (m == U::size) Memory<U>::store(o, x);
      else Memory<U>::store(o, x, m);
    }
  }
}
template <Format Fm> void linear_form(KernelTable& t) { t.linear[static_cast<int>(Fm)] = linear<Fm>; }
}  // namespace

void add_blocks(KernelTable& t) {
  casts<Format::f32>(t);
  casts<Format::bf16>(t);
  casts<Format::i32>(t);
  casts<Format::u32>(t);
  casts<Format::u8>(t);
  casts<Format::mask32>(t);
  casts<Format::f64>(t);
  casts<Format::i64>(t);
  casts<Format::mask64>(t);
  const Kernel copy32 = both<Same, std::uint32_t, std::uint32_t>(), copy64 = both<Same, std::uint64_t, std::uint64_t>();
  for (int f = 0; f < kFormats; ++f) t.load[f] = t.store[f] = width_of(static_cast<Format>(f)) == 4 ? copy32 : copy64;
  auto memory = [&](Format f, const Kernel& load, const Kernel& store) {
    t.load[static_cast<int>(f)] = load;
    t.store[static_cast<int>(f)] = store;
  };
  memory(Format::bf16, both<HalfToFloat, std::uint16_t, float>(), both<HighHalf, float, std::uint16_t>());
  memory(Format::u8, both<ByteToWide, std::uint8_t, std::uint32_t>(), both<LowByte, std::uint32_t, std::uint8_t>());
  memory(Format::mask32, both<ByteToMask, std::uint8_t, std::uint32_t>(), both<LowBit, std::uint32_t, std::uint8_t>());
  memory(Format::mask64, both<ByteToMask, std::uint8_t, std::int64_t>(), both<LowBit, std::int64_t, std::uint8_t>());
  t.round = both<Cast<Format::f32, Format::bf16>, float, float>();
  t.store_rounded = both<HighHalfRounded, float, std::uint16_t>();
  reductions<F>(t, Format::f32, -kInf, kInf);
  reductions<F, After::bf16>(t, Format::bf16, -kInf, kInf);
  reductions<D>(t, Format::f64, -__builtin_inf(), __builtin_inf());
  reductions<S>(t, Format::i32, INT32_MIN, INT32_MAX);
  reductions<U>(t, Format::u32, 0u, UINT32_MAX);
  reductions<L>(t, Format::i64, INT64_MIN, INT64_MAX);
  reductions<B, After::byte>(t, Format::u8, 0u, 255u);
  for (int w : {kAll, kMin}) {
    reduction<Every, U>(t, w, Format::mask32, ~0u);
    reduction<Every, L>(t, w, Format::mask64, -1);
  }
  for (int w : {kAny, kMax}) {
    reduction<Some, U>(t, w, Format::mask32, 0u);
    reduction<Some, L>(t, w, Format::mask64, 0);
  }
  linear_form<Format::f32>(t);
  linear_form<Format::bf16>(t);
  linear_form<Format::i32>(t);
  linear_form<Format::u32>(t);
  linear_form<Format::u8>(t);
  linear_form<Format::f64>(t);
  linear_form<Format::i64>(t);
  t.random[static_cast<int>(Format::u8)] = random<Format::u8>;
  t.random[static_cast<int>(Format::u32)] = random<Format::u32>;
  t.random[static_cast<int>(Format::i64)] = random<Format::i64>;
}
}  // namespace bora::kernels::BORA_ISA
