// saveable.h -- the values that a checkpoint may save for the backward pass.
#pragma once
#include <cstdint>

namespace bora {
/// nothing; products (dots), or those without a batch dimension; everything; or the values named by checkpoint_name
/// with one of the policy's names.
enum class Saveable : std::uint8_t { nothing, dots, dots_no_batch, everything, names };
}  // namespace bora
