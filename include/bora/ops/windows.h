// windows.h -- windows of signals, with SciPy's names and options; NumPy's (hanning) are in creation.h. Composites,
// computed in f64 and rounded once.
//
// n: the number of elements, at least 0 (else ValueError); one element is 1. Symmetric windows design filters, periodic
// ones (symmetric = false: the first n of a symmetric window of n + 1) suit spectra.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>
#include "bora/array/array.h"

namespace bora::signal::windows {
struct Options {          // of all windows here
  bool symmetric = true;  // false: periodic, for spectra
  Dtype dtype = default_float();  // of the result
};
Array boxcar(std::int64_t n, const Options& options = {});    // ones
Array triang(std::int64_t n, const Options& options = {});    // a triangle whose ends are not 0
Array bartlett(std::int64_t n, const Options& options = {});  // a triangle whose ends are 0
Array parzen(std::int64_t n, const Options& options = {});    // pieces of cubic polynomials
Array bohman(std::int64_t n, const Options& options = {});    // (1 - |t|) cos(pi |t|) + sin(pi |t|) / pi
Array barthann(std::int64_t n, const Options& options = {});  // 0.62 - 0.48 |t| + 0.38 cos(2 pi t), |t| <= 1/2
Array cosine(std::int64_t n, const Options& options = {});    // sin(pi (i + 1/2) / n)
Array lanczos(std::int64_t n, const Options& options = {});   // sinc(t), t from -1 to 1
Array hann(std::int64_t n, const Options& options = {});      // 0.5 + 0.5 cos(t), t from -pi to pi
Array hamming(std::int64_t n, const Options& options = {});   // 0.54 + 0.46 cos(t)
Array blackman(std::int64_t n, const Options& options = {});  // cosines with weights 0.42, 0.5, 0.08
/// Cosines with weights 0.3635819, 0.4891775, 0.1365995, 0.0106411.
Array nuttall(std::int64_t n, const Options& options = {});
/// Cosines with weights 0.35875, 0.48829, 0.14128, 0.01168.
Array blackmanharris(std::int64_t n, const Options& options = {});
/// Five cosines, with a peak that is nearly flat in frequency.
Array flattop(std::int64_t n, const Options& options = {});
/// sum over k of weights[k] cos(k t) with t from -pi to pi.
Array general_cosine(std::int64_t n, const std::vector<double>& weights, const Options& options = {});
/// Alpha + (1 - alpha) cos(t), t from -pi to pi.
Array general_hamming(std::int64_t n, double alpha, const Options& options = {});
/// A part alpha of it, half on each side, is a cosine; the rest is 1. 0: boxcar, 1: hann.
Array tukey(std::int64_t n, double alpha = 0.5, const Options& options = {});
/// I0(beta sqrt(1 - t^2)) / I0(beta) with t from -1 to 1.
Array kaiser(std::int64_t n, double beta, const Options& options = {});
/// exp(-t^2 / (2 sigma^2)), t in elements from the middle.
Array gaussian(std::int64_t n, double sigma, const Options& options = {});
/// exp(-|t / sigma|^(2 p) / 2).
Array general_gaussian(std::int64_t n, double p, double sigma, const Options& options = {});
/// exp(-|t| / tau), t in elements from the middle.
Array exponential(std::int64_t n, double tau = 1, const Options& options = {});
}  // namespace bora::signal::windows

namespace bora::signal {
/// A window by name with its parameters, "hann" or {"kaiser", {8.6}}; or its elements, a vector.
struct Window {
  Window(const char* n) : name(n) {}
  Window(std::string n, std::vector<double> p = {}) : name(std::move(n)), parameters(std::move(p)) {}
  Window(const Array& v) : values(v) {}
  template <class A>
  requires detail::becomes_array<A> Window(const A& v) : values(v) {}
  std::string name = {};
  std::vector<double> parameters = {};
  Array values = {};
};
/// The window of n elements, periodic unless told. Throws ValueError for a name that does not exist or another number
/// of parameters, ShapeError for other than n elements.
Array get_window(const Window& window, std::int64_t n, const windows::Options& options = {.symmetric = false});
}  // namespace bora::signal
