// loop_report.h -- how a fused loop is run.
#pragma once
#include <string>
#include "bora/kernels/loop.h"

namespace bora::kernels {
/// "generated, N bytes" or "interpreted: " and why. Machine code is made for a kernel once it has run long enough to pay for it and gives
/// the interpreter's bits; asking makes it at once. BORA_JIT=off leaves everything to the interpreter.
std::string code_report(const LoopKernel&);
}  // namespace bora::kernels
