// saveable.h -- which values a checkpoint may save for the backward pass.
#pragma once
#include <cstdint>

namespace bora {
/// nothing; products (dots), or those without a batch dimension; everything; or the values that checkpoint_name gave
/// one of the names.
enum class Saveable : std::uint8_t { nothing, dots, dots_no_batch, everything, names };
}  // namespace bora
