// stream.h -- stores that bypass the caches, for outputs too large to be still cached when they are read.
#pragma once
#include <immintrin.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include "kernels/api/cpu.h"

namespace bora::kernels {
/// Copies n bytes. The copying thread calls stream_end before another thread may read them.
inline void stream(void* to, const void* from, std::size_t n) {
  auto* d = static_cast<char*>(to);
  const auto* s = static_cast<const char*>(from);
  auto head = std::min(n, (64 - reinterpret_cast<std::uintptr_t>(d) % 64) % 64);
  std::memcpy(d, s, head);
  std::size_t i = head;
  for (; i + 64 <= n; i += 64) {
    auto a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + i)),
         b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + i + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(d + i), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(d + i + 32), b);
  }
  std::memcpy(d + i, s + i, n - i);
}
inline void stream_end() { _mm_sfence(); }
}  // namespace bora::kernels
