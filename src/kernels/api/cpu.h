// cpu.h -- features of this machine's processor, found at run time.
#pragma once
#include <cstddef>
#include <string>

namespace bora::kernels {
/// Kernel classes, lowest first. All give the same bits, but bf16 products differ between machines with and without a
/// bf16 unit.
enum class Isa : unsigned char { v3, v4 };
/// The class in use: the highest that the CPU supports, or v3 if BORA_ISA=v3. Throws ValueError below x86-64-v3 and for
/// unknown names.
Isa isa();
/// Fast bf16 products: AMX or AVX-512 BF16.
bool has_bf16_unit();
/// AVX-512 BF16 without AMX: then vdpbf16ps gives the bits of every bf16 product of few rows (gemm/bf16.h).
bool has_bf16_dot();
/// Products of bytes summed in 32 bits: AVX512-VNNI. Without it products of quantised weights run on AVX2.
bool has_vnni();
/// Outputs of at least this many bytes bypass the caches: half of the last level, but at most 32 MiB, because the last
/// level that a machine reports is often shared with other tenants.
std::size_t streaming_bytes();
std::string cpu_name();
}  // namespace bora::kernels
