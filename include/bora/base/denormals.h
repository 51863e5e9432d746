// denormals.h -- numbers below the normal range (f32: 1.2e-38, f64: 2.2e-308), which are slow on many processors: kept,
// or taken as zero.
#pragma once
#include <cstdint>

namespace bora {
/// Whether operations and compiled programs of this process take denormal numbers as zero, as operands and as results.
/// Off, unless the environment has BORA_FLUSH_DENORMALS=1 or flush_denormals(true) was called. Conversions between
/// numbers and bits, random bits and sums on the way between ranks keep them.
bool flushes_denormals();
void flush_denormals(bool on);  // for all threads, from now on

/// While a scope with `on` lives, kernels called on this thread flush denormals on all of their threads: kernels follow
/// the floating-point control register of the thread that calls them.
class FlushDenormals {
 public:
  explicit FlushDenormals(bool on = true) : saved_(on ? set() : 0), on_(on) {}
  ~FlushDenormals() {
    if (on_) restore(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static std::uint32_t set();
  static void restore(std::uint32_t);
  std::uint32_t saved_;
  bool on_;
};
}  // namespace bora
