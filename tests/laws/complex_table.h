// complex_table.h -- the cases of tests/golden/make_complex.py.
#pragma once
#include <complex>
#include <set>
#include "laws/golden.h"
#include "laws/laws.h"

namespace bora::laws {
using C = std::complex<double>;
inline constexpr C kI(0, 1);
inline Array some(const Shape& s, int seed) { return complex(rnd(s, seed), rnd(s, seed + 1)); }
inline GoldenCases golden() {
  GoldenCases r;
  read_golden("complex.txt", r);
  return r;
}
using Cases = std::map<std::string, std::function<Arrays(const Arrays&)>>;
#define BORA_IS(...)                                         \
  [](const Arrays& in) -> Arrays {                           \
    [[maybe_unused]] auto a = in[0], b = in.back();          \
    return {__VA_ARGS__};                                    \
  }
/// The gradient of the real part, as jax.grad gives it.
template <class F> Arrays gradient(const Arrays& in, F f) {
  return {grad([f](const Array& z) { return f(z); })(in[0])};
}
namespace complex_linalg_test { void add_linalg(Cases&); }
}  // namespace bora::laws
