// signal.h -- convolutions and spectra of signals, with the names of scipy.signal and jax.scipy.signal. Composites, so
// that derivatives, vmap, jit and sharding hold. Of bora.h only on request: #include "bora/ops/signal.h". (A program
// that also includes <csignal> and says `using namespace bora` writes ::signal for C's function.)
//
// Errors: ShapeError for empty signals and dimensions that do not fit, ValueError for options out of range, IndexError
// for an axis that does not exist.
#pragma once
#include "bora/ops/arguments.h"
#include "bora/ops/windows.h"

namespace bora::signal {
// ---- convolutions ---------------------------------------------------------------------------------------------------
/// direct: sums of products, exact for integers; holds windows of result times kernel numbers. fft: by transforms of
/// both, where one NaN reaches all of the result. automatic: direct for integers and below 2^20 such numbers.
enum class Method : std::uint8_t { automatic, direct, fft };
struct ConvolveOptions {              // of convolve and correlate
  Overlap mode = Overlap::full;       // which part of the result
  Method method = Method::automatic;  // how it is computed
};
/// sum over j of a[i - j] b[j], over all dimensions of a [n..] and b [m..]: full [n + m - 1 ..], same [n..] in its
/// middle, valid [|n - m| + 1 ..] where both overlap entirely (one of them is the larger in every dimension).
Array convolve(const Array& a, const Array& b, const ConvolveOptions& options = {});
/// convolve(a, conj(b) backwards).
Array correlate(const Array& a, const Array& b, const ConvolveOptions& options = {});
/// The surroundings of a: `fill` numbers, a again, a mirrored (the edge is repeated).
enum class Boundary : std::uint8_t { fill, wrap, symm };
struct Convolve2dOptions {             // of convolve2d and correlate2d
  Overlap mode = Overlap::full;        // which part of the result
  Boundary boundary = Boundary::fill;  // what lies around a
  double fill = 0;                     // the number around a
};
// convolve and correlate of matrices. In mode same a kernel of an even size has its middle before (convolve2d) or
// behind (correlate2d) the center, as in SciPy.
Array convolve2d(const Array& a, const Array& b, const Convolve2dOptions& options = {});
Array correlate2d(const Array& a, const Array& b, const Convolve2dOptions& options = {});
/// By transforms along axes; the other dimensions are broadcast. f32 or f64, complex if an operand is.
Array fftconvolve(const Array& a, const Array& b, Overlap mode = Overlap::full, const Dimensions& axes = none);

// ---- trends and envelopes -------------------------------------------------------------------------------------------
enum class Trend : std::uint8_t { none, constant, linear };  // what detrend removes: nothing, the mean, or a line
struct DetrendOptions {                                      // of detrend
  std::int64_t axis = -1;                                    // along which x is a signal
  Trend type = Trend::linear;                                // what is removed
  Dims breakpoints = {};                                     // a line for each part between them
};
/// x minus its mean, or minus the lines of least squares along axis.
Array detrend(const Array& x, const DetrendOptions& options = {});
// The analytic signal of real x: x plus i times its Hilbert transform along axis, complex. n: as in fft.
struct HilbertOptions {
  std::optional<std::int64_t> n = none;
  std::int64_t axis = -1;
};
Array hilbert(const Array& x, const HilbertOptions& options = {});

// ---- spectra --------------------------------------------------------------------------------------------------------
/// density: per unit of frequency; spectrum: power.
enum class Scaling : std::uint8_t { density, spectrum };
enum class Average : std::uint8_t { mean, median };  // over the segments of a spectrum
struct SpectrumOptions {                             // of welch, csd and coherence
  double fs = 1;                                     // samples per unit of time
  Window window = "hann";                            // that each segment is multiplied by
  std::optional<std::int64_t> nperseg = none;   // of a segment; default 256, or the whole signal where it is shorter
  std::optional<std::int64_t> noverlap = none;  // of neighbouring segments; default nperseg / 2
  std::optional<std::int64_t> nfft = none;      // length of the transforms, at least nperseg: padded with zeros
  Trend detrend = Trend::constant;              // of each segment
  bool onesided = true;                         // frequencies from 0 on; complex signals have both sides always
  Scaling scaling = Scaling::density;           // of the values: see Scaling
  std::int64_t axis = -1;                       // along which x is a signal
  Average average = Average::mean;              // over the segments
};
struct Spectrum {             // frequencies, and a value at each of them
  Array frequencies, values;  // [F], and F in place of axis
};
/// The power spectral density by the mean of windowed segments: Welch 1967.
Spectrum welch(const Array& x, const SpectrumOptions& options = {});
/// The cross spectral density conj(X) Y, complex. The shorter signal is padded with zeros; other dimensions broadcast.
Spectrum csd(const Array& x, const Array& y, const SpectrumOptions& options = {});
/// |csd(x, y)|^2 / (welch(x) welch(y)), in [0, 1].
Spectrum coherence(const Array& x, const Array& y, const SpectrumOptions& options = {});
struct PeriodogramOptions {                 // of periodogram
  double fs = 1;                            // samples per unit of time
  Window window = "boxcar";                 // that the signal is multiplied by
  std::optional<std::int64_t> nfft = none;  // shorter than the signal: only so many elements are read
  Trend detrend = Trend::constant;          // removed before the transform
  bool onesided = true;                     // frequencies from 0 on, of real signals
  Scaling scaling = Scaling::density;       // of the values: see Scaling
  std::int64_t axis = -1;                   // along which x is a signal
};
/// welch() of one segment.
Spectrum periodogram(const Array& x, const PeriodogramOptions& options = {});

/// psd: power; complex: the transforms; magnitude and angle: theirs; phase: the angle without jumps.
enum class SpectrogramMode : std::uint8_t { psd, complex, magnitude, angle, phase };
struct SpectrogramOptions {                     // of spectrogram
  double fs = 1;                                // samples per unit of time
  Window window = {"tukey", {0.25}};            // that each segment is multiplied by
  std::optional<std::int64_t> nperseg = none;   // of a segment; default 256, or the whole signal where it is shorter
  std::optional<std::int64_t> noverlap = none;  // default nperseg / 8
  std::optional<std::int64_t> nfft = none;      // length of the transforms; default nperseg
  Trend detrend = Trend::constant;              // of each segment
  bool onesided = true;                         // frequencies from 0 on, of real signals
  Scaling scaling = Scaling::density;           // of the values: see Scaling
  std::int64_t axis = -1;                       // along which x is a signal
  SpectrogramMode mode = SpectrogramMode::psd;  // what is computed of each segment
};
struct Spectra {                     // frequencies, times of the segments, and a value for each pair
  Array frequencies, times, values;  // [F], [T], and [.., F, .., T] with F in place of axis
};
/// The spectrum of each segment: how x's frequencies change with time. Default segments overlap by an eighth.
Spectra spectrogram(const Array& x, const SpectrogramOptions& options = {});

/// The samples put before and behind the signal, half a segment each: none, zeros, the edge, the signal mirrored, the
/// signal turned about its end.
enum class Extension : std::uint8_t { nothing, zeros, constant, even, odd };
struct StftOptions {                                                         // of stft
  double fs = 1;                                                             // samples per unit of time
  Window window = "hann";                                                    // that each segment is multiplied by
  std::optional<std::int64_t> nperseg = none, noverlap = none, nfft = none;  // as SpectrumOptions has them
  Trend detrend = Trend::none;                                               // of each segment
  bool onesided = true;                                                      // frequencies from 0 on, of real signals
  Extension boundary = Extension::zeros;                                     // what is put around the signal
  bool padded = true;      // zeros behind, so that a whole number of segments fits; false: the rest is not read
  std::int64_t axis = -1;  // along which x is a signal
  Scaling scaling = Scaling::spectrum;  // of the values: see Scaling
};
/// The transforms of windowed segments.
Spectra stft(const Array& x, const StftOptions& options = {});
struct IstftOptions {                                                        // of istft, as they were given to stft
  double fs = 1;                                                             // samples per unit of time
  Window window = "hann";                                                    // that each segment was multiplied by
  std::optional<std::int64_t> nperseg = none, noverlap = none, nfft = none;  // as given to stft
  bool onesided = true;                                                      // z has the frequencies from 0 on
  bool boundary = true;                                                      // the signal was extended
  std::int64_t time_axis = -1, frequency_axis = -2;                          // the dimensions T and F of z
  Scaling scaling = Scaling::spectrum;                                       // of z's values
};
struct Signal {  // values, and the time of each of them
  Array times, values;
};
/// The signal of which z is the stft: overlapping segments are added (Griffin & Lim 1984). Where the windows are 0
/// there is nothing to divide by, and the result is 0.
Signal istft(const Array& z, const IstftOptions& options = {});
}  // namespace bora::signal
