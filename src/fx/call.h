// call.h -- shared by the rules of control primitives. Private.
#pragma once
#include "fx/retrace.h"

namespace bora::fx {
/// The mapped axis first; an unmapped value is broadcast if `mapped`, else left alone.
Mapped mapped_front(const Mapped&, const BatchRules&, bool mapped);
/// The residuals for the backward Program, from the inputs and the extra outputs of the forward one.
Arrays residuals(const Split&, const Arrays& in, const Arrays& extra);
/// Cotangents of the outputs that take one, zeros materialized.
Arrays cotangents(const Split&, const Arrays& ct, const Types& out);
/// Gradients at their inputs' places.
Arrays spread(const Split&, const Arrays& grads, std::size_t inputs);
/// The transpose of p in its inputs after `known`, in which it is linear, at these values of the others.
std::function<Arrays(const Arrays&)> transpose_last(const ProgramPtr& p, const Arrays& known);
/// Those types that have derivatives.
Types floating(Types);
/// Two functions staged over the same explicit inputs, both given the union of their captures.
std::pair<ProgramPtr, ProgramPtr> stage_both(const FlatFn& f, const FlatFn& g, const Types& t, Arrays& captures);
}  // namespace bora::fx
