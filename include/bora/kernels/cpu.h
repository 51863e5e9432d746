// cpu.h -- what this machine's processor offers, found at run time.
#pragma once
#include <cstddef>
#include <string>

namespace bora::kernels {
/// Kernel classes, lowest first. All give the same bits; only bf16 products differ, between machines with a bf16 unit and those without.
enum class Isa : unsigned char { v3, v4 };
/// The class in use: what the CPU has, or less where BORA_ISA=v3 asks for it. Throws ValueError below x86-64-v3 and for unknown names.
Isa isa();
/// Fast bf16 products: AMX or AVX-512 BF16.
bool has_bf16_unit();
/// An output of at least so many bytes is written past the caches: half of the last level, but no more than 32 MiB, because what a
/// machine says about its last level is often shared with strangers.
std::size_t streaming_bytes();
std::string cpu_name();
}  // namespace bora::kernels
