// range.h -- what the law of ranges compares: results of any magnitude with true values that long double holds.
#pragma once
#include <cfloat>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>
#include "laws/laws.h"

namespace bora::laws {
/// A floating format: its digits, the exponents of its smallest number and of the first power of 2 above all others.
struct Format {
  Dtype dtype;
  int digits, least, most;
  long double smallest() const { return std::ldexp(1.L, least); }
  long double smallest_normal() const { return std::ldexp(1.L, least + digits - 1); }
  long double largest() const { return std::ldexp(1.L - std::ldexp(1.L, -digits), most); }
  long double ulp(long double x) const {
    return x == 0 ? smallest() : std::ldexp(1.L, std::max(std::ilogb(x) - digits + 1, least));
  }
};
inline const Format kFormats[] = {
    {f32, 24, -149, 128}, {f64, 53, -1074, 1024}, {bf16, 8, -133, 128}, {f16, 11, -24, 16}};

/// Magnitudes over all exponents, `step` apart, with some mantissas; the ends; both signs.
inline std::vector<double> magnitudes(const Format& f, int step) {
  std::vector<double> r;
  const double mantissas[] = {1, 1.25, 1.71875, 1.5};
  int turn = 0;
  for (int e = f.least; e < f.most; e += step) r.push_back(std::ldexp(mantissas[turn++ % 4], e));
  for (long double end : {f.smallest(), f.smallest_normal(), f.largest(), 1.L, 0.5L, 2.L})
    r.push_back(static_cast<double>(end));
  for (std::size_t i = 0, n = r.size(); i < n; ++i) r.push_back(-r[i]);
  return r;
}
/// How far a result may be from the true value, and why.
struct Allowed {
  double ulps;            // roundings
  long double absolute;   // of the result itself
};
/// The empty string where `got` is the true value within what is allowed; a result beyond the range is infinite.
inline std::string fault(const Format& f, double got, long double want, const Allowed& a) {
  if (std::isnan(want)) return {};
  const long double size = std::fabs(want), ulp = f.ulp(std::min(size, f.largest()));
  const long double error = std::fabs(static_cast<long double>(got) - want);
  const long double slack = static_cast<long double>(a.ulps) * ulp + a.absolute;
  if (std::isinf(got)) {
    if (size + slack >= f.largest() && std::signbit(want) == std::signbit(got)) return {};
  } else if (error <= slack) {
    return {};
  }
  std::ostringstream s;
  s << got << ", true value " << want << ", off by " << error / ulp << " ulp";
  return s.str();
}
}  // namespace bora::laws
