// kernel_table.h -- the block interpreter's kernels of one instruction set, over rows of block elements, by operation
// and format.
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"
#include "kernels/api/cpu.h"

namespace bora::kernels {
/// Representation of a value in a block: bf16, f16 and f8 as f32, u8, i8, i16 and u16 in 32 bits, bool as all ones or 0
/// in the loop's lane width. i8, i16, u16, f16 and f8 have no operations: they are loaded, stored, and cast from i32 or
/// f32; a cast to those changes nothing in a block.
enum class Format : std::uint8_t { f32, bf16, i32, u32, u8, mask32, i8, i16, u16, f16, f8, f64, i64, mask64 };
inline constexpr int kFormats = 14;
constexpr int width_of(Format f) { return f < Format::f64 ? 4 : 8; }
constexpr bool is_mask(Format f) { return f == Format::mask32 || f == Format::mask64; }
constexpr bool is_float(Format f) { return f == Format::f32 || f == Format::bf16 || f == Format::f64; }
constexpr bool is_stored_format(Format f) { return f >= Format::i8 && f <= Format::f8; }

enum class Domain : std::uint8_t { number, floating, integer, logic, ordered, compare, test, choose };
constexpr bool accepts(Domain d, Format f) {
  if (is_stored_format(f)) return false;
  switch (d) {
    case Domain::number: return !is_mask(f);
    case Domain::floating:
    case Domain::test: return is_float(f);
    case Domain::integer: return !is_mask(f) && !is_float(f);
    case Domain::logic: return !is_float(f);
    default: return true;
  }
}
constexpr bool gives_bool(Domain d) { return d == Domain::compare || d == Domain::test; }

enum Op : std::uint16_t {
#define BORA_UNARY(NAME, ...) k_##NAME,
#define BORA_BINARY BORA_UNARY
#define BORA_TERNARY BORA_UNARY
#include "kernels/loop/op_list.h"
#undef BORA_UNARY
#undef BORA_BINARY
#undef BORA_TERNARY
  kOps
};

/// Rows of elements: row r starts `pitch` elements after row r - 1.
struct Rows {
  void* at;
  std::int64_t pitch;
};
/// out[r, i] = f(in...[r, i]) for r < rows, i < n. out may be one of the inputs.
using RowKernel = void (*)(const Rows* in, Rows out, std::int64_t rows, std::int64_t n);
/// One kernel for each set of operands (bit j: operand j) that have one element per row instead of n.
struct Kernel {
  RowKernel by_scalars[8] = {};
};
/// 32 interleaved partial results: element i of a row goes into partial i % 32; then halving. partials: 32 block
/// elements.
struct ReduceKernel {
  void (*whole)(Rows in, void* out, std::int64_t rows, std::int64_t n) = nullptr;  // one result per row
  void (*begin)(void* partials) = nullptr;
  void (*block)(void* partials, const void* in, std::int64_t n) = nullptr;  // n % 32 = 0 except in the last block
  void (*end)(void* partials, void* out) = nullptr;
};
struct KernelTable {
  Kernel op[kOps][kFormats];               // by the format of the last operand; bf16: null where f32, then rounding, do
  Kernel cast[kFormats][kFormats];         // [from][to]; null: nothing to do
  Kernel load[kFormats], store[kFormats];  // between memory and block; by_scalars[1] fills
  Kernel round;                            // f32 -> bf16 within a block
  Kernel store_rounded;                    // f32 block -> bf16 memory
  ReduceKernel reduce[6][kFormats];
  void (*linear[kFormats])(void* out, std::int64_t n, std::int64_t start, std::int64_t stride) = {};
  void (*random[kFormats])(void* out, std::int64_t n, const std::uint32_t* key, std::uint64_t start,
                           std::int64_t stride) = {};
};
const KernelTable& kernel_table(Isa);
namespace v3 {
void add_f32(KernelTable&);
void add_f64(KernelTable&);
void add_integers(KernelTable&);
void add_wide_integers(KernelTable&);
void add_blocks(KernelTable&);
void add_stored(KernelTable&);
}  // namespace v3
namespace v4 {
void add_f32(KernelTable&);
void add_f64(KernelTable&);
void add_integers(KernelTable&);
void add_wide_integers(KernelTable&);
void add_blocks(KernelTable&);
void add_stored(KernelTable&);
}  // namespace v4
}  // namespace bora::kernels
