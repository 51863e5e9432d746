// loop.h -- fused loops: the result of `fuse`; an eager elementwise operation is a loop of one operation.
// A Loop is SSA over array-level element operations. It runs over an iteration space of `ndim` dimensions, the last of
// which is the row; operands are contiguous or constant along the row, and have any stride along the other dimensions.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "bora/base/collective.h"
#include "bora/base/dtype.h"

namespace bora::kernels {
inline constexpr int kMaxDims = 8, kMaxOperands = 32, kMaxInputs = 4;

/// An elementwise operation, written once over lanes (src/kernels/loop/functions.h). `result`: the result dtype for
/// these operand dtypes; throws DtypeError where the operation is not defined.
struct ElementOp {
  std::string_view name;
  int arity;
  int cost;  // instructions per element, roughly: decides recompute or keep, inline or parallel
  Dtype (*result)(const Dtype* in);
};
using OpId = std::uint16_t;
OpId find_op(std::string_view name);  // throws ValueError
const ElementOp& element_op(OpId);
std::vector<OpId> all_ops();

/// Longer rows are reduced in segments of this many elements, over threads; 32 partial results each, combined in order.
inline constexpr std::int64_t kSegment = 65536;

/// A buffer that the loop reads or writes. columns: one element per column; else one value per row.
struct Operand {
  Dtype dtype;
  bool columns;
  bool operator==(const Operand&) const = default;
};
struct Instr {
  enum class Kind : std::uint8_t {
    constant,  // imm: the bits of one element of dtype (bool 0 or 1; bf16 in the low 16 bits)
    load,      // imm: operand
    op,        // op, in
    cast,      // in[0] -> dtype (float to integer truncates and saturates, NaN gives 0; anything to bool is != 0)
    bitcast,   // in[0] -> dtype of the same size
    reduce,    // in[0] over the row -> one value per row; imm: Reduction
    linear,    // imm: linear form of the arguments; base + sum of coordinate * stride, as dtype
    random_bits,  // imm: linear form (the 64-bit counter); operand: the key; u8, u32 or i64: JAX's 8, 32 or 64 bits
    store         // in[0] -> operand imm, of the value's dtype
  };
  Kind kind;
  Dtype dtype;  // dtype of the result
  OpId op = 0;
  std::int16_t operand = -1;  // random_bits: key operand
  std::array<std::int16_t, kMaxInputs> in{-1, -1, -1, -1};
  std::uint64_t imm = 0;
  bool operator==(const Instr&) const = default;
};
/// Lanes have 64 bits where a value has; 32-bit values then fill half of each vector. bool has the width of the lanes:
/// what is compared, selected or reduced must have it too. compile() throws ValueError with the reason if the Loop is
/// not well formed.
struct Loop {
  std::vector<Operand> operands;
  std::vector<Instr> code;
  int linear_forms = 0;
  bool operator==(const Loop&) const = default;
};
std::string print(const Loop&);

struct LinearForm {
  std::int64_t base = 0;
  std::int64_t stride[kMaxDims] = {};
};
struct LoopArgs {
  int ndim = 1;
  std::int64_t extent[kMaxDims] = {1};  // extent[ndim - 1]: columns of a row
  void* pointer[kMaxOperands] = {};
  std::int64_t stride[kMaxOperands][kMaxDims] = {};  // in elements; along the last dimension 1 (columns) or 0
  LinearForm linear[4] = {};
};
/// A Loop prepared to run: passes over the row, block buffers. Immutable, shared between threads.
class LoopKernel;
using LoopKernelPtr = std::shared_ptr<const LoopKernel>;
/// The kernel of this Loop, from a cache keyed by the Loop (the entry point to loops generated at run time).
LoopKernelPtr compile(const Loop&);
/// Runs the kernel, over threads where that pays. A stored operand may be exactly the memory of a loaded one (same
/// address, strides and size): column stores happen in the last pass over a row, after the loads of their block. Rows
/// with reductions are split between threads at segments only; results do not depend on the number of threads or the
/// instruction set.
void run(const LoopKernel&, const LoopArgs&);
/// Runs the kernel `times` times in order; after each run the address of each operand advances by `step` bytes (0: the
/// next run loads the values that this one stored).
void run_in_turn(const LoopKernel&, const LoopArgs&, std::int64_t times, std::span<const std::int64_t> step);
/// The bits that the loop would give for one element; used to fold constants. Throws as `result` does.
std::uint64_t evaluate_scalar(OpId, const Dtype* dtypes, const std::uint64_t* bits);

/// Threefry-2x32-20 of one counter (Salmon et al. 2011; JAX's block cipher).
std::array<std::uint32_t, 2> threefry(std::array<std::uint32_t, 2> key, std::uint64_t counter);
}  // namespace bora::kernels
