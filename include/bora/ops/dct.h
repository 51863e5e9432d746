// dct.h -- discrete cosine transforms of types 1 to 4, with the names of scipy.fft and jax.scipy.fft, by fft(). Real
// numbers: f64 stays, smaller dtypes give f32; of complex numbers both parts are transformed.
//
//   1: y[k] = x[0] + (-1)^k x[n - 1] + 2 sum over 0 < j < n - 1 of x[j] cos(pi k j / (n - 1)), n >= 2
//   2: y[k] = 2 sum over j of x[j] cos(pi k (2 j + 1) / (2 n))
//   3: y[k] = x[0] + 2 sum over j > 0 of x[j] cos(pi (2 k + 1) j / (2 n))
//   4: y[k] = 2 sum over j of x[j] cos(pi (2 k + 1) (2 j + 1) / (4 n))
//
// Norm::backward: as written, and the inverse is divided by 2 n (type 1: 2 (n - 1)); forward: the other way round;
// ortho: an orthogonal matrix. Errors: those of fft.h; ValueError for another type.
#pragma once
#include "bora/ops/fft.h"

namespace bora::fft {
struct DctOptions {
  int type = 2;
  std::optional<std::int64_t> n = none;  // length of the axis: cut, or padded with zeros (default: its size)
  std::int64_t axis = -1;
  Norm norm = Norm::backward;
};
/// axes: by default the last ones that s names, all if there is no s. s: lengths along axes.
struct DctnOptions {
  int type = 2;
  std::optional<Dims> s = none, axes = none;
  Norm norm = Norm::backward;
};
Array dct(const Array& x, const DctOptions& options = {});
/// The inverse of dct().
Array idct(const Array& x, const DctOptions& options = {});
/// Over several axes.
Array dctn(const Array& x, const DctnOptions& options = {});
Array idctn(const Array& x, const DctnOptions& options = {});
}  // namespace bora::fft
