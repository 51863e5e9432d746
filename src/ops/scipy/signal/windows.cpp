// Windows of signals.
#include "bora/ops/windows.h"
#include "bora/ops/special.h"
#include "bora/ops/ufuncs.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"

namespace bora::signal::windows {
using namespace ops;
namespace {
/// f(positions 0 .. m - 1 in f64, m), where m = n for a symmetric window, else n + 1, of which the last is cut.
template <class F> Array window(std::string_view what, std::int64_t n, const Options& o, const F& f) {
  check<ValueError>(n >= 0, what, ": n = ", n, " must not be negative");
  if (n <= 1) return full_of({{n}, o.dtype}, 1);
  auto m = o.symmetric ? n : n + 1;
  auto w = f(iota({m}, 0, f64), static_cast<double>(m));
  return slice_in_dim(w, 0, 0, n).astype(o.dtype);
}
/// The distance from the middle, in elements.
Array centered(const Array& i, double m) { return i - (m - 1) / 2; }
/// From -1 to 1.
Array unit(const Array& i, double m) { return i * (2 / (m - 1)) - 1; }
Array cosines(std::string_view what, std::int64_t n, const std::vector<double>& weights, const Options& o) {
  return window(what, n, o, [&](const Array& i, double m) {
    auto t = i * (2 * kPi / (m - 1)) - kPi;
    Array y = full_of({i.shape(), f64}, 0);
    for (std::size_t k = 0; k < weights.size(); ++k) y = y + weights[k] * cos(t * static_cast<double>(k));
    return y;
  });
}
}  // namespace

Array boxcar(std::int64_t n, const Options& o) {
  return window("boxcar", n, o, [](const Array& i, double) { return ones_like(i); });
}
Array triang(std::int64_t n, const Options& o) {
  return window("triang", n, o, [](const Array& i, double m) {
    bool odd = std::fmod(m, 2) == 1;
    return 1 - abs(centered(i, m)) * (2 / (odd ? m + 1 : m));
  });
}
Array bartlett(std::int64_t n, const Options& o) {
  return window("bartlett", n, o, [](const Array& i, double m) { return 1 - abs(unit(i, m)); });
}
Array parzen(std::int64_t n, const Options& o) {
  return window("parzen", n, o, [](const Array& i, double m) {
    auto r = abs(centered(i, m)) * (2 / m);
    auto near = 1 - 6 * square(r) + 6 * power(r, 3), far = 2 * power(1 - r, 3);
    return where(abs(centered(i, m)) <= (m - 1) / 4, near, far);
  });
}
Array bohman(std::int64_t n, const Options& o) {
  return window("bohman", n, o, [](const Array& i, double m) {
    auto r = abs(unit(i, m));
    auto w = (1 - r) * cos(kPi * r) + 1 / kPi * sin(kPi * r);
    return where(i == 0 || i == m - 1, 0., w);
  });
}
Array barthann(std::int64_t n, const Options& o) {
  return window("barthann", n, o, [](const Array& i, double m) {
    auto r = abs(i / (m - 1) - 0.5);
    return 0.62 - 0.48 * r + 0.38 * cos(2 * kPi * r);
  });
}
Array cosine(std::int64_t n, const Options& o) {
  return window("cosine", n, o, [](const Array& i, double m) { return sin((i + 0.5) * (kPi / m)); });
}
Array lanczos(std::int64_t n, const Options& o) {
  return window("lanczos", n, o, [](const Array& i, double m) { return sinc(unit(i, m)); });
}
Array hann(std::int64_t n, const Options& o) { return cosines("hann", n, {0.5, 0.5}, o); }
Array hamming(std::int64_t n, const Options& o) { return cosines("hamming", n, {0.54, 1 - 0.54}, o); }
Array blackman(std::int64_t n, const Options& o) { return cosines("blackman", n, {0.42, 0.5, 0.08}, o); }
Array nuttall(std::int64_t n, const Options& o) {
  return cosines("nuttall", n, {0.3635819, 0.4891775, 0.1365995, 0.0106411}, o);
}
Array blackmanharris(std::int64_t n, const Options& o) {
  return cosines("blackmanharris", n, {0.35875, 0.48829, 0.14128, 0.01168}, o);
}
Array flattop(std::int64_t n, const Options& o) {
  return cosines("flattop", n, {0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368}, o);
}
Array general_cosine(std::int64_t n, const std::vector<double>& weights, const Options& o) {
  return cosines("general_cosine", n, weights, o);
}
Array general_hamming(std::int64_t n, double alpha, const Options& o) {
  return cosines("general_hamming", n, {alpha, 1 - alpha}, o);
}
Array tukey(std::int64_t n, double alpha, const Options& o) {
  if (alpha <= 0) return boxcar(n, o);
  if (alpha >= 1) return hann(n, o);
  return window("tukey", n, o, [&](const Array& i, double m) {
    auto from_end = minimum(i, m - 1 - i);
    auto width = std::floor(alpha * (m - 1) / 2);
    return where(from_end <= width, 0.5 * (1 + cos(kPi * (from_end * (2 / alpha / (m - 1)) - 1))), 1.);
  });
}
Array kaiser(std::int64_t n, double beta, const Options& o) {
  return window("kaiser", n, o, [&](const Array& i, double m) {
    auto t = unit(i, m);
    return special::i0(beta * sqrt(maximum(1 - square(t), 0.))) / special::i0(constant(beta, f64));
  });
}
Array gaussian(std::int64_t n, double sigma, const Options& o) {
  check<ValueError>(sigma > 0, "gaussian: sigma = ", sigma, " must be positive");
  return window("gaussian", n, o, [&](const Array& i, double m) {
    return exp(square(centered(i, m)) * (-0.5 / (sigma * sigma)));
  });
}
Array general_gaussian(std::int64_t n, double p, double sigma, const Options& o) {
  check<ValueError>(p > 0 && sigma > 0, "general_gaussian: p = ", p, " and sigma = ", sigma, " must be positive");
  return window("general_gaussian", n, o, [&](const Array& i, double m) {
    return exp(-0.5 * power(abs(centered(i, m)) / sigma, 2 * p));
  });
}
Array exponential(std::int64_t n, double tau, const Options& o) {
  check<ValueError>(tau > 0, "exponential: tau = ", tau, " must be positive");
  return window("exponential", n, o, [&](const Array& i, double m) { return exp(abs(centered(i, m)) * (-1 / tau)); });
}
}  // namespace bora::signal::windows

namespace bora::signal {
namespace {
using P = const std::vector<double>&;
struct Row {
  std::string_view name;
  std::size_t least, most;  // parameters
  Array (*make)(std::int64_t n, P, const windows::Options&);
};
/// A window without parameters.
template <auto F> Array plain(std::int64_t n, P, const windows::Options& o) { return F(n, o); }
constexpr auto kMany = static_cast<std::size_t>(-1);
const Row kRows[] = {
    {"boxcar", 0, 0, plain<windows::boxcar>},
    {"triang", 0, 0, plain<windows::triang>},
    {"bartlett", 0, 0, plain<windows::bartlett>},
    {"parzen", 0, 0, plain<windows::parzen>},
    {"bohman", 0, 0, plain<windows::bohman>},
    {"barthann", 0, 0, plain<windows::barthann>},
    {"cosine", 0, 0, plain<windows::cosine>},
    {"lanczos", 0, 0, plain<windows::lanczos>},
    {"hann", 0, 0, plain<windows::hann>},
    {"hamming", 0, 0, plain<windows::hamming>},
    {"blackman", 0, 0, plain<windows::blackman>},
    {"nuttall", 0, 0, plain<windows::nuttall>},
    {"blackmanharris", 0, 0, plain<windows::blackmanharris>},
    {"flattop", 0, 0, plain<windows::flattop>},
    {"general_cosine", 1, kMany,
     [](std::int64_t n, P p, const windows::Options& o) { return windows::general_cosine(n, p, o); }},
    {"general_hamming", 1, 1,
     [](std::int64_t n, P p, const windows::Options& o) { return windows::general_hamming(n, p[0], o); }},
    {"tukey", 0, 1,
     [](std::int64_t n, P p, const windows::Options& o) { return windows::tukey(n, p.empty() ? 0.5 : p[0], o); }},
    {"kaiser", 1, 1, [](std::int64_t n, P p, const windows::Options& o) { return windows::kaiser(n, p[0], o); }},
    {"gaussian", 1, 1, [](std::int64_t n, P p, const windows::Options& o) { return windows::gaussian(n, p[0], o); }},
    {"general_gaussian", 2, 2,
     [](std::int64_t n, P p, const windows::Options& o) { return windows::general_gaussian(n, p[0], p[1], o); }},
    {"exponential", 0, 1,
     [](std::int64_t n, P p, const windows::Options& o) { return windows::exponential(n, p.empty() ? 1 : p[0], o); }},
};
}  // namespace

Array get_window(const Window& w, std::int64_t n, const windows::Options& o) {
  if (w.values.defined()) {
    check<ShapeError>(w.values.ndim() == 1 && w.values.size() == n, "get_window: the window is ", w.values.type(),
                      ", and ", n, " elements are needed");
    return w.values.astype(o.dtype);
  }
  std::string known;
  for (auto& row : kRows) {
    if (row.name != w.name) {
      known += (known.empty() ? "" : ", ") + std::string(row.name);
      continue;
    }
    auto given = w.parameters.size();
    check<ValueError>(given >= row.least && given <= row.most, "get_window: ", w.name, " has ", given,
                      " parameters; it takes ", row.least, row.most == kMany ? " or more" : "",
                      row.most == row.least || row.most == kMany ? "" : " to " + std::to_string(row.most));
    return row.make(n, w.parameters, o);
  }
  fail<ValueError>("get_window: there is no window ", w.name, "; there are ", known);
}
}  // namespace bora::signal
