#include "kernels/api/cpu.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <cpuid.h>
#include <unistd.h>
#include "bora/base/error.h"

namespace bora::kernels {
namespace {
Isa detect() {
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd");
  check<ValueError>(v3, "this processor (", cpu_name(),
                    ") is below x86-64-v3: bora needs AVX2 and FMA; run it on a CPU from 2013 (Intel), "
                    "2015 (AMD) or later");
  const char* wanted = std::getenv("BORA_ISA");
  if (wanted == nullptr || *wanted == 0) return v4 ? Isa::v4 : Isa::v3;
  const std::string_view w = wanted;
  check<ValueError>(w == "v3" || w == "v4", "BORA_ISA: unknown kernel class '", w, "'; use v3 or v4, or unset it");
  check<ValueError>(w == "v3" || v4, "BORA_ISA=v4: this processor (", cpu_name(),
                    ") has no AVX-512; use v3, or unset it");
  return w == "v3" ? Isa::v3 : Isa::v4;
}
}  // namespace

Isa isa() {
  static const Isa which = detect();
  return which;
}
bool has_bf16_unit() {
  static const bool found = [] {  // in a virtual machine every cpuid is a trap
    unsigned a, b, c, d;
    if (isa() < Isa::v4) return false;
    bool amx = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1);  // AMX-BF16
    bool avx = __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);   // AVX512-BF16
    return amx || avx;
  }();
  return found;
}
std::size_t streaming_bytes() {
  static const std::size_t bytes = [] {
    constexpr std::size_t most = std::size_t{32} << 20;
    auto last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return last > 0 ? std::min(most, static_cast<std::size_t>(last) / 2) : most;
  }();
  return bytes;
}
std::string cpu_name() {
  unsigned r[12] = {};
  for (unsigned i = 0; i < 3; ++i)
    if (!__get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3])) return "unknown";
  char text[49] = {};
  std::memcpy(text, r, sizeof r);
  std::string s = text;
  const auto first = s.find_first_not_of(' '), last = s.find_last_not_of(' ');
  return first == std::string::npos ? "unknown" : s.substr(first, last - first + 1);
}
}  // namespace bora::kernels
