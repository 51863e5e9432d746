// loss.h -- the loss that a language model is trained with.
#pragma once
#include "bora/models/loss_settings.h"
#include "bora/nn/loss.h"
#include "bora/train/example.h"

namespace bora::models {
/// The weights of an example's targets in the loss, [batch, position], f32.
NamedArray loss_weights(const training::Example&, Normalize);
/// Numbers whose sum over the batch divides its loss, [batch, position], f32. Both depend on an example's own rows
/// only, so parts of a batch add up exactly.
NamedArray loss_divisor(const training::Example&, Normalize);
}  // namespace bora::models
