// dtype.h -- element types. A dtype is one row of the table below; operations opt in through `kind`.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <utility>

namespace bora {
/// Absent: not mapped (vmap), not split (Spec), all axes (reductions), open end (range), no value (optional fields).
inline constexpr std::nullopt_t none = std::nullopt;

/// Storage of a bfloat16 number; arithmetic goes through float. Rounding is to nearest even; NaN stays NaN.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  constexpr bfloat16(float x) {
    auto b = std::bit_cast<std::uint32_t>(x);
    bits = x != x ? static_cast<std::uint16_t>((b >> 16) | 0x40u)
                  : static_cast<std::uint16_t>((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
  }
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};
/// Storage of an IEEE 754 half-precision number; the rest as for bfloat16. Numbers above 65504 round to infinity.
struct float16 {
  std::uint16_t bits = 0;
  float16() = default;
  constexpr float16(float x) {
    const auto b = std::bit_cast<std::uint32_t>(x), sign = (b >> 16) & 0x8000u, size = b & 0x7fffffffu;
    std::uint32_t r = 0;
    if (size > 0x7f800000u) r = 0x7e00u | ((size >> 13) & 0x1ffu);  // NaN
    else if (size >= 0x47800000u) r = 0x7c00u;
    else if (size < 0x38800000u)  // below the normal range: multiples of 2^-24, rounded by an addition
      r = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
    else r = (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13;
    bits = static_cast<std::uint16_t>(r | sign);
  }
  constexpr operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, size = bits & 0x7fffu;
    if (size >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((size & 0x3ffu) << 13));
    if (size >= 0x400u) return std::bit_cast<float>(sign | ((size << 13) + 0x38000000u));
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(size) * 0x1p-24f) | sign);
  }
};

/// Storage of a number of 8 bits, E4M3FN: 4 of exponent, 3 of fraction, no infinities. Numbers above 464 become NaN.
struct float8_e4m3fn {
  std::uint8_t bits = 0;
  float8_e4m3fn() = default;
  constexpr float8_e4m3fn(float x) {
    const auto b = std::bit_cast<std::uint32_t>(x), size = b & 0x7fffffffu;
    std::uint32_t r = 0x7f;  // NaN
    if (size < 0x3c800000u)  // below the normal range: multiples of 2^-9, rounded by an addition
      r = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0x1p14f) - std::bit_cast<std::uint32_t>(0x1p14f);
    else if (size <= 0x43e80000u) r = (size - 0x3c000000u + 0x7ffffu + ((size >> 20) & 1u)) >> 20;  // 464 is a tie
    bits = static_cast<std::uint8_t>(r | (b >> 24 & 0x80u));
  }
  constexpr operator float() const {
    const std::uint32_t sign = (bits & 0x80u) << 24, size = bits & 0x7fu;
    if (size >= 8) return std::bit_cast<float>(sign | (size == 0x7f ? 0x7fc00000u : (size << 20) + 0x3c000000u));
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(size) * 0x1p-9f) | sign);
  }
};

/// `key` holds one random key (two 32-bit words); no arithmetic is defined on it. Complex numbers are stored as
/// std::complex does: the real part, then the imaginary part.
enum class Dtype : std::uint8_t {
  boolean, u8, i32, i64, u32, bf16, f32, f64, key, complex64, complex128, i8, i16, u16, u64, f16, f8_e4m3fn
};
inline constexpr std::size_t kDtypes = 17;  // the number of dtypes
/// The dtypes without `Dtype::` in front.
inline constexpr auto boolean = Dtype::boolean, u8 = Dtype::u8, i32 = Dtype::i32, i64 = Dtype::i64, u32 = Dtype::u32,
                      bf16 = Dtype::bf16, f32 = Dtype::f32, f64 = Dtype::f64, complex64 = Dtype::complex64,
                      complex128 = Dtype::complex128, i8 = Dtype::i8, i16 = Dtype::i16, u16 = Dtype::u16,
                      u64 = Dtype::u64, f16 = Dtype::f16, f8_e4m3fn = Dtype::f8_e4m3fn;

/// The sort of numbers that a dtype holds.
enum class Kind : std::uint8_t { boolean, unsigned_integer, integer, floating, key, complex };
/// A row for a dtype. Sizes are in bytes; the last four fields are of floating dtypes.
struct DtypeInfo {
  std::string_view name;
  std::size_t size;
  Kind kind;
  Dtype computed;                 // operations compute in this dtype; another one than its own: it is stored only
  Dtype summed;                   // many are added up in this dtype, which a sum of integers has too
  std::string_view safetensors;   // its word in that format; empty: there is none
  std::string_view npy;           // as NumPy describes its memory
  std::string_view spellings;     // other names, with a space between
  int fraction = 0;               // bits behind the first one
  double least = 0, largest = 0;  // of the normal numbers above 0
  bool infinities = true;
};
inline constexpr DtypeInfo dtype_table[kDtypes] = {
    {"bool", 1, Kind::boolean, boolean, i32, "BOOL", "|b1", "boolean"},
    {"u8", 1, Kind::unsigned_integer, u8, u32, "U8", "|u1", "uint8"},
    {"i32", 4, Kind::integer, i32, i32, "I32", "<i4", "int32"},
    {"i64", 8, Kind::integer, i64, i64, "I64", "<i8", "int64"},
    {"u32", 4, Kind::unsigned_integer, u32, u32, "U32", "<u4", "uint32"},
    {"bf16", 2, Kind::floating, bf16, f32, "BF16", "<u2", "bfloat16", 7, 0x1p-126, 0x1.fep127},
    {"f32", 4, Kind::floating, f32, f32, "F32", "<f4", "float32 fp32 float full", 23, 0x1p-126, 0x1.fffffep127},
    {"f64", 8, Kind::floating, f64, f64, "F64", "<f8", "float64", 52, 0x1p-1022, 0x1.fffffffffffffp1023},
    {"key", 8, Kind::key, Dtype::key, Dtype::key, "", "", ""},
    {"complex64", 8, Kind::complex, complex64, complex64, "C64", "<c8", "c64"},
    {"complex128", 16, Kind::complex, complex128, complex128, "", "<c16", "c128"},
    {"i8", 1, Kind::integer, i32, i32, "I8", "|i1", "int8"},
    {"i16", 2, Kind::integer, i32, i32, "I16", "<i2", "int16"},
    {"u16", 2, Kind::unsigned_integer, i32, u32, "U16", "<u2", "uint16"},
    {"u64", 8, Kind::unsigned_integer, i64, u64, "U64", "<u8", "uint64"},
    {"f16", 2, Kind::floating, f32, f32, "F16", "<f2", "float16 half fp16", 10, 0x1p-14, 65504},
    {"f8_e4m3fn", 1, Kind::floating, f32, f32, "F8_E4M3", "|u1", "float8_e4m3fn", 3, 0x1p-6, 448, false}};
/// The facts of d: its row of dtype_table.
constexpr const DtypeInfo& info(Dtype d) { return dtype_table[static_cast<std::size_t>(d)]; }
constexpr std::string_view dtype_name(Dtype d) { return info(d).name; }  // as errors and settings write it: "f32"
constexpr std::size_t dtype_size(Dtype d) { return info(d).size; }       // bytes of one element
/// Real fractions; is_inexact: also complex numbers. Only inexact values have derivatives.
constexpr bool is_float(Dtype d) { return info(d).kind == Kind::floating; }
constexpr bool is_complex(Dtype d) { return info(d).kind == Kind::complex; }  // complex64 and complex128
constexpr bool is_inexact(Dtype d) { return is_float(d) || is_complex(d); }   // fractions and complex numbers
/// The dtype of the parts of a complex number; any other dtype is its own.
constexpr Dtype real_dtype(Dtype d) { return d == complex64 ? f32 : d == complex128 ? f64 : d; }
/// The complex dtype that holds this one: complex128 for f64, else complex64.
constexpr Dtype complex_dtype(Dtype d) { return d == f64 || d == complex128 ? complex128 : complex64; }
/// This dtype if it has fractions, else f32.
constexpr Dtype inexact_dtype(Dtype d) { return is_inexact(d) ? d : f32; }
/// Signed and unsigned; booleans are none.
constexpr bool is_integer(Dtype d) { return info(d).kind == Kind::integer || info(d).kind == Kind::unsigned_integer; }
constexpr bool is_numeric(Dtype d) { return d != Dtype::key; }  // all but random keys
inline std::ostream& operator<<(std::ostream& o, Dtype d) { return o << dtype_name(d); }

/// Values of some dtypes are stored; an operation on them is the one of a wider dtype, rounded or wrapped to theirs:
/// i8, i16, u16 compute as i32, f16 and f8_e4m3fn as f32. u64 computes as the bits of i64.
constexpr Dtype computed_as(Dtype d) { return info(d).computed; }
/// Operations compute in another dtype: see computed_as.
constexpr bool is_stored_only(Dtype d) { return computed_as(d) != d; }
/// The floating dtypes of fewer than 32 bits.
constexpr bool is_narrow(Dtype d) { return is_float(d) && dtype_size(d) < 4; }
/// The dtype of a sum of numbers of this dtype: f32 for halves, which would lose more with each term; any other dtype
/// is its own.
constexpr Dtype accumulator(Dtype d) { return is_float(d) ? info(d).summed : d; }
/// The signed integer of so many bytes.
constexpr Dtype signed_integer(std::size_t size) { return size == 1 ? i8 : size == 2 ? i16 : size == 4 ? i32 : i64; }

/// JAX's promotion lattice: bool < u8 < u16 < u32 < u64, bool < i8 < i16 < i32 < i64, an unsigned with a signed integer
/// gives the signed one that holds both (i64 < f32 for u64), integers < bf16, f16 < f32 < f64, bf16 with f16 gives f32;
/// f32 < complex64 < complex128, f64 with complex64 gives complex128. DtypeError for keys and for f8 with fractions.
Dtype promote(Dtype a, Dtype b);
/// The dtype with this name ("f32", "bfloat16" and other common spellings are understood). Throws DtypeError.
Dtype parse_dtype(std::string_view name);

/// The C++ type that stores one element.
template <Dtype D> struct CppType;
template <> struct CppType<Dtype::boolean> { using type = bool; };
template <> struct CppType<Dtype::u8> { using type = std::uint8_t; };
template <> struct CppType<Dtype::i32> { using type = std::int32_t; };
template <> struct CppType<Dtype::i64> { using type = std::int64_t; };
template <> struct CppType<Dtype::u32> { using type = std::uint32_t; };
template <> struct CppType<Dtype::bf16> { using type = bfloat16; };
template <> struct CppType<Dtype::f32> { using type = float; };
template <> struct CppType<Dtype::f64> { using type = double; };
template <> struct CppType<Dtype::i8> { using type = std::int8_t; };
template <> struct CppType<Dtype::i16> { using type = std::int16_t; };
template <> struct CppType<Dtype::u16> { using type = std::uint16_t; };
template <> struct CppType<Dtype::u64> { using type = std::uint64_t; };
template <> struct CppType<Dtype::f16> { using type = float16; };
template <> struct CppType<Dtype::f8_e4m3fn> { using type = float8_e4m3fn; };
/// std::complex<float> and std::complex<double>, recognised without their header.
template <class T> concept ComplexNumber = requires(const T& z) {
  typename T::value_type;
  requires std::is_same_v<decltype(z.real()), typename T::value_type>;
  requires std::is_same_v<decltype(z.imag()), typename T::value_type>;
  requires std::is_same_v<typename T::value_type, float> || std::is_same_v<typename T::value_type, double>;
};
/// The dtype that stores T; none where no dtype does (char, long double).
template <class T> consteval std::optional<Dtype> dtype_or_none() {
  if constexpr (std::is_same_v<T, bool>) return Dtype::boolean;
  else if constexpr (std::is_same_v<T, bfloat16>) return Dtype::bf16;
  else if constexpr (std::is_same_v<T, float16>) return Dtype::f16;
  else if constexpr (std::is_same_v<T, float8_e4m3fn>) return Dtype::f8_e4m3fn;
  else if constexpr (std::is_same_v<T, float>) return Dtype::f32;
  else if constexpr (std::is_same_v<T, double>) return Dtype::f64;
  else if constexpr (ComplexNumber<T>) return complex_dtype(dtype_or_none<typename T::value_type>().value());
  else if constexpr (!std::is_integral_v<T> || std::is_same_v<T, char>) return std::nullopt;
  else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? Dtype::i8 : Dtype::u8;
  else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? Dtype::i16 : Dtype::u16;
  else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? Dtype::i32 : Dtype::u32;
  else if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? Dtype::i64 : Dtype::u64;
  else return std::nullopt;
}
/// The dtype that stores T.
template <class T> inline constexpr Dtype dtype_of = dtype_or_none<T>().value();

/// bfloat16, float16, float8_e4m3fn: classes of numbers, whose arithmetic goes through float.
template <class T> inline constexpr bool is_float_class = [] {
  if constexpr (std::is_class_v<T> && dtype_or_none<T>().has_value()) return is_float(dtype_of<T>);
  else return false;
}();

/// x as T, as astype() converts: floats truncate and saturate, NaN gives 0; integers wrap; any nonzero value is true.
template <class T, class S> T converted(S x) {
  if constexpr (is_float_class<S>) return converted<T>(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, bool>) return x != 0;
  else if constexpr (is_float_class<T>) return T(static_cast<float>(x));
  else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<S>) {
    using L = std::numeric_limits<T>;
    if (x != x) return 0;
    if (x <= static_cast<S>(L::min())) return L::min();
    return x >= static_cast<S>(L::max()) ? L::max() : static_cast<T>(x);  // if S rounds max up, every smaller S fits
  } else return static_cast<T>(x);
}

[[noreturn]] void no_such_dtype(std::string_view what, Dtype d);  // dispatch()'s DtypeError
/// Calls f with a value of d's C++ type. Throws DtypeError for keys, complex dtypes and those that are stored only,
/// naming `what`.
template <class F> decltype(auto) dispatch(Dtype d, std::string_view what, F&& f) {
  switch (d) {
    case Dtype::boolean: return f(bool{});
    case Dtype::u8: return f(std::uint8_t{});
    case Dtype::i32: return f(std::int32_t{});
    case Dtype::i64: return f(std::int64_t{});
    case Dtype::u32: return f(std::uint32_t{});
    case Dtype::bf16: return f(bfloat16{});
    case Dtype::f32: return f(float{});
    case Dtype::f64: return f(double{});
    default: no_such_dtype(what, d);
  }
}
/// For those that are stored only too. dispatch_all (src/base/api/complex.h) knows all but keys.
template <class F> decltype(auto) dispatch_real(Dtype d, std::string_view what, F&& f) {
  switch (d) {
    case Dtype::i8: return f(std::int8_t{});
    case Dtype::i16: return f(std::int16_t{});
    case Dtype::u16: return f(std::uint16_t{});
    case Dtype::u64: return f(std::uint64_t{});
    case Dtype::f16: return f(float16{});
    case Dtype::f8_e4m3fn: return f(float8_e4m3fn{});
    default: return dispatch(d, what, std::forward<F>(f));
  }
}
struct Bytes16 {  // the bits of an element of 16 bytes
  std::uint64_t words[2];
};
/// Calls f with an unsigned integer (or Bytes16) as wide as one element of d: for kernels that only move elements.
template <class F> decltype(auto) dispatch_size(Dtype d, F&& f) {
  switch (dtype_size(d)) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 16: return f(Bytes16{});
    default: return f(std::uint64_t{});
  }
}
}  // namespace bora
