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
}  // namespace bora::laws
