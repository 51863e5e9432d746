// loop_report.h -- whether a fused loop runs as machine code.
#pragma once
#include <string>
#include "kernels/api/loop.h"

namespace bora::kernels {
/// "generated, N bytes" or "interpreted: " and the reason. A kernel gets machine code once it has run long enough to
/// pay for it, with the same bits as the interpreter; this call generates it at once. BORA_JIT=off: interpreter only.
std::string code_report(const LoopKernel&);
}  // namespace bora::kernels
