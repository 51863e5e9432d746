// loop_code.h -- the machine code of a Loop and how to run it.
#pragma once
#include <mutex>
#include <optional>
#include "kernels/jit/assemble.h"
#include "kernels/jit/code_memory.h"
#include "kernels/loop/grid.h"

namespace bora::kernels::jit {
/// BORA_JIT: on (the default) or off. ValueError for other values.
bool enabled();
class LoopCode {
 public:
  /// Throws Uncovered with the reason where there is none.
  explicit LoopCode(const LoopKernel&);
  /// False: these arguments are for the interpreter.
  bool takes(const LoopKernel&, const Grid&) const;
  void run(const LoopKernel&, const LoopArgs&, const Grid&) const;
  /// One row `times` times, on this thread: see kernels::run_in_turn.
  void run_in_turn(const LoopArgs&, const Grid&, std::int64_t times, std::span<const std::int64_t> step) const;
  /// Columns [begin, end) of a row in the first pass alone: 32 partial results for each of its reductions, 256 bytes
  /// apart. For rows longer than a segment, where `adds` is true.
  bool adds(const LoopKernel&, const Grid&) const;
  void add(const LoopArgs&, const Grid&, std::int64_t row, std::int64_t begin, std::int64_t end, char* partials) const;
  std::size_t bytes() const { return code_bytes_; }
  bool narrow() const { return narrow_; }  // lanes of 16 bits

 private:
  LoopCode(const LoopKernel&, const Sections&);
  LoopCode(const LoopKernel&, const Sections&, const std::vector<std::uint8_t>&);
  /// The code for these arguments: with streaming stores where results are large, not read by the loop, and aligned to
  /// vectors.
  const void* entry(const LoopKernel&, const LoopArgs&, const Grid&) const;
  /// Arguments for rows [row, row + rows), which follow each other, columns [begin, end) of each.
  Call call_of(const LoopArgs&, const Grid&, std::int64_t row, std::int64_t rows, std::int64_t begin,
               std::int64_t end) const;
  /// From the first rows of one run of the innermost outer dimension to those of the next; at: their coordinates.
  void advance(Call&, const Grid&, std::int64_t (&at)[kMaxDims]) const;
  void call(const void* code, const LoopArgs&, const Grid&, bool laps, std::int64_t row, std::int64_t rows,
            std::int64_t begin, std::int64_t end) const;
  CodeMemory memory_;
  bool forms_fit(const Grid&) const;
  /// Do rows end within a vector, and does nothing that is written overlap anything that is read?
  bool laps(const LoopKernel&, const LoopArgs&, const Grid&) const;
  mutable std::once_flag stream_once_, partials_once_;
  mutable std::optional<CodeMemory> stream_, partials_;
  std::size_t code_bytes_;
  std::vector<int> bytes_;  // element size of each operand
  std::vector<char> column_;
  int kept_rows_, kept_element_, lap_;  // lap_: elements of a vector, 0 where none may lap over another
  std::uint32_t real_forms_;
  bool narrow_;
};
}  // namespace bora::kernels::jit
