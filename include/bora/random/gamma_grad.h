// gamma_grad.h -- how draws of gamma distributions move with the shape of the distribution.
#pragma once
#include "bora/ops/special.h"

namespace bora::lax {
/// The derivative of a draw `sample` > 0 of Gamma(a) by a > 0, its place in the distribution kept: -(dP / da) / (dP /
/// dx) of the distribution function P(a, x). Operands broadcast; f32 or their f64. NaN outside of the domain. It is the
/// derivative that random::gamma and the samplers made of it have by their shape; it has none itself, as in JAX.
/// Source: Figurnov, Mohamed and Mnih 2018.
Array random_gamma_grad(const special::Operand& a, const special::Operand& sample);
}  // namespace bora::lax
