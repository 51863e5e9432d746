// Cases of signal.h, windows.h and the cosine transforms of fft.h.
#include "bora/ops/fft.h"
#include "bora/ops/signal.h"
#include "scipy/cases.h"

namespace bora::laws::signal_cases {
namespace {
using namespace signal;
using Named = std::initializer_list<std::pair<std::string, Overlap>>;
const Named modes = {{"full", Overlap::full}, {"same", Overlap::same}, {"valid", Overlap::valid}};
Arrays parts(const Spectrum& s) { return {s.frequencies, s.values}; }
Arrays parts(const Spectra& s) { return {s.frequencies, s.times, s.values}; }
Arrays parts(const Signal& s) { return {s.times, s.values}; }
}  // namespace
void add_convolutions(NamedCases& cases) {
  for (auto [mode, m] : modes) {
    auto overlap = m;
    for (auto sizes : {"1_1", "7_3", "7_4", "6_2", "3_7", "4_4", "5_1"}) {
      auto rest = "/" + mode + "/" + sizes, fft = "/" + mode + "/fft_" + sizes;
      BORA_CASE(smooth, "signal::convolve" + rest, signal::convolve(a, b, {.mode = overlap}));
      BORA_CASE(smooth, "signal::correlate" + rest, signal::correlate(a, b, {.mode = overlap}));
      BORA_CASE(smooth, "signal::convolve" + fft, signal::convolve(a, b, {overlap, signal::Method::fft}));
      BORA_CASE(smooth, "signal::correlate" + fft, signal::correlate(a, b, {overlap, signal::Method::fft}));
    }
    BORA_CASE(smooth, "signal::convolve/" + mode + "/matrix", signal::convolve(a, b, {.mode = overlap}));
    BORA_CASE(smooth, "signal::correlate/" + mode + "/matrix", signal::correlate(a, b, {.mode = overlap}));
    for (auto kind : {"integers", "complex", "nan"}) {
      auto rest = "/" + mode + "/" + kind;
      BORA_CASE(steps, "signal::convolve" + rest, signal::convolve(a, b, {.mode = overlap}));
      BORA_CASE(steps, "signal::correlate" + rest, signal::correlate(a, b, {.mode = overlap}));
    }
    for (auto [name, o] : std::initializer_list<std::pair<std::string, Boundary>>{
             {"fill", Boundary::fill}, {"wrap", Boundary::wrap}, {"symm", Boundary::symm}}) {
      auto boundary = o;
      for (std::string sizes : {"45_23", "34_33", "22_35", "11_11"}) {
        if (mode == "valid" && sizes == "22_35") continue;
        auto rest = "/" + mode + "/" + name + "_" + sizes;
        BORA_CASE(smooth, "signal::convolve2d" + rest, convolve2d(a, b, {overlap, boundary, 0.5}));
        BORA_CASE(smooth, "signal::correlate2d" + rest, correlate2d(a, b, {overlap, boundary, 0.5}));
      }
    }
    BORA_CASE(smooth, "signal::fftconvolve/" + mode, fftconvolve(a, b, overlap));
    BORA_CASE(smooth, "signal::fftconvolve/" + mode + "/axes", fftconvolve(a, b, overlap, 1));
    BORA_CASE(steps, "signal::fftconvolve/" + mode + "/complex", fftconvolve(a, b, overlap));
  }
  for (auto [name, t] : std::initializer_list<std::pair<std::string, Trend>>{{"constant", Trend::constant},
                                                                             {"linear", Trend::linear}}) {
    auto trend = t;
    BORA_CASE(smooth, "signal::detrend/" + name, detrend(a, {.type = trend}));
    BORA_CASE(smooth, "signal::detrend/" + name + "/axis", detrend(a, {.axis = 0, .type = trend}));
    BORA_CASE(smooth, "signal::detrend/" + name + "/one", detrend(a, {.type = trend}));
  }
  BORA_CASE(smooth, "signal::detrend/breaks", detrend(a, {.breakpoints = {3, 4, 8}}));
  for (auto n : {"1", "2", "7", "8"}) BORA_CASE(smooth, std::string("signal::hilbert/") + n, signal::hilbert(a));
  BORA_CASE(smooth, "signal::hilbert/padded", signal::hilbert(a, {.n = 15, .axis = 1}));
}
void add_windows(NamedCases& cases) {
  using Plain = Array (*)(std::int64_t, const windows::Options&);
  using Make = std::function<Array(std::int64_t, const windows::Options&)>;
  std::map<std::string, std::pair<Make, Window>> all;
  for (auto [name, f] : std::initializer_list<std::pair<const char*, Plain>>{
           {"boxcar", windows::boxcar},     {"triang", windows::triang},
           {"bartlett", windows::bartlett}, {"parzen", windows::parzen},
           {"bohman", windows::bohman},     {"barthann", windows::barthann},
           {"cosine", windows::cosine},     {"lanczos", windows::lanczos},
           {"hann", windows::hann},         {"hamming", windows::hamming},
           {"blackman", windows::blackman}, {"nuttall", windows::nuttall},
           {"flattop", windows::flattop},   {"blackmanharris", windows::blackmanharris}})
    all.emplace(name, std::pair{Make(f), Window(name)});
  auto add = [&](const std::string& name, std::vector<double> p, Make f) {
    all.emplace(name, std::pair{std::move(f), Window(name, std::move(p))});
  };
  using O = const windows::Options&;
  add("general_cosine", {0.5, 0.3, 0.2}, [](auto n, O o) { return windows::general_cosine(n, {0.5, 0.3, 0.2}, o); });
  add("general_hamming", {0.7}, [](auto n, O o) { return windows::general_hamming(n, 0.7, o); });
  add("tukey", {0.3}, [](auto n, O o) { return windows::tukey(n, 0.3, o); });
  add("kaiser", {8.6}, [](auto n, O o) { return windows::kaiser(n, 8.6, o); });
  add("gaussian", {2.5}, [](auto n, O o) { return windows::gaussian(n, 2.5, o); });
  add("general_gaussian", {1.5, 2}, [](auto n, O o) { return windows::general_gaussian(n, 1.5, 2, o); });
  add("exponential", {3}, [](auto n, O o) { return windows::exponential(n, 3, o); });
  for (auto& [name, both] : all) {
    auto make = both.first;
    auto window = both.second;
    for (std::int64_t n : {0, 1, 2, 7, 8})
      BORA_CASE(steps, "signal::windows::" + name + "/" + std::to_string(n), make(n, {.dtype = f64}));
    for (std::int64_t n : {7, 8})
      BORA_CASE(steps, "signal::get_window/" + name + "_" + std::to_string(n),
                get_window(window, n, {.symmetric = false, .dtype = f64}));
  }
}
void add_spectra(NamedCases& cases) {
  BORA_CASE(smooth, "signal::welch", parts(welch(a, {.fs = 2, .nperseg = 20})));
  BORA_CASE(smooth, "signal::welch/segments",
            parts(welch(a, {.window = "hamming", .nperseg = 8, .detrend = Trend::linear})));
  BORA_CASE(smooth, "signal::welch/odd",
            parts(welch(a, {.nperseg = 7, .noverlap = 2, .nfft = 9, .scaling = Scaling::spectrum})));
  BORA_CASE(smooth, "signal::welch/median",
            parts(welch(a, {.nperseg = 5, .detrend = Trend::none, .average = Average::median})));
  BORA_CASE(smooth, "signal::welch/both", parts(welch(a, {.nperseg = 6, .onesided = false})));
  BORA_CASE(smooth, "signal::welch/axis", parts(welch(a, {.nperseg = 6, .axis = 0})));
  BORA_CASE(steps, "signal::welch/complex", parts(welch(a, {.nperseg = 6})));
  BORA_CASE(smooth, "signal::welch/window", parts(welch(a, {.window = array({1., 2., 3., 1.}, f64)})));
  BORA_CASE(smooth, "signal::csd", parts(csd(a, b, {.nperseg = 8})));
  BORA_CASE(smooth, "signal::csd/short", parts(csd(a, b, {.nperseg = 8})));
  BORA_CASE(smooth, "signal::csd/median", parts(csd(a, b, {.nperseg = 5, .average = Average::median})));
  BORA_CASE(smooth, "signal::csd/broadcast", parts(csd(a, b, {.nperseg = 6})));
  BORA_CASE(smooth, "signal::coherence", parts(coherence(a, b, {.nperseg = 6})));
  BORA_CASE(smooth, "signal::periodogram", parts(periodogram(a, {.fs = 3})));
  BORA_CASE(smooth, "signal::periodogram/nfft",
            parts(periodogram(a, {.window = "hann", .nfft = 12, .scaling = Scaling::spectrum})));
  BORA_CASE(smooth, "signal::periodogram/cut", parts(periodogram(a, {.nfft = 6, .detrend = Trend::linear})));
  BORA_CASE(smooth, "signal::periodogram/one", parts(periodogram(a)));
  using Mode = SpectrogramMode;
  for (auto [name, m] : std::initializer_list<std::pair<std::string, Mode>>{{"psd", Mode::psd},
                                                                            {"complex", Mode::complex},
                                                                            {"magnitude", Mode::magnitude},
                                                                            {"angle", Mode::angle},
                                                                            {"phase", Mode::phase}}) {
    auto mode = m;
    auto kind = m == Mode::angle || m == Mode::phase ? Takes::steps : Takes::smooth;
    BORA_CASE(steps, "signal::spectrogram/" + name, parts(spectrogram(a, {.fs = 2, .nperseg = 8, .mode = mode})));
    cases["signal::spectrogram/" + name].takes = kind;
  }
  BORA_CASE(smooth, "signal::spectrogram/axis", parts(spectrogram(a, {.nperseg = 6, .noverlap = 3, .axis = 0})));
  for (auto [name, e] : std::initializer_list<std::pair<std::string, Extension>>{{"zeros", Extension::zeros},
                                                                                 {"even", Extension::even},
                                                                                 {"odd", Extension::odd},
                                                                                 {"constant", Extension::constant},
                                                                                 {"None", Extension::nothing}}) {
    auto extension = e;
    BORA_CASE(smooth, "signal::stft/" + name, parts(stft(a, {.nperseg = 8, .boundary = extension})));
  }
  BORA_CASE(smooth, "signal::stft/plain",
            parts(stft(a, {.fs = 2, .nperseg = 7, .noverlap = 3, .nfft = 10, .padded = false})));
  BORA_CASE(smooth, "signal::stft/axis", parts(stft(a, {.nperseg = 6, .axis = 0, .scaling = Scaling::density})));
  BORA_CASE(steps, "signal::stft/complex", parts(stft(a, {.nperseg = 6})));
  BORA_CASE(steps, "signal::istft", parts(istft(a, {.nperseg = 8})));
  BORA_CASE(steps, "signal::istft/other", parts(istft(a, {.nperseg = 8, .noverlap = 5})));
  BORA_CASE(steps, "signal::istft/odd", parts(istft(a, {.fs = 2, .nperseg = 7})));
  BORA_CASE(steps, "signal::istft/plain",
            parts(istft(a, {.window = "hamming", .boundary = false, .scaling = Scaling::density})));
  BORA_CASE(steps, "signal::istft/axes", parts(istft(a, {.nperseg = 6, .time_axis = 0, .frequency_axis = 2})));
  BORA_CASE(steps, "signal::istft/complex", parts(istft(a, {.nperseg = 6, .onesided = false})));
}
void add_transforms(NamedCases& cases) {
  using fft::Norm;
  using One = Array (*)(const Array&, const fft::DctOptions&);
  using Many = Array (*)(const Array&, const fft::DctnOptions&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, One>>{{"dct", fft::dct}, {"idct", fft::idct}}) {
    auto g = f;
    for (int t : {1, 2, 3, 4})
      for (auto [word, m] : std::initializer_list<std::pair<std::string, Norm>>{
               {"backward", Norm::backward}, {"ortho", Norm::ortho}, {"forward", Norm::forward}})
        for (auto n : {"1", "2", "5", "8"}) {
          auto type = t;
          auto norm = m;
          if (type == 1 && std::string(n) == "1") continue;
          BORA_CASE(smooth, "fft::" + name + "/" + std::to_string(type) + "_" + word + "_" + n,
                    g(a, {.type = type, .norm = norm}));
        }
    BORA_CASE(smooth, "fft::" + name + "/padded", g(a, {.n = 7, .axis = 0}));
    BORA_CASE(smooth, "fft::" + name + "/cut", g(a, {.n = 3, .axis = 0}));
    BORA_CASE(steps, "fft::" + name + "/complex", g(a, {}));
  }
  for (auto [name, f] :
       std::initializer_list<std::pair<std::string, Many>>{{"dctn", fft::dctn}, {"idctn", fft::idctn}}) {
    auto g = f;
    BORA_CASE(smooth, "fft::" + name, g(a, {}));
    BORA_CASE(smooth, "fft::" + name + "/axes",
              g(a, {.type = 3, .s = Dims{4, 2}, .axes = Dims{2, 0}, .norm = Norm::ortho}));
    BORA_CASE(smooth, "fft::" + name + "/s", g(a, {.s = Dims{3}}));
  }
}
}  // namespace bora::laws::signal_cases
