// Spectra of windowed segments and their inverse.
#include "bora/ops/accumulator.h"
#include "bora/ops/calculus.h"
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/fft.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/signal.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora::signal {
using namespace ops;
namespace {
struct Segments {
  Index length, overlap, nfft;
  Index step() const { return length - overlap; }
};
/// Checked lengths; n: elements of the signal, 0 where it is not known.
Segments segments(std::string_view what, const Window& w, std::optional<Index> nperseg, std::optional<Index> noverlap,
                  std::optional<Index> nfft, Index n, Index usual_parts) {
  Segments s{};
  if (w.values.defined()) {
    check<ShapeError>(w.values.ndim() == 1 && w.values.size() > 0, what, ": the window must be a vector, got ",
                      w.values.type());
    check<ValueError>(nperseg.value_or(w.values.size()) == w.values.size(), what, ": nperseg = ", nperseg.value_or(0),
                      " is not the length of the window ", w.values.type());
    nperseg = w.values.size();
  }
  s.length = nperseg.value_or(n > 0 ? std::min<Index>(256, n) : 256);
  check<ValueError>(s.length >= 1 && (n == 0 || s.length <= n), what, ": nperseg = ", s.length,
                    " does not lie in [1, ", n, "], the length of the signal");
  s.overlap = noverlap.value_or(s.length / usual_parts);
  check<ValueError>(s.overlap >= 0 && s.overlap < s.length, what, ": noverlap = ", s.overlap, " does not lie in [0, ",
                    s.length, "), below nperseg");
  s.nfft = nfft.value_or(s.length);
  check<ValueError>(s.nfft >= s.length, what, ": nfft = ", s.nfft, " is less than nperseg = ", s.length);
  return s;
}
Array extended(const Array& x, Index around, Extension how) {
  if (around == 0 || how == Extension::nothing) return x;
  auto n = x.shape(-1);
  if (how == Extension::zeros) {
    Dims lo(at(x.ndim()), 0);
    lo.back() = around;
    return pad(x, lo, lo);
  }
  if (how == Extension::constant) return take(x, clip(iota({n + 2 * around}, 0) - around, 0, n - 1), -1);
  check<ValueError>(around < n, "stft: a boundary of ", around, " elements is mirrored, and the signal has ", n);
  auto before = flip(slice_in_dim(x, -1, 1, around + 1), -1);
  auto behind = flip(slice_in_dim(x, -1, n - 1 - around, n - 1), -1);
  if (how == Extension::odd) {
    before = 2 * slice_in_dim(x, -1, 0, 1) - before;
    behind = 2 * slice_in_dim(x, -1, n - 1, n) - behind;
  }
  return concatenate({before, x, behind}, -1);
}
Array behind(const Array& x, Index n) {
  Dims lo(at(x.ndim()), 0), hi = lo;
  hi.back() = n;
  return n == 0 ? x : pad(x, lo, hi);
}
/// The transforms [.., T, F] of x's [.., n] segments.
Array transforms(const Array& x, const Array& window, const Segments& s, Trend trend, bool onesided) {
  auto count = (x.shape(-1) - s.overlap) / s.step();
  auto i = iota({count, s.length}, 0) * s.step() + iota({count, s.length}, 1);
  auto parts = take(x, i, -1, IndexMode::clamp);
  auto y = detrend(parts, {.type = trend}) * window;
  return onesided ? fft::rfft(y, {.n = s.nfft}) : fft::fft(y, {.n = s.nfft});
}
/// The number that power is divided by.
Array weight(const Array& window, Scaling scaling, double fs) {
  return scaling == Scaling::density ? fs * sum(square(window)) : square(sum(window));
}
Array frequencies(Index n, bool onesided, double fs, Dtype d) {
  return onesided ? fft::rfftfreq(n, 1 / fs, d) : fft::fftfreq(n, 1 / fs, d);
}
void check_signal(std::string_view what, const Array& x, double fs) {
  check<ShapeError>(x.ndim() > 0 && x.size() > 0, what, ": the signal must not be empty, got ", x.type());
  check<DtypeError>(is_numeric(x.dtype()), what, ": keys are not numbers");
  check<ValueError>(fs > 0, what, ": fs = ", fs, " must be positive");
}
struct Powers {
  Array frequencies, values;  // values [.., T, F]: axis is moved to the end
};
/// conj(X) Y for each segment, scaled; one-sided numbers stand for both sides.
Powers powers(const Array& x, const Array& y, bool same, const Segments& s, const Window& window, Trend trend,
              bool onesided, Scaling scaling, double fs) {
  auto d = real_dtype(x.dtype());
  auto w = get_window(window, s.length, {.symmetric = false, .dtype = d});
  auto a = transforms(x, w, s, trend, onesided);
  auto p = same ? square(real(a)) + square(imag(a)) : conj(a) * transforms(y, w, s, trend, onesided);
  p = p / weight(w, scaling, fs);
  if (onesided) {
    auto k = iota({p.shape(-1)}, 0);
    p = p * where(k == 0 || k * 2 == s.nfft, 1., full({p.shape(-1)}, 2., d));
  }
  return {frequencies(s.nfft, onesided, fs, d), p};
}
/// The median of n exponentially distributed numbers of mean 1, for odd and even n: Allen et al. 2012, FINDCHIRP.
double median_bias(Index n) {
  double r = 1;
  for (Index k = 1; k <= (n - 1) / 2; ++k) {
    auto i = static_cast<double>(2 * k);
    r += 1 / (i + 1) - 1 / i;
  }
  return r;
}
Array averaged(const Array& p, Average how) {
  auto n = p.shape(-2);
  if (n == 1) return squeeze(p, -2);
  if (how == Average::mean) return mean(p, -2);
  auto bias = median_bias(n);
  if (is_complex(p.dtype())) return complex(median(real(p), -2), median(imag(p), -2)) / bias;
  return median(p, -2) / bias;
}
Spectrum cross(std::string_view what, const Array& x, const Array& y, bool same, const SpectrumOptions& o) {
  check_signal(what, x, o.fs);
  check_signal(what, y, o.fs);
  auto n = std::max(x.ndim(), y.ndim());
  auto axis = normalize_axis(what, o.axis, n), from_end = axis - n;
  check<ShapeError>(std::min(x.ndim(), y.ndim()) >= -from_end, what, ": axis ", o.axis, " is not one of both ",
                    x.type(), " and ", y.type());
  auto d = accumulator(inexact_dtype(promote(x.dtype(), y.dtype())));
  auto p = moveaxis(x.astype(d), from_end, -1), q = moveaxis(y.astype(d), from_end, -1);
  auto length = std::max(p.shape(-1), q.shape(-1));
  auto s = segments(what, o.window, o.nperseg, o.noverlap, o.nfft, length, 2);
  auto r = powers(behind(p, length - p.shape(-1)), behind(q, length - q.shape(-1)), same, s, o.window, o.detrend,
                  o.onesided && !is_complex(d), o.scaling, o.fs);
  return {r.frequencies, moveaxis(averaged(r.values, o.average), -1, from_end)};
}
}  // namespace

Spectrum csd(const Array& x, const Array& y, const SpectrumOptions& o) { return cross("csd", x, y, false, o); }
Spectrum welch(const Array& x, const SpectrumOptions& o) { return cross("welch", x, x, true, o); }
Spectrum coherence(const Array& x, const Array& y, const SpectrumOptions& o) {
  auto both = cross("coherence", x, y, false, o);
  auto p = cross("coherence", x, x, true, o).values, q = cross("coherence", y, y, true, o).values;
  return {both.frequencies, (square(real(both.values)) + square(imag(both.values))) / p / q};
}
Spectrum periodogram(const Array& x, const PeriodogramOptions& o) {
  check_signal("periodogram", x, o.fs);
  auto axis = normalize_axis("periodogram", o.axis, x.ndim());
  auto n = x.shape(axis), nfft = o.nfft.value_or(n);
  check<ValueError>(nfft >= 1, "periodogram: nfft = ", nfft, " must be positive");
  auto read = std::min(n, nfft);
  return cross("periodogram", slice_in_dim(x, axis, 0, read), slice_in_dim(x, axis, 0, read), true,
               {.fs = o.fs,
                .window = o.window,
                .nperseg = read,
                .noverlap = 0,
                .nfft = nfft,
                .detrend = o.detrend,
                .onesided = o.onesided,
                .scaling = o.scaling,
                .axis = axis});
}
namespace {
Array times(Index count, const Segments& s, double offset, double fs, Dtype d) {
  return ((iota({count}, 0, f64) * static_cast<double>(s.step()) + offset) / fs).astype(d);
}
Spectra transformed(std::string_view what, const Array& x, const StftOptions& o, Index usual_parts) {
  check_signal(what, x, o.fs);
  auto axis = normalize_axis(what, o.axis, x.ndim());
  auto d = accumulator(inexact_dtype(x.dtype()));
  auto v = moveaxis(x.astype(d), axis, -1);
  auto s = segments(what, o.window, o.nperseg, o.noverlap, o.nfft, v.shape(-1), usual_parts);
  auto half = o.boundary == Extension::nothing ? 0 : s.length / 2;
  v = extended(v, half, o.boundary);
  if (o.padded) {
    auto over = (v.shape(-1) - s.length) % s.step();
    v = behind(v, (s.step() - over) % s.step() % s.length);
  }
  bool onesided = o.onesided && !is_complex(d);
  auto r = real_dtype(d);
  auto w = get_window(o.window, s.length, {.symmetric = false, .dtype = r});
  auto y = transforms(v, w, s, o.detrend, onesided) / sqrt(weight(w, o.scaling, o.fs));
  auto first = static_cast<double>(s.length) / 2;
  return {frequencies(s.nfft, onesided, o.fs, r),
          times(y.shape(-2), s, o.boundary == Extension::nothing ? first : 0, o.fs, r), moveaxis(y, -1, axis)};
}
}  // namespace

Spectra stft(const Array& x, const StftOptions& o) { return transformed("stft", x, o, 2); }
Spectra spectrogram(const Array& x, const SpectrogramOptions& o) {
  if (o.mode != SpectrogramMode::psd) {
    auto r = transformed("spectrogram", x,
                         {.fs = o.fs,
                          .window = o.window,
                          .nperseg = o.nperseg,
                          .noverlap = o.noverlap,
                          .nfft = o.nfft,
                          .detrend = o.detrend,
                          .onesided = o.onesided,
                          .boundary = Extension::nothing,
                          .padded = false,
                          .axis = o.axis,
                          .scaling = o.scaling},
                         8);
    auto axis = normalize_axis("spectrogram", o.axis, x.ndim());
    if (o.mode == SpectrogramMode::magnitude) r.values = abs(r.values);
    if (o.mode == SpectrogramMode::angle) r.values = angle(r.values);
    if (o.mode == SpectrogramMode::phase) r.values = unwrap(angle(r.values), axis);
    return r;
  }
  check_signal("spectrogram", x, o.fs);
  auto axis = normalize_axis("spectrogram", o.axis, x.ndim());
  auto d = accumulator(inexact_dtype(x.dtype()));
  auto v = moveaxis(x.astype(d), axis, -1);
  auto s = segments("spectrogram", o.window, o.nperseg, o.noverlap, o.nfft, v.shape(-1), 8);
  auto p = powers(v, v, true, s, o.window, o.detrend, o.onesided && !is_complex(d), o.scaling, o.fs);
  return {p.frequencies, times(p.values.shape(-2), s, static_cast<double>(s.length) / 2, o.fs, real_dtype(d)),
          moveaxis(p.values, -1, axis)};
}
Signal istft(const Array& z, const IstftOptions& o) {
  check_signal("istft", z, o.fs);
  check<ShapeError>(z.ndim() >= 2, "istft: needs dimensions of frequencies and times, got ", z.type());
  auto t = normalize_axis("istft", o.time_axis, z.ndim()), f = normalize_axis("istft", o.frequency_axis, z.ndim());
  check<ValueError>(t != f, "istft: time_axis and frequency_axis are both ", t);
  auto c = z.astype(complex_dtype(z.dtype()));
  auto rest = others(z.ndim(), {t, f});
  auto v = transpose(c, joined(rest, {t, f}));  // [.., T, F]
  auto count = v.shape(-2), usual = o.onesided ? 2 * (v.shape(-1) - 1) : v.shape(-1);
  auto length = o.nperseg.value_or(o.window.values.defined() ? o.window.values.size() : usual);
  auto nfft = o.nfft.value_or(o.onesided && length == usual + 1 ? length : usual);
  auto s = segments("istft", o.window, length, o.noverlap, nfft, 0, 2);
  auto bins = o.onesided ? nfft / 2 + 1 : nfft;
  check<ShapeError>(v.shape(-1) == bins, "istft: ", z.type(), " has ", v.shape(-1), " frequencies, and nfft = ", nfft,
                    " gives ", bins);
  auto d = real_dtype(v.dtype());
  auto w = get_window(o.window, s.length, {.symmetric = false, .dtype = d});
  auto x = o.onesided ? fft::irfft(v, {.n = nfft}) : fft::ifft(v, {.n = nfft});
  x = slice_in_dim(x, -1, 0, s.length) * (w * sqrt(weight(w, o.scaling, o.fs)));
  auto size = s.length + (count - 1) * s.step();
  auto i = iota({count, s.length}, 0) * s.step() + iota({count, s.length}, 1);
  auto shape = x.shape().dims();
  shape.resize(shape.size() - 2);
  auto y = scatter_add(full_of({Shape(joined(shape, {size})), x.dtype()}, 0), i, x, -1);
  auto overlap = scatter_add(full_of({{size}, d}, 0), i, broadcast_to(square(w), {count, s.length}), 0);
  y = y / where(overlap > 1e-10, overlap, 1.);
  if (o.boundary) {
    check<ShapeError>(size > 2 * (s.length / 2), "istft: the ", size, " elements are all boundary");
    y = slice_in_dim(y, -1, s.length / 2, size - s.length / 2);
  }
  auto n = y.shape(-1);
  return {(iota({n}, 0, f64) / o.fs).astype(d), moveaxis(y, -1, f < t ? t - 1 : t)};
}
}  // namespace bora::signal
