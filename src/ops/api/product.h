// product.h -- a product's call of a kernel, known before an Executable runs.
#pragma once
#include <optional>
#include "kernels/api/gemm.h"
#include "bora/array/array.h"

namespace bora::ops {
struct DotGeneral;
/// The product of operands of these types as one call of a kernel, without addresses; none where an operand must be
/// copied first or batch dimensions need several calls.
std::optional<kernels::Gemm> as_gemm(const DotGeneral&, const Types&);
}  // namespace bora::ops
