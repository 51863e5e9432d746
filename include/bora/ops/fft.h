// fft.h -- discrete Fourier transforms of any length, with jax.numpy.fft's names.
//
// f32, complex64 and smaller dtypes are computed in f32 and give complex64, f64 and complex128 give complex128. Lengths
// whose prime factors are small take mixed radices (Stockham), others Bluestein's algorithm: Bluestein 1970, A linear
// filtering approach to the computation of discrete Fourier transform. Errors: ValueError for a length below 1,
// IndexError for an axis that does not exist, DtypeError for random keys and, where real numbers are asked for, complex
// ones.
#pragma once
#include "bora/ops/arguments.h"

namespace bora::fft {
/// The place of the factor 1/n: backward: in the inverse; forward: in the forward transform; ortho: 1/sqrt(n) in both.
enum class Norm : std::uint8_t { backward, ortho, forward };
struct Options {                         // of transforms along one axis
  std::optional<std::int64_t> n = none;  // length of the axis: cut, or padded with zeros (default: its size)
  std::int64_t axis = -1;                // the one that is transformed
  Norm norm = Norm::backward;            // the place of 1/n
};
/// axes: by default the last ones that s names, all if there is no s. s: lengths along axes.
struct ManyOptions {
  std::optional<Dims> s = none, axes = none;
  Norm norm = Norm::backward;  // the place of 1/n
};
struct PlaneOptions {            // of transforms along two axes
  std::optional<Dims> s = none;  // their lengths: cut, or padded with zeros (default: their sizes)
  Dims axes = {-2, -1};          // the two that are transformed
  Norm norm = Norm::backward;    // the place of 1/n
};

/// y[k] = sum over j of x[j] exp(-2 pi i j k / n), complex.
Array fft(const Array& x, const Options& options = {});
Array ifft(const Array& x, const Options& options = {});  // the inverse of fft
/// The first n/2 + 1 elements of fft() of real numbers.
Array rfft(const Array& x, const Options& options = {});
/// The inverse of rfft: real; n is the length of the result (default: 2 (size - 1)).
Array irfft(const Array& x, const Options& options = {});
/// fft() of numbers with x[n - j] = conj(x[j]), of which x holds the first n/2 + 1: real, of length n (default: 2 (size
/// - 1)).
Array hfft(const Array& x, const Options& options = {});
/// The inverse of hfft: of n real numbers the first n/2 + 1.
Array ihfft(const Array& x, const Options& options = {});

// fftn, ifftn, rfftn and irfftn along two axes.
Array fft2(const Array& x, const PlaneOptions& options = {});
Array ifft2(const Array& x, const PlaneOptions& options = {});
Array rfft2(const Array& x, const PlaneOptions& options = {});
Array irfft2(const Array& x, const PlaneOptions& options = {});
// Over several axes; rfftn is real along the last of them, irfftn gives real numbers of length s.back() there.
Array fftn(const Array& x, const ManyOptions& options = {});
Array ifftn(const Array& x, const ManyOptions& options = {});
Array rfftn(const Array& x, const ManyOptions& options = {});
Array irfftn(const Array& x, const ManyOptions& options = {});

// The frequencies of the elements of fft() (rfft()) of n samples at distance d. Throws ValueError for n < 1 or d = 0.
Array fftfreq(std::int64_t n, double d = 1, Dtype dtype = default_float());
Array rfftfreq(std::int64_t n, double d = 1, Dtype dtype = default_float());
// Moves frequency 0 to the middle of the axes (default: all), and back.
Array fftshift(const Array& x, const Dimensions& axes = none);
Array ifftshift(const Array& x, const Dimensions& axes = none);

// ---- cosine transforms ----------------------------------------------------------------------------------------------
// Types 1 to 4, with the names of scipy.fft and jax.scipy.fft, by fft(). Real numbers: f64 stays, smaller dtypes
// give f32; of complex numbers both parts are transformed.
//
//   1: y[k] = x[0] + (-1)^k x[n - 1] + 2 sum over 0 < j < n - 1 of x[j] cos(pi k j / (n - 1)), n >= 2
//   2: y[k] = 2 sum over j of x[j] cos(pi k (2 j + 1) / (2 n))
//   3: y[k] = x[0] + 2 sum over j > 0 of x[j] cos(pi (2 k + 1) j / (2 n))
//   4: y[k] = 2 sum over j of x[j] cos(pi (2 k + 1) (2 j + 1) / (4 n))
//
// Norm::backward: as written, and the inverse is divided by 2 n (type 1: 2 (n - 1)); forward: the other way round;
// ortho: an orthogonal matrix. Throws ValueError for another type.
struct DctOptions {                      // of dct and idct
  int type = 2;                          // 1 to 4
  std::optional<std::int64_t> n = none;  // length of the axis: cut, or padded with zeros (default: its size)
  std::int64_t axis = -1;                // the one that is transformed
  Norm norm = Norm::backward;            // the place of the factor
};
/// axes: by default the last ones that s names, all if there is no s. s: lengths along axes.
struct DctnOptions {
  int type = 2;  // 1 to 4
  std::optional<Dims> s = none, axes = none;
  Norm norm = Norm::backward;  // the place of the factor
};
Array dct(const Array& x, const DctOptions& options = {});  // the cosine transform along one axis
/// The inverse of dct().
Array idct(const Array& x, const DctOptions& options = {});
/// Over several axes.
Array dctn(const Array& x, const DctnOptions& options = {});
Array idctn(const Array& x, const DctnOptions& options = {});  // the inverse of dctn()
}                                                              // namespace bora::fft
