// sections.h -- a Loop as straight-line sections of machine operations: for each pass over a row a section that runs
// once and a section that runs for each column; at the end the stores of row values.
#pragma once
#include <string>
#include "kernels/loop/plan.h"
#include "kernels/loop/recorded.h"

namespace bora::kernels::jit {
/// 32 partial results in the frame, combined into a slot when the pass ends.
struct Accumulator {
  Reduction kind;
  Format format;
  int slot;
};
struct PassSections {
  Graph before, columns;
  std::vector<Accumulator> reductions;
};
/// j * stride of a linear form for each lane j: slots that the prologue fills; -1 where not needed.
struct FormSteps {
  int low = -1, high = -1;
};
struct Sections {
  Isa isa;
  bool wide;  // lanes of 64 bits
  std::vector<PassSections> passes;
  Graph after;
  int slots = 0;
  FormSteps forms[4];
  std::uint32_t real_forms = 0;  // forms that become 32-bit floats: their numbers must fit 32 bits
  std::vector<Operand> operands; // of the Loop, then the rows kept between passes
  int kept_rows = 0;
  bool narrow = false;  // lanes of 16 bits: one pass, no reductions
  int lane_bytes() const { return wide ? 8 : narrow ? 2 : 4; }
  int lanes() const { return (isa == Isa::v4 ? 64 : 32) / lane_bytes(); }
};
/// Throws Uncovered with the reason where no code is generated for the Loop.
struct Uncovered {
  std::string reason;
};
Sections make_sections(const LoopKernel&);
}  // namespace bora::kernels::jit
