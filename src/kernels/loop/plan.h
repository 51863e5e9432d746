// plan.h -- a Loop prepared to run: the passes over a row as lists of kernel calls between numbered places.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>
#include "kernels/api/loop_report.h"
#include "kernels/loop/kernel_table.h"

namespace bora::kernels {
/// Format of a dtype's elements in a block; wide: the loop works on 64-bit lanes (bool goes with both).
Format format_of(Dtype, bool wide);
/// The dtype whose kernels serve d (dtype.h).
/// One element's bits in memory <-> its bits in a block.
std::uint64_t to_block(Dtype, bool wide, std::uint64_t bits);
std::uint64_t from_block(Dtype, std::uint64_t bits);

/// The number of operands in Instr::in.
int arity(const Instr&);

/// One kernel call. Places: 0 .. V-1 are the values of the Loop, V .. V+K-1 its operands in memory.
struct Step {
  enum class What : std::uint8_t { kernel, reduce, linear, random };
  enum class Over : std::uint8_t {
    columns,     // all elements of all rows of the group
    row_values,  // one element per row, from and to the arrays of row values
    row_memory   // one element per row, one side lies in memory with a stride
  };
  What what = What::kernel;
  Over over = Over::columns;
  std::uint8_t arity = 1;
  std::int16_t in[3] = {-1, -1, -1};
  std::int16_t out = -1;
  RowKernel run = nullptr, then = nullptr;  // then: rounds the result in place (bf16)
  const ReduceKernel* reduce = nullptr;
  int partials = -1;            // of a reduction: number of its buffer of 32
  int form = -1, operand = -1;  // linear form; key
  Format format = Format::f32;
  void (*linear)(void*, std::int64_t, std::int64_t, std::int64_t) = nullptr;
  void (*random)(void*, std::int64_t, const std::uint32_t*, std::uint64_t, std::int64_t) = nullptr;
  bool joinable = true;  // no operand is one per row: dense rows can run as one long row
  int stores = -1;       // of a store: the operand, if its value may have been written there already
};
/// A value whose kernel may write into the stored operand itself, unless a later step reads the same memory.
struct Direct {
  std::int16_t value;
  int operand;
  std::uint32_t later;  // operands read after the value is computed
};
struct Pass {
  std::vector<Step> rows, columns;                             // one element per row, before the columns
  std::vector<std::int16_t> slot;                              // value -> block buffer, or -1
  std::vector<std::pair<std::int16_t, std::int16_t>> buffers;  // (column value, its block buffer)
};
struct Plan {
  std::vector<Pass> passes;
  std::vector<Step> finish;        // row stores
  std::vector<std::int16_t> kept;  // value -> row buffer that lives across passes, or -1
  std::vector<Direct> direct;
  int slots = 0, rows_kept = 0, partials = 0;
};
namespace jit {
class LoopCode;
}
class ShortRows;
/// When a kernel gets machine code: once it has run long enough to pay for it, never, or at once. All give the same
/// bits.
enum class Code : std::uint8_t { by_work, interpreted, generated };
class LoopKernel {
 public:
  LoopKernel(const Loop&, Isa, Code);
  /// The code to run this time, or null: interpret. `nanoseconds`: rough time of the interpreter. Thread-safe.
  const jit::LoopCode* code(double nanoseconds) const;
  /// The same loop with vectors of half the size, generated on first use, for rows that fit one of those: a full vector
  /// needs no masked store, which could not be forwarded to the load of the next row.
  const LoopKernel& halves() const;
  /// The same loop where every operand has elements for all columns, compiled on first use (row_batching.h).
  const LoopKernel& joined() const;
  /// The loop over tiles of short rows (short_rows.h), made on first use; null: this Loop does not run so.
  const ShortRows* short_rows() const;
  Loop loop;
  Isa isa;
  bool wide = false, has_reduction = false, has_row_store = false;
  int cost = 0;                         // instructions per element
  int element_bytes = 4;                // of the widest value
  int row_arrays = 0;                   // values that are one per row, constants included
  std::vector<std::int16_t> row_array;  // value -> its array, or -1
  std::vector<std::uint64_t> constant;  // value -> block bits
  std::vector<std::int16_t> constants;  // the values that are constants
  // Analysis of each value, from which the passes follow. canon: the value it equals (a cast that changes nothing);
  // level: the first pass over the row that may use it; column: is it one per column; live: is it needed.
  std::vector<int> canon, level;
  std::vector<char> column, live;
  int last_level = 0;
  Plan whole;                           // rows that fit a block: every value is computed once
  Plan blocks;                          // longer rows: passes over blocks

 private:
  friend std::string code_report(const LoopKernel&);
  void generate() const;
  const Code mode_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<const jit::LoopCode> made_;
  mutable std::string why_not_;
  mutable std::atomic<const jit::LoopCode*> code_{nullptr};
  mutable std::atomic<bool> tried_{false};
  mutable std::atomic<std::int64_t> spent_{0};  // nanoseconds in the interpreter, roughly
  mutable std::once_flag halves_once_;
  mutable std::shared_ptr<const LoopKernel> halves_;
  mutable std::once_flag joined_once_;
  mutable std::shared_ptr<const LoopKernel> joined_;
  mutable std::once_flag short_once_;
  mutable std::shared_ptr<const ShortRows> short_;
};
/// The kernel for a given instruction set (tests compare them); not cached.
LoopKernelPtr compile_for(const Loop&, Isa, Code = Code::interpreted);
/// Throws ValueError with the reason if the Loop is not well formed. Returns true if its lanes are 64 bits wide.
bool check_loop(const Loop&);
}  // namespace bora::kernels
