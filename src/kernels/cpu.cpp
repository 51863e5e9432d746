#include "kernels/api/cpu.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "bora/base/error.h"
#include "kernels/api/amx.h"

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
namespace {
/// Linux gives a process the memory for tiles' contents when it is asked.
bool tiles_are_given() {
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool given = syscall(SYS_arch_prctl, request, tile_data) == 0;
  return given;
}
struct Bf16Units {
  bool amx = false, avx = false;
};
const Bf16Units& bf16_units() {
  static const Bf16Units found = [] {  // in a virtual machine every cpuid is a trap
    unsigned a, b, c, d;
    if (isa() < Isa::v4) return Bf16Units();
    return Bf16Units{__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 5) == 5 && tiles_are_given(),  // AMX-BF16
                     __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1)};  // AVX512-BF16
  }();
  return found;
}
}  // namespace
bool has_bf16_unit() { return bf16_units().amx || bf16_units().avx; }
bool has_bf16_dot() { return bf16_units().avx && !bf16_units().amx; }
bool has_bf16_tiles() { return bf16_units().amx; }
bool has_vnni() {
  static const bool found = isa() == Isa::v4 && __builtin_cpu_supports("avx512vnni");
  return found;
}
bool has_byte_tiles() {
  static const bool found = [] {
    unsigned a, b, c, d;
    return has_vnni() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 24 & 3) == 3 && tiles_are_given();
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
