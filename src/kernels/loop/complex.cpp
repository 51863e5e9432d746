// complex.cpp -- elementwise operations, parts, casts and products of complex numbers: plain loops over std::complex.
#include "kernels/api/complex.h"
#include <immintrin.h>
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include "base/api/complex.h"
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/loop/kernel_table.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
/// ns of an element, for the grain of threads.
constexpr double kCheap = 1, kCostly = 40;

template <class F> void each(I n, double cost, F&& f) {
  parallel_for(n, grain_for(cost), [&](I begin, I end) {
    for (I i = begin; i < end; ++i) f(i);
  });
}
/// As XLA and NumPy multiply: no infinity is recovered from NaN.
template <class C> C times(C a, C b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
typedef double Four __attribute__((vector_size(32)));
Four absolute(Four x) { return x < 0 ? -x : x; }
/// |x + iy| of floats, whose squares and their sum a double holds.
Four length(Four x, Four y, float) { return _mm256_sqrt_pd(x * x + y * y); }
/// |x + iy| below 1 ulp; nothing between overflows or vanishes.
Four length(Four x, Four y, double) {
  const Four p = absolute(x), q = absolute(y), larger = p > q ? p : q, smaller = p > q ? q : p;
  const auto large = larger > 0x1p510, small = larger < 0x1p-450;
  const Four one = Four{} + 1, up = large ? one * 0x1p-600 : small ? one * 0x1p600 : one;
  const Four down = large ? one * 0x1p600 : small ? one * 0x1p-600 : one;
  const Four a = larger * up, b = smaller * up, twice = b + b, rest = a - b;
  // (a - b)^2 + 2 a b where b is no less than half of a: of two squares like these both would be rounded.
  const Four near = _mm256_fmadd_pd(twice, a, rest * rest), far = _mm256_fmadd_pd(a, a, b * b);
  return Four(_mm256_sqrt_pd(twice >= a ? near : far)) * down;
}
/// An infinite part wins over NaN.
template <class T> Four four_lengths(Four x, Four y) {
  const Four inf = Four{} + std::numeric_limits<double>::infinity();
  return absolute(x) == inf ? inf : absolute(y) == inf ? inf : length(x, y, T());
}
void four_lengths(const float* z, float* out) {
  const __m128 a = _mm_loadu_ps(z), b = _mm_loadu_ps(z + 4);
  const Four x = _mm256_cvtps_pd(_mm_shuffle_ps(a, b, 0x88)), y = _mm256_cvtps_pd(_mm_shuffle_ps(a, b, 0xdd));
  _mm_storeu_ps(out, _mm256_cvtpd_ps(four_lengths<float>(x, y)));
}
void four_lengths(const double* z, double* out) {
  const __m256d a = _mm256_loadu_pd(z), b = _mm256_loadu_pd(z + 4);
  const __m256d r = four_lengths<double>(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));  // 0, 2, 1, 3
  _mm256_storeu_pd(out, _mm256_permute4x64_pd(r, 0xd8));
}
template <class T> void lengths(const T* z, T* out, I n) {
  parallel_for(n, grain_for(kCheap), [&](I begin, I end) {
    for (; begin + 4 <= end; begin += 4) four_lengths(z + 2 * begin, out + begin);
    if (begin == end) return;
    T some[8] = {}, r[4];
    std::copy_n(z + 2 * begin, 2 * (end - begin), some);
    four_lengths(some, r);
    std::copy_n(r, end - begin, out + begin);
  });
}
template <class C> C expm1_of(C z) {
  using T = typename C::value_type;
  auto half = std::sin(z.imag() / 2);
  auto e = std::expm1(z.real());
  return {e * std::cos(z.imag()) - 2 * half * half, z.imag() == 0 ? z.imag() : (e + T(1)) * std::sin(z.imag())};
}
template <class C> C log1p_of(C z) {
  using T = typename C::value_type;
  auto x = z.real(), y = z.imag();
  if (std::abs(x) + std::abs(y) > T(0.5)) return std::log(C(1 + x, y));
  return {std::log1p(x * (x + 2) + y * y) / 2, std::atan2(y, 1 + x)};
}
template <class C> C logistic_of(C z) { return C(1) / (C(1) + std::exp(-z)); }
template <class C> C power_of(C a, C b) {
  if (b == C(0)) return C(1);
  if (a == C(0)) return b.imag() == 0 && b.real() > 0 ? C(0) : std::pow(a, b);
  return std::pow(a, b);
}
template <class C> bool finite(C z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }
template <class C> bool infinite(C z) { return std::isinf(z.real()) || std::isinf(z.imag()); }
/// a b / c in a wider format, whose range holds all that comes between. As of real numbers b does not count if a is 0.
template <class C> C product_over(C a, C b, C c) {
  using T = typename C::value_type;
  if (a == C(0)) b = a;
  if (infinite(c) && finite(a) && finite(b)) return C(0);
  using W = std::conditional_t<sizeof(T) == 4, double, long double>;
  const std::complex<W> x(a), y(b), z(c);
  const auto n = times(times(x, y), std::conj(z));
  const W size = z.real() * z.real() + z.imag() * z.imag();
  return {static_cast<T>(n.real() / size), static_cast<T>(n.imag() / size)};
}

/// Calls f(arity, cost, function) of this operation; false where it is not defined. A new operation is one line here.
template <class C, class F> bool with_op(OpId id, F&& f) {
  switch (id) {
    case k_mul_div: return f(3, kCostly, [](C a, C b, C c) { return product_over(a, b, c); }), true;
    case k_neg: return f(1, kCheap, [](C a, C) { return -a; }), true;
    case k_is_finite: return f(1, kCheap, [](C a, C) { return finite(a); }), true;
    case k_sqrt: return f(1, kCostly, [](C a, C) { return std::sqrt(a); }), true;
    case k_rsqrt: return f(1, kCostly, [](C a, C) { return C(1) / std::sqrt(a); }), true;
    case k_exp: return f(1, kCostly, [](C a, C) { return std::exp(a); }), true;
    case k_expm1: return f(1, kCostly, [](C a, C) { return expm1_of(a); }), true;
    case k_log: return f(1, kCostly, [](C a, C) { return std::log(a); }), true;
    case k_log1p: return f(1, kCostly, [](C a, C) { return log1p_of(a); }), true;
    case k_sinh: return f(1, kCostly, [](C a, C) { return std::sinh(a); }), true;
    case k_cosh: return f(1, kCostly, [](C a, C) { return std::cosh(a); }), true;
    case k_tanh: return f(1, kCostly, [](C a, C) { return std::tanh(a); }), true;
    case k_logistic: return f(1, kCostly, [](C a, C) { return logistic_of(a); }), true;
    case k_sin: return f(1, kCostly, [](C a, C) { return std::sin(a); }), true;
    case k_cos: return f(1, kCostly, [](C a, C) { return std::cos(a); }), true;
    case k_add: return f(2, kCheap, [](C a, C b) { return a + b; }), true;
    case k_sub: return f(2, kCheap, [](C a, C b) { return a - b; }), true;
    case k_mul: return f(2, kCheap, [](C a, C b) { return times(a, b); }), true;
    case k_div: return f(2, kCostly, [](C a, C b) { return a / b; }), true;
    case k_pow:
    case k_pow_whole: return f(2, 2 * kCostly, [](C a, C b) { return power_of(a, b); }), true;
    case k_eq: return f(2, kCheap, [](C a, C b) { return a == b; }), true;
    case k_ne: return f(2, kCheap, [](C a, C b) { return a != b; }), true;
    default: return false;
  }
}
}  // namespace

Dtype complex_result(OpId id, const Dtype* in) {
  auto& op = element_op(id);
  auto d = in[op.arity - 1];
  bool known = id == k_select;
  auto result = d;
  known = with_op<std::complex<float>>(id, [&](int, double, auto f) {
            using C = std::complex<float>;
            if constexpr (requires { f(C(), C()); })
              if constexpr (std::is_same_v<decltype(f(C(), C())), bool>) result = boolean;
          }) || known;
  check<DtypeError>(known, op.name, ": not defined for complex numbers, got ", d,
                    "; take real(), imag() or abs() of them");
  return result;
}
void run_complex(OpId id, Dtype d, const void* const* in, void* out, std::int64_t n) {
  dispatch_complex(d, element_op(id).name, [&](auto zero) {
    using C = decltype(zero);
    if (id == k_select) {
      auto* c = static_cast<const bool*>(in[0]);
      auto *a = static_cast<const C*>(in[1]), *b = static_cast<const C*>(in[2]);
      return each(n, kCheap, [=, to = static_cast<C*>(out)](I i) { to[i] = c[i] ? a[i] : b[i]; });
    }
    with_op<C>(id, [&](int arity, double cost, auto f) {
      auto *a = static_cast<const C*>(in[0]), *b = static_cast<const C*>(in[arity > 1 ? 1 : 0]);
      if constexpr (requires { f(C(), C()); }) {
        using R = decltype(f(C(), C()));
        each(n, cost, [=, to = static_cast<R*>(out)](I i) { to[i] = f(a[i], b[i]); });
      } else {
        auto* c = static_cast<const C*>(in[2]);
        each(n, cost, [=, to = static_cast<C*>(out)](I i) { to[i] = f(a[i], b[i], c[i]); });
      }
    });
  });
}

void take_part(Part part, Dtype d, const void* in, void* out, std::int64_t n) {
  dispatch_complex(d, "part", [&](auto zero) {
    using C = decltype(zero);
    auto* x = static_cast<const C*>(in);
    auto* to = static_cast<typename C::value_type*>(out);
    switch (part) {
      case Part::real: return each(n, kCheap, [=](I i) { to[i] = x[i].real(); });
      case Part::imag: return each(n, kCheap, [=](I i) { to[i] = x[i].imag(); });
      case Part::magnitude: return lengths(reinterpret_cast<const typename C::value_type*>(x), to, n);
      case Part::angle: return each(n, kCostly, [=](I i) { to[i] = std::arg(x[i]); });
    }
  });
}
void join_parts(Dtype d, const void* re, const void* im, void* out, std::int64_t n) {
  dispatch_complex(d, "complex", [&](auto zero) {
    using C = decltype(zero);
    using T = typename C::value_type;
    auto *a = static_cast<const T*>(re), *b = static_cast<const T*>(im);
    each(n, kCheap, [=, to = static_cast<C*>(out)](I i) { to[i] = C(a[i], b ? b[i] : T(0)); });
  });
}
void conjugate(Dtype d, const void* in, void* out, std::int64_t n) {
  dispatch_complex(d, "conj", [&](auto zero) {
    using C = decltype(zero);
    each(n, kCheap, [=, x = static_cast<const C*>(in), to = static_cast<C*>(out)](I i) { to[i] = std::conj(x[i]); });
  });
}
void cast_complex(Dtype from, Dtype to, const void* in, void* out, std::int64_t n) {
  if (!is_complex(from)) return join_parts(to, in, nullptr, out, n);
  dispatch_complex(from, "astype", [&](auto zero) {
    using S = decltype(zero);
    auto* x = static_cast<const S*>(in);
    if (to == boolean) return each(n, kCheap, [=, y = static_cast<bool*>(out)](I i) { y[i] = x[i] != S(0); });
    dispatch_complex(to, "astype", [&](auto wanted) {
      using T = decltype(wanted);
      each(n, kCheap, [=, y = static_cast<T*>(out)](I i) { y[i] = T(x[i]); });
    });
  });
}
void multiply_complex(Dtype d, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner) {
  dispatch_complex(d, "prod", [&](auto zero) {
    using C = decltype(zero);
    each(outer * inner, kCheap * 2 * static_cast<double>(n),
         [=, x = static_cast<const C*>(in), to = static_cast<C*>(out)](I i) {
           auto* from = x + i / inner * n * inner + i % inner;
           C y(1);
           for (I k = 0; k < n; ++k) y = times(y, from[k * inner]);
           to[i] = y;
         });
  });
}
}  // namespace bora::kernels
