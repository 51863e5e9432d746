// denormals.h -- sums and codecs keep denormal numbers, whatever the thread that makes them was told. Private.
#pragma once
#include <xmmintrin.h>

namespace bora::transport {
/// Which thread makes a sum depends on timing: on the caller's, which may flush denormals (bora/base/denormals.h), or
/// on the one that makes progress.
class KeepDenormals {
 public:
  KeepDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ & ~kFlush); }
  ~KeepDenormals() { _mm_setcsr(saved_); }
  KeepDenormals(const KeepDenormals&) = delete;
  KeepDenormals& operator=(const KeepDenormals&) = delete;

 private:
  static constexpr unsigned kFlush = 1U << 15 | 1U << 6;  // of results, of operands
  unsigned saved_;
};
}  // namespace bora::transport
