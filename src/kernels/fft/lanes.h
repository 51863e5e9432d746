// lanes.h -- what the kernels of both instruction sets share with the planner: transforms of one length run side by
// side, one in each lane of a vector of the instruction set. Private.
#pragma once
#include <cstdint>

namespace bora::kernels::fft_detail {
using I = std::int64_t;
inline constexpr I kMostLanes = 16;

/// One pass of the Stockham algorithm: n / (radix) butterflies; `twiddles`: radix - 1 complex numbers for each of `m`.
template <class T> struct Pass {
  I radix, m, stride;
  const T* twiddles;
};
/// A transform whose length has small prime factors. `roots`: cos and sin of 2 pi k / radix, by pass, for those whose
/// radix has no butterfly of its own.
template <class T> struct Plan {
  I n = 1;
  int count = 0;
  Pass<T> passes[48];
  const T* roots[48];
};
/// The places of lanes in memory: element j of lane l is the complex number at base[l] + j * step.
template <class T> struct Place {
  T* base[kMostLanes];
  I step, lanes;
};
/// Transforms lanes from `in` to `out` with room for 4 n vectors. factors: null, or one complex number for each element
/// of the result, row k from factors + 2 k * pitch, lane after lane.
template <class T> struct Job {
  const Plan<T>* plan;
  Place<const T> in;
  Place<T> out;
  bool inverse;
  T scale;
  const T* factors;
  I pitch;
  T* room;
};
}  // namespace bora::kernels::fft_detail
namespace bora::kernels::v3 {
void fft_lanes(const fft_detail::Job<float>&);
void fft_lanes(const fft_detail::Job<double>&);
}  // namespace bora::kernels::v3
namespace bora::kernels::v4 {
void fft_lanes(const fft_detail::Job<float>&);
void fft_lanes(const fft_detail::Job<double>&);
}  // namespace bora::kernels::v4
