// product.h -- a product's call of a kernel, known before an Executable runs.
#pragma once
#include <optional>
#include <string>
#include "kernels/api/gemm.h"
#include "bora/array/array.h"

namespace bora::ops {
struct DotGeneral;
/// The product of operands of these types as one call of a kernel, without addresses; none where an operand must be
/// copied first or batch dimensions need several calls.
std::optional<kernels::Gemm> as_gemm(const DotGeneral&, const Types&);
/// Advice where the inner sizes of a product of matrices differ: what would fit, if anything does.
std::string other_order(const Shape& a, const Shape& b);
}  // namespace bora::ops
