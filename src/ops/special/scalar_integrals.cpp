// Exponential integrals, the normal distribution's functions, the dilogarithm and modified Bessel functions, for
// doubles.
#include <cmath>
#include <limits>
#include <numbers>
#include "ops/special/scalar.h"

namespace bora::ops::scalar {
namespace {
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEps = std::numeric_limits<double>::epsilon() / 2;
constexpr double kPi = std::numbers::pi, kEuler = std::numbers::egamma;
template <int n> double polynomial(double x, const double (&p)[n]) {
  double r = p[0];
  for (int i = 1; i < n; ++i) r = r * x + p[i];
  return r;
}
/// The continued fraction of Abramowitz & Stegun 5.1.22 for e^x expn(n, x), x >= 1, by Lentz's method.
double expn_fraction(double n, double x) {
  double b = x + n, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 10000; ++i) {
    double a = -i * (n - 1 + i);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    h *= c * d;
    if (std::fabs(c * d - 1) < kEps) break;
  }
  return h;
}
/// The sum of x^k / (k k!).
double expi_series(double x) {
  double term = 1, sum = 0;
  for (int k = 1; k < 200; ++k) {
    term *= x / k;
    sum += term / k;
    if (std::fabs(term) < kEps * std::fabs(sum) * k) break;
  }
  return sum;
}
/// expi near its root, from differences of the series' terms: the sum itself cancels there.
double expi_near_root(double x) {
  constexpr double root = 0.37250741078136663446, rest = 1.3140183414386028e-17;
  double far = (x - root) - rest, difference = 0, power = 1, factorial = 1, sum = std::log1p(far / root);
  for (int k = 1; k < 30; ++k) {  // x^k - root^k = x (x^(k-1) - root^(k-1)) + root^(k-1) (x - root)
    difference = x * difference + power * far;
    power *= root;
    factorial *= k;
    sum += difference / (k * factorial);
  }
  return sum;
}
}  // namespace

double expi(double x) {
  if (x == 0) return -kInf;
  if (x < 0) return -expn(1, -x);
  if (std::fabs(x - 0.3725) < 0.15) return expi_near_root(x);
  if (x < 40) return kEuler + std::log(x) + expi_series(x);
  if (x == kInf) return x;
  double term = 1, sum = 1;  // the asymptotic series, whose smallest term is e^-x
  for (int k = 1; k < 40 && term > kEps; ++k) sum += term *= k / x;
  return std::exp(x / 2) * (sum / x) * std::exp(x / 2);
}
double expn(double n, double x) {
  if (std::isnan(x) || n != std::floor(n) || x < 0) return kNan;
  if (x == kInf) return 0;
  if (x == 0) return n > 1 ? 1 / (n - 1) : kInf;
  if (n <= 0) {  // E_(k-1) = (e^-x + (1 - k) E_k) / x ends at E_0 = e^-x / x
    double e = std::exp(-x), y = e / x;
    for (double k = 0; k > n; --k) y = (e + (1 - k) * y) / x;
    return y;
  }
  if (x >= 1) return expn_fraction(n, x) * std::exp(-x);
  // The series of Abramowitz & Stegun 5.1.12.
  double less = n - 1, term = 1, sum = less > 0 ? 1 / less : -std::log(x) - kEuler;
  for (int k = 1; k < 100; ++k) {
    term *= -x / k;
    double part = 0;
    if (k != less) part = -term / (k - less);
    else {
      double psi = -kEuler;
      for (int j = 1; j <= k; ++j) psi += 1.0 / j;
      part = term * (psi - std::log(x));
    }
    sum += part;
    if (std::fabs(part) < kEps * std::fabs(sum) && k > less) break;
    if (term == 0 || (std::fabs(part) < kEps * std::fabs(sum) && less > 60)) break;
  }
  return sum;
}

/// Rational approximations of Cephes (spence.c; Moshier 1989).
double spence(double x) {
  static constexpr double a[] = {4.65128586073990045278E-5, 7.31589045238094711071E-3, 1.33847639578309018650E-1,
                                 8.79691311754530315341E-1, 2.71149851196553469920E0,  4.25697156008121755724E0,
                                 3.29771340985225106936E0,  1.00000000000000000126E0};
  static constexpr double b[] = {6.90990488912553276999E-4, 2.54043763932544379113E-2, 2.82974860602568089943E-1,
                                 1.41172597751831069617E0,  3.63800533345137075418E0,  5.03278880143316990390E0,
                                 3.54771340985225096217E0,  9.99999999999999998740E-1};
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 1) return 0;
  constexpr double at_zero = kPi * kPi / 6;
  if (x == 0) return at_zero;
  if (x == kInf) return -kInf;
  bool inverted = x > 1.5;
  double y = x > 2 ? 1 / x : x, w = y > 1.5 ? 1 / y - 1 : y < 0.5 ? -y : y - 1;
  double r = -w * polynomial(w, a) / polynomial(w, b);
  if (y < 0.5) r = at_zero - std::log(y) * std::log1p(-y) - r;
  if (!inverted) return r;
  double l = std::log(y);
  return -0.5 * l * l - r;
}

double erfcx(double x) {
  if (x > 1e8) return 1 / (x * std::sqrt(kPi));
  if (x < 2) {  // the square's rounding is felt in the exponential, so it is taken along
    double square = x * x, rest = std::fma(x, x, -square), e = std::exp(square);
    return (e + (std::isinf(e) ? 0 : e * rest)) * std::erfc(x);
  }
  double c = 1e300, d = 1 / x, h = d;
  for (int k = 1; k < 1000; ++k) {  // Abramowitz & Stegun 7.1.14
    double a = 0.5 * k;
    d = 1 / (x + a * d);
    c = x + a / c;
    h *= c * d;
    if (std::fabs(c * d - 1) < kEps) break;
  }
  return h / std::sqrt(kPi);
}
/// Rational approximations of Cephes (ndtri.c; Moshier 1989).
double ndtri(double p) {
  static constexpr double p0[] = {-5.99633501014107895267E1, 9.80010754185999661536E1, -5.66762857469070293439E1,
                                  1.39312609387279679503E1, -1.23916583867381258016E0};
  static constexpr double q0[] = {1.0,
                                  1.95448858338141759834E0,
                                  4.67627912898881538453E0,
                                  8.63602421390890590575E1,
                                  -2.25462687854119370527E2,
                                  2.00260212380060660359E2,
                                  -8.20372256168333339912E1,
                                  1.59056225126211695515E1,
                                  -1.18331621121330003142E0};
  static constexpr double p1[] = {4.05544892305962419923E0,   3.15251094599893866154E1,   5.71628192246421288162E1,
                                  4.40805073893200834700E1,   1.46849561928858024014E1,   2.18663306850790267539E0,
                                  -1.40256079171354495875E-1, -3.50424626827848203418E-2, -8.57456785154685413611E-4};
  static constexpr double q1[] = {1.0,
                                  1.57799883256466749731E1,
                                  4.53907635128879210584E1,
                                  4.13172038254672030440E1,
                                  1.50425385692907503408E1,
                                  2.50464946208309415979E0,
                                  -1.42182922854787788574E-1,
                                  -3.80806407691578277194E-2,
                                  -9.33259480895457427372E-4};
  static constexpr double p2[] = {3.23774891776946035970E0,  6.91522889068984211695E0,  3.93881025292474443415E0,
                                  1.33303460815807542389E0,  2.01485389549179081538E-1, 1.23716634817820021358E-2,
                                  3.01581553508235416007E-4, 2.65806974686737550832E-6, 6.23974539184983293730E-9};
  static constexpr double q2[] = {1.0,
                                  6.02427039364742014255E0,
                                  3.67983563856160859403E0,
                                  1.37702099489081330271E0,
                                  2.16236993594496635890E-1,
                                  1.34204006088543189037E-2,
                                  3.28014464682127739104E-4,
                                  2.89247864745380683936E-6,
                                  6.79019408009981274425E-9};
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  constexpr double edge = 0.13533528323661269189;  // e^-2
  bool upper = p > 1 - edge;
  double y = upper ? 1 - p : p;
  if (y > edge) {
    double w = y - 0.5, ww = w * w;
    return std::sqrt(2 * kPi) * (w + w * ww * (polynomial(ww, p0) / polynomial(ww, q0)));
  }
  double z = std::sqrt(-2 * std::log(y)), r = 1 / z, first = z - std::log(z) / z;
  double second = z < 8 ? r * polynomial(r, p1) / polynomial(r, q1) : r * polynomial(r, p2) / polynomial(r, q2);
  return upper ? first - second : second - first;
}
double cauchy_cdf(double x) { return std::atan2(1, -x) / kPi; }

namespace {
/// e^-x I_order(x) for x >= 0 and order 0 or 1: the power series, all of whose terms are positive, and from 30 the
/// asymptotic one, whose smallest term is about e^-2x (Abramowitz & Stegun 9.6.10, 9.7.1).
double scaled_bessel(int order, double x) {
  if (x == kInf) return 0;
  if (x < 30) {
    double q = x * x / 4, term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 200 && term > kEps * sum; ++k) sum += term *= q / (k * (k + order));
    return std::exp(-x) * sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 60 && std::fabs(term) > kEps; ++k)
    sum += term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * x);
  return sum / std::sqrt(2 * kPi * x);
}
double grown(double scaled, double x) {
  if (x == kInf) return x;
  double e = std::exp(x / 2);  // e^x may overflow where the product does not
  return e * scaled * e;
}
}  // namespace
double i0e(double x) { return scaled_bessel(0, std::fabs(x)); }
double i1e(double x) { return std::copysign(1.0, x) * scaled_bessel(1, std::fabs(x)); }
double i0(double x) { return grown(scaled_bessel(0, std::fabs(x)), std::fabs(x)); }
double i1(double x) { return std::copysign(grown(scaled_bessel(1, std::fabs(x)), std::fabs(x)), x); }

double xlogy(double x, double y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }
double xlog1py(double x, double y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log1p(y); }
double xlogx(double x) { return xlogy(x, x); }
double rel_entr(double p, double q) {
  if (std::isnan(p) || std::isnan(q)) return kNan;
  if (!(p > 0 && q > 0)) return p == 0 && q >= 0 ? 0 : kInf;
  return p < 2 * q && q < 2 * p ? p * std::log1p((p - q) / q) : p * (std::log(p) - std::log(q));
}
double kl_div(double p, double q) {
  if (std::isnan(p) || std::isnan(q)) return kNan;
  if (!(p > 0 && q > 0)) return p == 0 && q >= 0 ? q : kInf;
  return p * deviance((q - p) / p, q / p);
}
double logit(double x) {
  if (x > 0.3 && x < 0.65) return std::log1p((2 * x - 1) / (1 - x));  // 2 x - 1 is exact
  return std::log(x) - std::log1p(-x);
}
}  // namespace bora::ops::scalar
