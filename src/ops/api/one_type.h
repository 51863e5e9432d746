// one_type.h -- operands of any types become Arrays of one.
#pragma once
#include "bora/ops/special.h"

namespace bora::ops {
/// The operands as Arrays of one floating dtype, not bf16, and one shape; and the dtype that the result is rounded to.
struct OneType {
  Arrays x;
  Dtype dtype;
};
OneType one_type(std::string_view what, std::initializer_list<special::Operand> operands);
}  // namespace bora::ops
