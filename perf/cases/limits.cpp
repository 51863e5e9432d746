// limits.cpp -- peak rates of this machine, measured along with the rows: multiply-adds, copies that bypass the caches,
// copies in L2.
#include <immintrin.h>
#include <sys/mman.h>
#include <cstdlib>
#include <cstring>
#include <memory>
#include "bora/base/parallel.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;
constexpr std::int64_t kRounds = 1 << 18;
#define BORA_FMA(i) asm volatile("vfmadd231ps %1, %2, %0" : "+v"(a##i) : "v"(x), "v"(y));
__attribute__((target("avx512f"))) void fma_512() {  // 20 chains of 16 numbers
  auto x = _mm512_set1_ps(1.0001F), y = _mm512_set1_ps(0.9999F), a0 = x, a1 = x, a2 = x, a3 = x, a4 = x, a5 = x, a6 = x,
       a7 = x, a8 = x, a9 = x, a10 = x, a11 = x, a12 = x, a13 = x, a14 = x, a15 = x, a16 = x, a17 = x, a18 = x, a19 = x;
  for (std::int64_t k = 0; k < kRounds; ++k) {
    BORA_FMA(0) BORA_FMA(1) BORA_FMA(2) BORA_FMA(3) BORA_FMA(4) BORA_FMA(5) BORA_FMA(6)
    BORA_FMA(7) BORA_FMA(8) BORA_FMA(9) BORA_FMA(10) BORA_FMA(11) BORA_FMA(12) BORA_FMA(13)
    BORA_FMA(14) BORA_FMA(15) BORA_FMA(16) BORA_FMA(17) BORA_FMA(18) BORA_FMA(19)
  }
}
__attribute__((target("avx2,fma"))) void fma_256() {  // 10 chains of 8 numbers, twice
  auto x = _mm256_set1_ps(1.0001F), y = _mm256_set1_ps(0.9999F), a0 = x, a1 = x, a2 = x, a3 = x, a4 = x, a5 = x,
       a6 = x, a7 = x, a8 = x, a9 = x;
  for (std::int64_t k = 0; k < 2 * kRounds; ++k) {
    BORA_FMA(0) BORA_FMA(1) BORA_FMA(2) BORA_FMA(3) BORA_FMA(4)
    BORA_FMA(5) BORA_FMA(6) BORA_FMA(7) BORA_FMA(8) BORA_FMA(9)
  }
}
#undef BORA_FMA
__attribute__((target("avx2"))) void stream(char* to, const char* from, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 64) {
    auto a = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)),
         b = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 32), b);
  }
  _mm_sfence();
}
/// As the library's own blocks: whole huge pages where there are some.
std::shared_ptr<void> allocate(std::size_t bytes) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  bytes = (bytes + kHuge - 1) / kHuge * kHuge;
  void* p = std::aligned_alloc(kHuge, bytes);
  ::madvise(p, bytes, MADV_HUGEPAGE);
  return {p, std::free};
}
struct Memory {
  std::shared_ptr<void> from, to;
  explicit Memory(std::size_t bytes) : from(allocate(bytes)), to(allocate(bytes)) {
    parallel_for(static_cast<std::int64_t>(bytes), 1, [&](std::int64_t b, std::int64_t e) {
      std::memset(static_cast<char*>(from.get()) + b, 1, static_cast<std::size_t>(e - b));
      std::memset(static_cast<char*>(to.get()) + b, 1, static_cast<std::size_t>(e - b));
    });
  }
};
Values rate(const char* what, double amount) { return {{what, {amount}}}; }
}  // namespace

/// values(): the work of one run: flops, or bytes read and written.
void add_limits(Cases& to) {
  to["limit_fma"] = [] {
    bool wide = __builtin_cpu_supports("avx512f");
    return Case{[wide] {
                  parallel_for(thread_count(), 1, [&](std::int64_t b, std::int64_t e) {
                    for (; b < e; ++b) wide ? fma_512() : fma_256();
                  });
                },
                [wide] {
                  return rate("amount", static_cast<double>(kRounds) * 2 * (wide ? 320 : 160) * thread_count());
                }};
  };
  to["limit_dram"] = [] {
    constexpr std::size_t bytes = std::size_t{256} << 20;
    auto m = std::make_shared<Memory>(bytes);
    return Case{[m] {
                  parallel_for(bytes / 4096, 1, [&](std::int64_t b, std::int64_t e) {
                    stream(static_cast<char*>(m->to.get()) + b * 4096,
                           static_cast<const char*>(m->from.get()) + b * 4096, static_cast<std::size_t>(e - b) * 4096);
                  });
                },
                [] { return rate("amount", 2.0 * bytes); }};
  };
  to["limit_l2"] = [] {
    constexpr std::size_t bytes = std::size_t{128} << 10;
    constexpr int times = 256;
    auto m = std::make_shared<Memory>(bytes * static_cast<std::size_t>(thread_count()));
    return Case{[m] {
                  parallel_for(thread_count(), 1, [&](std::int64_t b, std::int64_t e) {
                    for (; b < e; ++b)
                      for (int k = 0; k < times; ++k)
                        std::memcpy(static_cast<char*>(m->to.get()) + static_cast<std::size_t>(b) * bytes,
                                    static_cast<const char*>(m->from.get()) + static_cast<std::size_t>(b) * bytes,
                                    bytes);
                  });
                },
                [] { return rate("amount", 2.0 * bytes * times * thread_count()); }};
  };
}
}  // namespace cases
