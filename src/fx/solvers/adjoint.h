// adjoint.h -- an equation of one vector, and the derivative of its solution by the adjoint equation. Private.
#pragma once
#include <functional>
#include "bora/array/rules.h"

namespace bora::fx {
using Dynamics = std::function<Array(const Array& y, const Array& t)>;
/// f(y, t, parameters) as a Program of one vector y.
struct Equation {
  ProgramPtr program;
  Array operator()(const Array& y, const Array& t, const Arrays& parameters) const;
};
/// The solution [T, n] of an equation at times t.
using Integrate = std::function<Array(const Dynamics& f, const Array& y0, const Array& t)>;
/// Gradients of y0, t and the parameters (empty where they are not floating) from that of y [T, n].
Arrays adjoint(const Equation& f, const Array& y, const Array& t, const Arrays& parameters, const Array& ct,
               const Integrate& integrate);
}  // namespace bora::fx
