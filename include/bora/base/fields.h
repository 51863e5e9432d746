// fields.h -- the fields of a plain aggregate as (name, reference) pairs, with no declaration by its author. The same
// mechanism serves parameters of primitives (equality, hash, print), trees of Arrays, settings (YAML, command line) and
// archives.
// How: fields are counted by brace initialization, bound by structured bindings, and named from __PRETTY_FUNCTION__ of
// a pointer into an object that is never defined. Compilers: g++ 12 and clang 14.
// Limits: at most 40 fields; no base class, no reference, const or private member.
#pragma once
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace bora::fields {
namespace detail {
struct Any {
  template <class T> operator T() const noexcept;
};
template <class T> struct BaseOf {
  template <class B>
  requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>) operator B() const noexcept;
};
template <std::size_t> using AnyAt = Any;
template <class T, std::size_t... I> consteval bool takes(std::index_sequence<I...>) {
  return requires { T{AnyAt<I>{}...}; };
}
inline constexpr std::size_t kMax = 40;
template <class T, std::size_t N = sizeof(T) <= kMax ? sizeof(T) : kMax + 1> consteval std::size_t count() {
  if constexpr (N == 0) return 0;
  else if constexpr (takes<T>(std::make_index_sequence<N>{})) return N;
  else return count<T, N - 1>();
}
/// Calls f with references to all fields of x.
template <class T, class F> constexpr decltype(auto) bind(T&& x, F&& f) {
  constexpr auto n = count<std::remove_cvref_t<T>>();
  static_assert(n <= kMax, "a reflected struct may have at most 40 fields; group some into a struct of their own");
  static_assert(n > 0 || std::is_empty_v<std::remove_cvref_t<T>>,
                "cannot see the fields of this struct: it has a reference, const or private member, or a constructor");
  // clang-format off
  if constexpr (n == 0) return f();
  else if constexpr (n == 1) { auto& [a0] = x; return f(a0); }
  else if constexpr (n == 2) { auto& [a0,a1] = x; return f(a0,a1); }
  else if constexpr (n == 3) { auto& [a0,a1,a2] = x; return f(a0,a1,a2); }
  else if constexpr (n == 4) { auto& [a0,a1,a2,a3] = x; return f(a0,a1,a2,a3); }
  else if constexpr (n == 5) { auto& [a0,a1,a2,a3,a4] = x; return f(a0,a1,a2,a3,a4); }
  else if constexpr (n == 6) { auto& [a0,a1,a2,a3,a4,a5] = x; return f(a0,a1,a2,a3,a4,a5); }
  else if constexpr (n == 7) { auto& [a0,a1,a2,a3,a4,a5,a6] = x; return f(a0,a1,a2,a3,a4,a5,a6); }
  else if constexpr (n == 8) { auto& [a0,a1,a2,a3,a4,a5,a6,a7] = x; return f(a0,a1,a2,a3,a4,a5,a6,a7); }
  else if constexpr (n == 9) { auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8] = x; return f(a0,a1,a2,a3,a4,a5,a6,a7,a8); }
  else if constexpr (n == 10) { auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9] = x; return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9); }
  else if constexpr (n == 11) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10);
  }
  else if constexpr (n == 12) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11);
  }
  else if constexpr (n == 13) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12);
  }
  else if constexpr (n == 14) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13);
  }
  else if constexpr (n == 15) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14);
  }
  else if constexpr (n == 16) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15);
  }
  else if constexpr (n == 17) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16);
  }
  else if constexpr (n == 18) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17);
  }
  else if constexpr (n == 19) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18);
  }
  else if constexpr (n == 20) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19);
  }
  else if constexpr (n == 21) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20);
  }
  else if constexpr (n == 22) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21);
  }
  else if constexpr (n == 23) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22);
  }
  else if constexpr (n == 24) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23);
  }
  else if constexpr (n == 25) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24);
  }
  else if constexpr (n == 26) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24,a25] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24,a25);
  }
  else if constexpr (n == 27) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24,a25,a26] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24,a25,a26);
  }
  else if constexpr (n == 28) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24,a25,a26,a27] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24,a25,a26,a27);
  }
  else if constexpr (n == 29) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,
      a16,a17,a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28);
  }
  else if constexpr (n == 30) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,
      a17,a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,
      a17,a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29);
  }
  else if constexpr (n == 31) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,
      a17,a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,
      a17,a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30);
  }
  else if constexpr (n == 32) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,
      a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,
      a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31);
  }
  else if constexpr (n == 33) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,
      a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,
      a18,a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32);
  }
  else if constexpr (n == 34) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,
      a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,
      a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33);
  }
  else if constexpr (n == 35) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,
      a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,
      a19,a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34);
  }
  else if constexpr (n == 36) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,
      a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,
      a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35);
  }
  else if constexpr (n == 37) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,
      a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35,a36] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,
      a20,a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35,a36);
  }
  else if constexpr (n == 38) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,
      a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35,a36,a37] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,
      a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35,a36,a37);
  }
  else if constexpr (n == 39) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,
      a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35,a36,a37,a38] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,
      a21,a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35,a36,a37,a38);
  }
  else if constexpr (n == 40) {
    auto& [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,
      a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35,a36,a37,a38,a39] = x;
    return f(a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15,a16,a17,a18,a19,a20,a21,
      a22,a23,a24,a25,a26,a27,a28,a29,a30,a31,a32,a33,a34,a35,a36,a37,a38,a39);
  }
  // clang-format on
}
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T> struct Fake {
  const T value;
  static const Fake<T> never_defined;
};
template <class T> consteval const T& fake() { return Fake<T>::never_defined.value; }
#ifdef __clang__
#pragma clang diagnostic pop
#endif
template <class T> struct Ptr { const T* p; };
template <class T> Ptr(const T*) -> Ptr<T>;
template <std::size_t I, class M, class... R> constexpr auto nth(const M& m, const R&... r) {
  if constexpr (I == 0) return Ptr{&m};
  else return nth<I - 1>(r...);
}
template <class T, std::size_t I> consteval auto pointer_to() {
  return bind(fake<T>(), [](const auto&... m) { return nth<I>(m...); });
}
template <auto P> consteval std::string_view name_from_signature() {
  std::string_view s = __PRETTY_FUNCTION__;
#ifdef __clang__
  auto e = s.rfind('}');
  auto b = s.find_last_of(".", e) + 1;
#else
  auto e = s.rfind(")}");
  auto b = s.rfind("::", e) + 2;
#endif
  return s.substr(b, e - b);
}
}  // namespace detail

/// Number of fields of the aggregate T.
template <class T> inline constexpr std::size_t count = detail::count<T>();
template <class T> concept HasBase = requires { T{detail::BaseOf<T>{}}; };
/// The name of T's I-th field, as written in its definition.
template <class T, std::size_t I>
inline constexpr std::string_view name = detail::name_from_signature<detail::pointer_to<T, I>()>();
/// Calls f(name, field) for every field of x, in order of declaration.
template <class T, class F> constexpr void for_each(T&& x, F&& f) {
  using U = std::remove_cvref_t<T>;
  detail::bind(x, [&]<class... M>(M&... m) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(name<U, I>, m), ...); }
    (std::index_sequence_for<M...>{});
  });
}
/// Calls f with references to all fields at once.
template <class T, class F> constexpr decltype(auto) apply(T&& x, F&& f) {
  return detail::bind(std::forward<T>(x), std::forward<F>(f));
}
}  // namespace bora::fields
