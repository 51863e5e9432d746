// runge_kutta.h -- one step of a Runge-Kutta method, explicit or with a diagonal. Private.
#pragma once
#include "fx/solvers/adjoint.h"
#include "fx/solvers/tableau.h"

namespace bora::fx {
struct RungeKuttaStep {
  Array y, f;    // at the end of the step
  Array error;   // [n]
  Arrays powers;  // [n] each: the solution over the step, by its fraction, the constant first
  Array solved;  // whether the stages were found: boolean
};
struct RungeKutta {
  const Tableau& table;
  double rtol, atol;
  bool differentiable;  // implicit stages have the derivative of their equations
  /// From y [n] at t with the derivative f0, over dt.
  RungeKuttaStep operator()(const Dynamics& f, const Array& y, const Array& f0, const Array& t, const Array& dt) const;
};
/// The polynomial's value [.., n] at fractions u [..].
Array polynomial_at(const Arrays& powers, const Array& u);
}  // namespace bora::fx
